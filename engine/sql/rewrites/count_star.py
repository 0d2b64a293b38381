"""``SELECT count(*) FROM stored WHERE …``: counted by Lance alone when it can apply the condition.

DuckDB reads some column to count rows, the widest of a table if that happens to be its first. A query that asks for
nothing but counts of one stored table is pointed at the same table with a column of zeros in front (``sources.py``),
which is made from the number of rows that Lance, or its index, says there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from counterbalance.engine.backends.duckdb.scan import COUNTED, registers_sources
from counterbalance.engine.sql.single_table import one_table, over_stored, point_at

if TYPE_CHECKING:
    from counterbalance.engine.sql.plan import Plan, Relation

_UNFIT: Final = ("qualify", "group")


def count_by_rows(plan: Plan) -> Plan:
    """Point every plain count of a stored table at the same table with a column that is only counted."""
    if not registers_sources() or not _fitting(plan, plan.tree):
        return plan
    tree = plan.tree.copy()
    made = []
    for table, relation in _fitting(plan, tree):
        made.append(relation.showing("count"))
        point_at(table, made[-1].id)
    return plan.with_tree(tree, made)


def _fitting(plan: Plan, tree: exp.Query) -> list[tuple[exp.Table, Relation]]:
    return [
        (table, relation)
        for select, table, relation in over_stored(plan, tree)
        if relation.table is not None and counted_table(select) is not None
    ]


def counted_table(select: exp.Select) -> exp.Table | None:
    """Return the one table whose rows a query counts, if it does nothing else with it than to choose rows."""
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
