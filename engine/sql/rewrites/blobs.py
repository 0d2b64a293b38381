"""Bytes as arguments of functions: the relation that shows them stands in where a call asks for them.

Pictures are never part of ``SELECT *``. A query that hands such a column to a Python function reads the same table under
another registered name, which has the bytes; its stars leave them out. An export selects them: there a name or a star is
enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from counterbalance.engine.backends.duckdb.scan import bytes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.engine.sql.plan import Plan, Relation


def show_bytes(plan: Plan) -> Plan:
    """Put every relation whose bytes a function wants, or the query may select, under a name that shows them."""
    if next(_found(plan, plan.tree), None) is None:
        return plan
    tree, made = plan.tree.copy(), []
    for select, table, relation, columns in _found(plan, tree):
        if not plan.shows_bytes:
            _stars(select, table, columns)
        if table.args.get("alias") is None:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
        made.append(relation.showing("bytes"))
        table.set("this", exp.to_identifier(made[-1].id, quoted=True))
    return plan.with_tree(tree, made)


def _found(plan: Plan, tree: exp.Query) -> Iterator[tuple[exp.Select, exp.Table, Relation, set[str]]]:
    wanted = _named if plan.shows_bytes else _asked
    for select in list(tree.find_all(exp.Select)):
        for table in _tables(select):
            relation = plan.relation(table)
            stored = None if relation is None else relation.table
            if relation is None or stored is None:
                continue
            columns = set(bytes_of(stored.dataset))
            if columns and wanted(select, table, columns):
                yield select, table, relation, columns


def _tables(select: exp.Select) -> list[exp.Table]:
    clause = select.args.get("from_")
    sources = [clause.this] if isinstance(clause, exp.From) else []
    sources += [join.this for join in select.args.get("joins") or []]
    return [s for s in sources if isinstance(s, exp.Table) and not isinstance(s.this, exp.Func)]


def _asked(select: exp.Select, table: exp.Table, columns: set[str]) -> bool:
    """Whether a call in this very query reads one of the columns."""
    for call in select.find_all(exp.Anonymous):
        if call.find_ancestor(exp.Select) is not select:
            continue
        for column in call.find_all(exp.Column):
            if column.name in columns and column.table.lower() in {"", table.alias_or_name.lower()}:
                return True
    return False


def _named(select: exp.Select, table: exp.Table, columns: set[str]) -> bool:
    """Whether this very query names one of the columns, or has a star that stands for them."""
    own = {"", table.alias_or_name.lower()}
    for node in select.find_all(exp.Column, exp.Star):
        if node.find_ancestor(exp.Select) is not select or isinstance(node.parent, exp.Count | exp.Column):
            continue
        named = isinstance(node, exp.Column) and (node.is_star or node.name in columns) and node.table.lower() in own
        if named or isinstance(node, exp.Star):
            return True
    return False


def _stars(select: exp.Select, table: exp.Table, columns: set[str]) -> None:
    own = {"", table.alias_or_name.lower()}
    for star in list(select.find_all(exp.Star)):
        if isinstance(star.parent, exp.Column) and star.parent.table.lower() not in own:
            continue
        if star.find_ancestor(exp.Select) is select and not isinstance(star.parent, exp.Count):
            known = list(star.args.get("except_") or [])
            star.set("except_", [*known, *(exp.to_identifier(c) for c in sorted(columns))])
