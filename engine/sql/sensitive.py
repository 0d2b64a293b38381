"""What a session without a purpose may ask of perceived labels: counts of many, over relations not of its own making."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from sqlglot import exp

from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.schema import is_sensitive
from counterbalance.engine.search import CHOOSES_ROWS
from counterbalance.engine.sql import arguments, queries
from counterbalance.engine.sql.calls import arguments_of, call_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from counterbalance.engine.functions import Function

MIN_COUNT: Final = 10
"""Cells of sensitive labels with fewer rows are not shown without a purpose."""
_PURPOSE: Final = 'state a purpose: --sensitive "why", which is logged'


def perceives(function: Function, constants: Mapping[str, Any]) -> str | None:
    """The sensitive attribute of which a function makes labels from pictures; ``None`` for any other function."""
    attribute = constants.get("attribute")
    sees = any(pa.types.is_binary(p.type) for p in function.parameters)
    return attribute if sees and isinstance(attribute, str) and is_sensitive(attribute) else None


def refuse_labelling(function: Function, constants: Mapping[str, Any]) -> None:
    """Refuse to make perceived labels in a query."""
    attribute = perceives(function, constants)
    if attribute is not None:
        raise SensitiveError(
            f"{function.name}() makes labels of {attribute}",
            code="E3311",
            hint=f"keep them as a generated column, which audits may use; to read rows, {_PURPOSE}",
        )


def refuse_rows(query: queries.Query, value: exp.Expr, attributes: Collection[str]) -> None:
    """Refuse a view that would show the labels of such an attribute row by row."""
    if isinstance(value, exp.Literal) and value.is_string and value.this.lower() in attributes:
        raise SensitiveError(
            f"{query.name}({value.this!r}) shows perceived-demographic labels row by row",
            code="E3301",
            hint=f"audits may use them; to read rows, {_PURPOSE}",
        )


def refuse_small_cells(floor: exp.Expr | None) -> None:
    """Refuse an audit whose cells may be smaller than ``MIN_COUNT``."""
    if floor is not None and int(arguments.constant(floor, "min_count") or 0) < MIN_COUNT:
        raise SensitiveError(
            f"min_count below {MIN_COUNT} would show cells of perceived labels so small that they point at people",
            code="E3303",
            hint=_PURPOSE,
        )


def refuse_carving(query: queries.Query, given: Mapping[str, exp.Expr], is_own: Callable[[str], bool]) -> None:
    """Refuse rows of the caller's own choosing, which could cut the cells of an audit to tell of single persons.

    Args:
        query: The audit.
        given: Its arguments.
        is_own: Whether a name is an expression or rows of the caller.
    """
    for parameter in query.parameters:
        node = given.get(parameter.name)
        if node is None or not parameter.is_relation or (parameter.default or "").startswith("lists."):
            continue
        if _is_carved(node, is_own):
            raise SensitiveError(
                f"{query.name}() on perceived labels takes tables and views for {parameter.name!r}, no rows of your own",
                code="E3306",
                hint=f"rows cut to measure would tell of single persons; {_PURPOSE}",
            )


def _is_carved(node: exp.Expr, is_own: Callable[[str], bool]) -> bool:
    """Whether a relation argument, or one inside of it, is of the caller's own making; so are tables of other lakes."""
    target = arguments.as_relation(node, "the argument")
    if not isinstance(target, exp.Table):
        return True
    if isinstance(target.this, exp.Func):
        if target.db.lower() not in {"", "main"} or call_name(target.this) in CHOOSES_ROWS:
            return True
        parameters = _parameters(call_name(target.this))
        bound = arguments.bind("call", [p.name for p in parameters], arguments_of(target.this))
        return any(_is_carved(bound[p.name], is_own) for p in parameters if p.is_relation and p.name in bound)
    name, schema = target.name.lower(), target.db.lower()
    return is_own(name) or (schema not in {"", "main", "meta", "lists"} and name != "labels")


def _parameters(name: str) -> tuple[queries.QueryParameter, ...]:
    from counterbalance.engine.search import SIGNATURES

    known = queries.queries()
    return known[name].parameters if name in known else SIGNATURES.get(name, ())
