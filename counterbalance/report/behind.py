"""From a row of an audit to the images behind it, as a query of their ids: by its columns, and the relations of the call.

A column that tells rows apart (label, concept, term …) and has no rule leaves its row without a query: better no pictures
than others. What may be read is for the session to say.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from sqlglot import exp

from counterbalance.engine.errors import CounterbalanceError, SensitiveError
from counterbalance.engine.sql.arguments import relation
from counterbalance.engine.sql.parse import as_text, to_sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.session import Session
    from counterbalance.engine.sql.query_model import Query

Row = dict[str, Any]
_RULES: Final = {
    "label": ("groups", "label"),
    "other": ("others", "label"),
    "concept": ("concepts", "concept"),
    "keyword": ("concepts", "concept"),
    "cluster": ("clusters", "cluster"),
    "kind": ("attributes", "kind"),
    "category": ("attributes", "category"),
    "attribute": ("attributes", "attribute"),
}
"""By column of a row the relation, and its column, that must have the same value."""
_ASIDE: Final = frozenset({"params", "reason", "note", "level", "family"})
"""Columns of text that tell no rows apart which others do not."""
_CLEAR: Final = frozenset(
    {"crime_words", "geography", "sentiment", "concept_ratio", "hate_content_rate", "score_distribution"}
)
"""Audits that count images with one clear label only."""
_PERSONS: Final = re.compile(r"\s*person_units\s*\(", re.IGNORECASE)
_EVERYONE: Final = "all"
"""The label of rows about images whatever their label."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a relation that images must have: ``image_id IN (SELECT image_id FROM source WHERE where)``."""

    source: str
    where: str


def keys(audit: Query, rows: pa.Table) -> list[str]:
    """Return the columns that tell the rows of an audit apart: texts, and what its cells are told apart by."""
    declared = {name for cell in audit.cells for name in (*cell.by, *cell.within)}
    texts = {field.name for field in rows.schema if pa.types.is_string(field.type)}
    return [name for name in rows.column_names if name in declared | texts and name not in _ASIDE]


def parts(audit: Query, columns: Sequence[str], row: Row) -> list[Part]:
    """Return what the images behind a row must have; nothing where no rule fits.

    Args:
        audit: The audit.
        columns: Those that tell its rows apart.
        row: With ``params``, the relations that it was counted from.
    """
    given: dict[str, Any] = json.loads(row.get("params") or "{}")
    known = {p.name: p for p in audit.parameters if p.is_relation}
    left, found = {name: row[name] for name in columns}, []
    if "term" in left and {"terms", "texts"} <= known.keys():
        found += _of_terms(left.pop("term"), left.pop("class", None), given)
    if "country" in left and "texts" in known:
        found.append(Part(f"country_concepts({given['texts']})", _is("concept", left.pop("country"))))
        if left.get("label") == _EVERYONE and row.get("level") == "country":
            del left["label"]
    if {"tau", "score_from"} & left.keys() and "labels" in known:
        found.append(_of_scores(row, given))
        left = {name: value for name, value in left.items() if name == "label"}
    if "crossed" in known and "item" in left:  # of two datasets the first one's
        found.append(Part(given["crossed"], _is("label", left.pop("item"))))
    elif {"others", "terms"} & known.keys() == {"others"}:
        left.pop("item", None)  # what is compared of all images with a label
    if audit.name == "concept_ratio" and "label" not in row:
        both = ", ".join(as_text(str(given[name])) for name in ("label", "against"))
        found.append(Part(_groups(audit, given), f"label IN ({both})"))
    by_relation: dict[str, list[str]] = {}
    for name, value in left.items():
        of, column = _RULES.get(name, ("", ""))
        if of not in known or column not in known[of].columns or value is None:
            return []
        by_relation.setdefault(of, []).append(_is(column, value))
    for of, conditions in by_relation.items():
        found.append(Part(_groups(audit, given) if of == "groups" else given[of], " AND ".join(conditions)))
    if "texts" in known and len(found) == 1 and "label" in left:
        found.append(Part(given["texts"], "text IS NOT NULL"))
    return found


def query(audit: Query, columns: Sequence[str], row: Row) -> str | None:
    """Return the query of the images behind a row, if there is one."""
    found, sources = parts(audit, columns, row), _sources(audit, row)
    if not found or (not sources and any(_is_of_units(part.source) for part in found)):
        return None
    if not sources:
        if len(found) > 1 and any(_PERSONS.match(part.source) for part in found):
            return None  # that one person is both is no matter of images
        found = [Part(_PERSONS.sub("person_labels(", part.source), part.where) for part in found]
    first, *others = found
    more = "".join(f" AND image_id IN (SELECT image_id FROM {p.source} WHERE {p.where})" for p in others)
    text = f"SELECT DISTINCT image_id FROM {first.source} WHERE {first.where}{more}"
    return f"SELECT DISTINCT source_id AS image_id FROM {sources} WHERE image_id IN ({text})" if sources else text


def _sources(audit: Query, row: Row) -> str:
    """Return the relation that has the image of each unit that is none, such as a caption; empty where images are counted."""
    declared = next((p.default for p in audit.parameters if p.name == "sources"), None)
    given = json.loads(row.get("params") or "{}").get("sources")
    return "" if declared is None or given in {None, declared} else str(given)


def links(session: Session, audit: Query, rows: pa.Table) -> tuple[list[str | None], bool]:
    """Return the query of every row, its images in order of what the row tells of, and whether some are closed without a purpose.

    Args:
        session: Says whether it may read them.
        audit: The audit.
        rows: Of its result.
    """
    columns = keys(audit, rows)
    seen: dict[tuple[str, ...], str] = {}
    found: list[str | None] = []
    for row in rows.to_pylist() if columns and "params" in rows.column_names else []:
        # as many pictures as a hidden row counts would tell what is hidden
        text = None if row.get("suppressed") else query(audit, columns, row)
        if text is not None:
            shape = tuple(part.source for part in parts(audit, columns, row))
            if shape not in seen:
                seen[shape] = _state(session, text)
            text = _in_order(audit, row, text) if seen[shape] == "open" else None
        found.append(text)
    return found or [None] * rows.num_rows, "closed" in seen.values()


def _in_order(audit: Query, row: Row, text: str) -> str:
    """Return the query of a row's images with those first that show what the row tells of: of a tone the most negative texts."""
    if audit.name != "sentiment":
        return text
    given = json.loads(row["params"])
    return (
        f"SELECT image_id FROM {given['texts']} WHERE text IS NOT NULL AND image_id IN ({text}) "
        f"GROUP BY image_id ORDER BY min(vader(text, rules := {as_text(given['rules'])})), image_id"
    )


def _state(session: Session, text: str) -> str:
    """Return whether a session reads a query: ``open``, ``closed`` without a purpose, or ``wrong``."""
    try:
        _ = session.sql(f"SELECT image_id FROM ({text})").schema
    except SensitiveError:
        return "closed"
    except CounterbalanceError:
        return "wrong"
    return "open"


def _groups(audit: Query, given: Mapping[str, Any]) -> str:
    """Return the relation of labels, as the audit counts them."""
    is_clear = audit.name in _CLEAR and given.get("unit", "image") == "image"
    return f"clear_labels({given['groups']})" if is_clear else str(given["groups"])


def _of_terms(term: str | None, class_: str | None, given: Mapping[str, Any]) -> list[Part]:
    """Return texts with a term of a list, with any of a class, or with any at all."""
    source = f"term_concepts({given['terms']}, {given['texts']})"
    if term is not None:
        return [Part(source, _is("concept", term))]
    if class_ is not None:
        return [Part(source, f"concept IN (SELECT term FROM {given['terms']} WHERE {_is('class', class_)})")]
    return [Part(source, "concept IS NOT NULL")]


def _of_scores(row: Row, given: Mapping[str, Any]) -> Part:
    """Return labels with scores over a threshold, or in a range."""
    over = {">": row.get("tau"), ">=": row.get("score_from"), "<": row.get("score_to")}
    conditions = [_is("attribute", given["attribute"]), _is("annotator", row["annotator"])]
    conditions += [f"score {sign} CAST({end!r} AS FLOAT)" for sign, end in over.items() if end is not None]
    conditions += [_is("value", given["value"])] if given.get("value") is not None else []
    conditions += ["score BETWEEN 0 AND 1"] if "score_from" in row else []
    return Part(given["labels"], " AND ".join(conditions))


def _is(column: str, value: Any) -> str:
    if value is None:
        return f"{column} IS NULL"
    return f"{column} = {as_text(value) if isinstance(value, str) else to_sql(exp.convert(value))}"


def _is_of_units(source: str) -> bool:
    """Tell whether the image_id of a relation is something else under that name, such as a caption's.

    Example:
        >>> _is_of_units("(SELECT caption_id AS image_id, label FROM caption_labels)"), _is_of_units("caption_gender")
        (True, False)
    """
    if not source.lstrip().startswith("("):
        return False
    try:
        tree = relation(source, source)
    except CounterbalanceError:
        return True
    named = (alias for alias in tree.find_all(exp.Alias) if alias.alias.lower() == "image_id")
    return any(not (isinstance(alias.this, exp.Column) and alias.this.name.lower() == "image_id") for alias in named)
