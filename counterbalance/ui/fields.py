"""The form of an audit: a field for each parameter, with what may be typed there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.information_schema import STORED
from counterbalance.engine.sql import parse, queries
from counterbalance.engine.sql.scope import parsed
from counterbalance.shell.describe import full_name, required

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.session import Session
    from counterbalance.engine.sql.query_model import Query, QueryParameter

_NUMBERS: Final = {"integer": "1", "bigint": "1", "double": "any"}
"""Types of numbers, and the step between two of them."""
_MOST: Final = 60
"""Things that a list offers."""


def form(session: Session, query: Query, typed: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of an audit's parameters, and what the lists beside them offer.

    Args:
        session: Whose relations and labels are offered.
        query: The audit.
        typed: What stands in the fields.
    """
    attributes = _attributes(session)
    offers: dict[str, list[str]] = {}
    fields = []
    for parameter in query.parameters:
        field = _field(parameter, typed.get(parameter.name, ""))
        name = ", ".join(parameter.columns) if parameter.is_relation else parameter.label_column or ""
        if name and name not in offers:
            offers[name] = (
                _relations(session, parameter.columns, attributes)
                if parameter.is_relation
                else _values(session, name, attributes)
            )
        if offers.get(name):
            field["list"] = list(offers).index(name)
        fields.append(field)
    return {
        "fields": fields,
        "offers": list(offers.values()),
        "unknown": sorted(typed.keys() - {p.name for p in query.parameters}),
    }


def _field(parameter: QueryParameter, value: str) -> dict[str, Any]:
    kind, step = parameter.type, _NUMBERS.get(parameter.type, "")
    low = parameter.min if parameter.min is not None else parameter.above
    high = parameter.max if parameter.max is not None else parameter.below
    choices = parameter.choices or (("true", "false") if kind == "boolean" else ())
    is_plain = not value or _is_number(value)  # what is no number is shown as it was typed, beside its error
    default = "" if parameter.default in {None, "NULL"} else " ".join(str(parameter.default).split())
    return {
        "name": parameter.name,
        "doc": parameter.doc,
        "value": value,
        "default": default.strip("'") if not parameter.is_relation else default,
        "required": required(parameter),
        "optional": parameter.optional,
        "choices": choices if not value or value in choices else (*choices, value),
        "kind": "choice" if choices else "number" if step and is_plain else "text",
        "low": "" if low is None else low,
        "high": "" if high is None else high,
        "step": step,
        "slider": bool(step and is_plain) and low is not None and high is not None,
        "slider_step": "1" if step == "1" else "0.01",
        "list": None,
    }


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _attributes(session: Session) -> tuple[list[str], list[str]]:
    """Return the attributes of labels that are open, and those that need a purpose."""
    closed = sorted(session.sensitive_attributes())
    found = session.sql(f"SELECT DISTINCT attribute FROM labels WHERE attribute IS NOT NULL ORDER BY 1 LIMIT {_MOST}")
    return [a for (a,) in found.fetchall() if a not in closed], closed


def _values(session: Session, column: str, attributes: tuple[list[str], list[str]]) -> list[str]:
    """Return what a column of table labels holds that a session may see."""
    if column == "attribute":
        return [*attributes[0], *attributes[1]]
    found = session.sql(f"SELECT DISTINCT {column} FROM labels WHERE {column} IS NOT NULL ORDER BY 1 LIMIT {_MOST}")
    return [str(value) for (value,) in found.fetchall()]


def _relations(session: Session, columns: Sequence[str], attributes: tuple[list[str], list[str]]) -> list[str]:
    """Return names and calls of relations that have some columns: of this lake, word lists, and views."""
    wanted = {*columns}
    known = list(session.relations())
    found = [full_name(r) for r in known if r.kind in STORED and wanted <= {name for name, _ in r.columns}]
    if wanted <= {"term", "class"}:
        found += [full_name(r) for r in known if r.kind == "list"]
    open_, closed = attributes
    for query in queries.sound():
        if query.kind != "view" or not wanted <= {*parsed(query).named_selects}:
            continue
        needed = [p for p in query.parameters if required(p)]
        if not needed:
            found.append(query.name)
        elif len(needed) == 1 and needed[0].label_column == "attribute":
            named = [*closed, *open_] if "label" in wanted else open_  # groups are of closed ones in every audit
            found += [f"{query.name}({parse.as_text(attribute)})" for attribute in named]
    return list(dict.fromkeys(found))[:_MOST]
