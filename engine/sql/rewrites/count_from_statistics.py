"""Counts of rows by coded columns, taken from how many rows have each combination of codes (``catalog/file_statistics.py``).

A query over one stored table that looks at nothing but coded columns, and of these at nothing but which values there
are and how often, does not need the rows::

    SELECT value, count(*) AS n FROM labels WHERE attribute = 'scene' GROUP BY value

becomes, over a relation of the same columns with a row a combination::

    SELECT value, CAST(coalesce(sum(rows__), 0) AS BIGINT) AS n FROM tally WHERE attribute = 'scene' GROUP BY value

DuckDB does the rest, so that conditions, DISTINCT, HAVING and windows over the groups mean what they always mean. A query
that asks for anything else is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from sqlglot import exp

from counterbalance.engine.catalog.file_statistics import ROWS
from counterbalance.engine.sql import single_table
from counterbalance.engine.sql.plan import Later

if TYPE_CHECKING:
    from counterbalance.engine.sql.plan import Plan, Relation

_SAME: Final = (exp.Min, exp.Max, exp.LogicalOr, exp.LogicalAnd)
"""Aggregates that do not ask how often."""
_OVER_GROUPS: Final = (exp.RowNumber, exp.Sum, exp.Max, exp.Min, exp.Avg)
"""Functions of windows."""


def count_by_tally(plan: Plan) -> Plan:
    """Move every fitting count of a plan onto relations with a row a combination of codes."""
    if not any(_only_counts(select) for select, _, _ in single_table.over_stored(plan, plan.tree)):
        return plan
    tree, made = plan.tree.copy(), []
    for select, table, relation in single_table.over_stored(plan, tree):
        tally = _tally(relation) if _only_counts(select) else None
        if tally is not None and _names_fit(select, table, single_table.columns(relation.tables)):
            _rewrite(select)
            single_table.point_at(table, tally.id)
            made.append(tally)
    return plan.with_tree(tree, made) if made else plan


def _tally(relation: Relation) -> Relation | None:
    """Return what stands for a relation where only the values of its coded columns are counted, if anything does."""
    known = [single_table.tallies(table) for table in relation.tables]
    fitting = [own for own in known if own is not None and own.fits]
    if not fitting or len(fitting) < len(known) or any(own.schema != fitting[0].schema for own in fitting):
        return None
    return relation.derived(
        "tally",
        lambda: Later(fitting[0].schema, lambda: pa.concat_tables([own.run() for own in fitting]).unify_dictionaries()),
    )


def _only_counts(select: exp.Select) -> bool:
    """Tell whether it asks which values there are and how often, and calls nothing that is not known."""
    distinct, nodes = select.args.get("distinct"), single_table.inside(select)
    if isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None:
        return False
    windows = [n for n in nodes if isinstance(n, exp.Window)]
    over = [w.this for w in windows]
    if any(single_table.is_odd(n) and not isinstance(n, (exp.Window, *_SAME)) and n not in over for n in nodes):
        return False
    if not all(isinstance(f, _OVER_GROUPS) for f in over) or single_table.has_nameless(select):
        return False
    counts = [n for n in nodes if isinstance(n, (exp.Count, *_SAME)) and not isinstance(n.parent, exp.Window)]
    group = select.args.get("group")
    by_all = isinstance(group, exp.Group) and group.args.get("all")  # which groups by nothing where there is no column
    keyed = any(e.find(exp.Column) and not e.find(exp.Window) for e in select.expressions)
    is_grouped = bool(counts) or (group is not None and (not by_all or keyed))
    reads = any(isinstance(n, exp.Column) for n in nodes)  # else the number of rows is all it takes
    fine = all(single_table.counts_one(n) if isinstance(n, exp.Count) else _is_plain(n) for n in counts)
    return reads and fine and (is_grouped or (distinct is not None and not windows))


def _is_plain(aggregate: exp.Expr) -> bool:
    """Tell whether it is of one thing: ``max(x, n)`` tells how often."""
    return not any(value for name, value in aggregate.args.items() if name != "this")


def _names_fit(select: exp.Select, table: exp.Table, columns: single_table.Columns) -> bool:
    """Tell whether every column is coded, or the name of something selected that no column has."""
    names = {c.lower() for c in columns.coded} | (single_table.made_names(select, columns) - {ROWS})
    return single_table.are_columns(single_table.inside(select), table, names)


def _rewrite(select: exp.Select) -> None:
    for node in [
        n for n in single_table.inside(select) if isinstance(n, exp.Count) and not isinstance(n.this, exp.Distinct)
    ]:
        filtered = node.parent if isinstance(node.parent, exp.Filter) else None
        single_table.replace_count(select, filtered or node, _summed(node, filtered))


def _summed(count: exp.Count, filtered: exp.Filter | None) -> exp.Expr:
    """Write ``count`` of the rows as a sum over combinations."""
    conditions = [] if filtered is None else [filtered.expression.this.copy()]
    if not single_table.counts_rows(count):
        conditions.append(exp.Not(this=exp.Is(this=exp.paren(count.this.copy()), expression=exp.null())))
    total: exp.Expr = exp.Sum(this=exp.column(exp.to_identifier(ROWS, quoted=True)))
    if conditions:
        total = exp.Filter(this=total, expression=exp.Where(this=exp.and_(*conditions)))
    return exp.cast(exp.Coalesce(this=total, expressions=[exp.Literal.number(0)]), "BIGINT")
