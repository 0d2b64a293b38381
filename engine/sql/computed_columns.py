"""A call whose result is already stored fresh is answered from the column: a row whose function failed is NULL there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from counterbalance.engine.sql.expression import same_call
from counterbalance.engine.sql.parse import to_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def stored_column(call: exp.Anonymous, columns_of: Callable[[str], Mapping[str, str]]) -> exp.Column | None:
    """Return the column that holds what a call computes, or ``None``.

    Args:
        call: A call of a Python function in a query whose relations have their registered names.
        columns_of: For a registered relation its fresh generated columns, by expression as ``same_call`` writes it.
    """
    select = call.find_ancestor(exp.Select)
    read = list(call.find_all(exp.Column))
    if select is None or not read or len({c.table.lower() for c in read}) != 1:
        return None
    source = _source(select, read[0].table)
    if source is None:
        return None
    known = columns_of(source.name)
    if not known:
        return None
    bare = call.copy()
    for column in bare.find_all(exp.Column):
        column.set("table", None)
    name = known.get(same_call(to_sql(bare)))
    if name is None:
        return None
    return exp.column(exp.to_identifier(name, quoted=True), table=source.alias_or_name)


def _source(select: exp.Select, qualifier: str) -> exp.Table | None:
    """Return the one relation in FROM that the columns can belong to."""
    clause = select.args.get("from_")
    if not isinstance(clause, exp.From):
        return None
    sources = [clause.this, *(join.this for join in select.args.get("joins") or [])]
    if qualifier:
        sources = [s for s in sources if s.alias_or_name.lower() == qualifier.lower()]
    if len(sources) != 1 or not isinstance(sources[0], exp.Table) or isinstance(sources[0].this, exp.Func):
        return None
    found: exp.Table = sources[0]
    return found
