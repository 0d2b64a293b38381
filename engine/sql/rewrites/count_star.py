"""``SELECT count(*) FROM stored WHERE …``: counted by Lance alone when it can apply the condition.

DuckDB reads some column to count rows, the widest of a table if that happens to be its first. A query that asks for
nothing but counts of one stored table is pointed at the same table with a column of zeros in front (``sources.py``),
which is made from the number of rows that Lance, or its index, says there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from counterbalance.engine.backends.duckdb.scan import COUNTED
from counterbalance.engine.sql.single_table import one_table, point_at

if TYPE_CHECKING:
    from collections.abc import Callable

_UNFIT: Final = ("qualify", "group")


def count_by_rows(tree: exp.Query, counted_source: Callable[[str], str | None]) -> exp.Query:
    """The query with every plain count of a stored table pointed at ``counted_source``.

    Args:
        tree: An expanded query; a copy is changed.
        counted_source: For a registered relation the name under which it can be counted, or ``None``.

    Returns:
        ``tree`` itself when nothing fits.
    """

    def found(tree: exp.Query) -> list[tuple[exp.Table, str]]:
        fitting = (table for select in tree.find_all(exp.Select) if (table := counted_table(select)) is not None)
        return [(table, name) for table in fitting if (name := counted_source(table.name)) is not None]

    if not found(tree):
        return tree
    changed = tree.copy()
    for table, name in found(changed):
        point_at(table, name)
    return changed


def counted_table(select: exp.Select) -> exp.Table | None:
    """The one table whose rows a query counts, if it does nothing else with it than to choose rows."""
    table = one_table(select)
    if table is None or any(select.args.get(a) for a in _UNFIT):
        return None
    counts = [e.unalias() for e in select.expressions]
    if not counts or not all(isinstance(c, exp.Count) and isinstance(c.this, exp.Star) for c in counts):
        return None
    where = select.args.get("where")
    if where is None:
        return table
    hides = any(c.name.lower() == COUNTED for c in where.find_all(exp.Column))
    return None if hides or where.find(exp.Star, exp.Columns, exp.Query) else table
