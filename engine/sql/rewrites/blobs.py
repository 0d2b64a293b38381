"""Pictures in queries: the relation that shows bytes stands in where a query names such a column.

Pictures are never part of ``SELECT *``, but of an export, where a star stands for them, too. A query that names such a column
reads the same table under another registered name, which has the bytes; its stars leave them out. What the outermost select
only shows is not read there: it carries the numbers of its rows, and their bytes are read as the result is
(``backends/duckdb/fetch.py``), so that ``LIMIT 5`` reads five pictures, whatever is sorted and joined before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from counterbalance.engine.backends.duckdb.fetch import Picture
from counterbalance.engine.backends.duckdb.scan import bytes_of
from counterbalance.engine.schema import ROW
from counterbalance.engine.sql.plan import new_id
from counterbalance.engine.sql.walk import find_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.engine.sql.plan import Plan, Relation

_COMPARED: Final = ("distinct", "group", "having")
_BY_PLACE: Final = (exp.AggFunc, exp.Columns, exp.PositionalColumn)


def show_bytes(plan: Plan) -> Plan:
    """Put every relation whose bytes the query names, or may select, under a name that shows them."""
    if next(_found(plan, plan.tree), None) is None:
        return plan
    tree, made = plan.tree.copy(), []
    pictures: dict[str, Picture] = {}
    for select, table, relation, columns in _found(plan, tree):
        shown = [] if plan.verb or plan.shows_bytes or select is not tree else _only_shown(plan, select, table, columns)
        if not plan.shows_bytes:
            _stars(select, table, columns | ({ROW} if shown else set()))
        if table.args.get("alias") is None:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
        for projection, column in shown:
            name = new_id(column)
            pictures[name] = Picture(relation.holds.dataset, column, projection.alias or column)
            row = exp.column(ROW, table=exp.to_identifier(table.alias, quoted=True))
            projection.replace(exp.alias_(row, name, quoted=True))
        made.append(relation.showing("rows" if shown else "bytes"))
        table.set("this", exp.to_identifier(made[-1].id, quoted=True))
    return replace(plan.with_tree(tree, made), pictures=pictures)


def left_out(plan: Plan) -> list[tuple[Relation, list[str]]]:
    """Return the relations whose bytes the star of the outermost select leaves out, and the names of these columns."""
    tree = plan.tree
    if plan.verb or plan.shows_bytes or not isinstance(tree, exp.Select):
        return []
    stars = {"" if isinstance(e, exp.Star) else e.table.lower() for e in tree.expressions if e.is_star}
    found = []
    for table in _tables(tree):
        relation = plan.relation(table)
        columns = _columns(relation)
        is_starred = not stars.isdisjoint({"", table.alias_or_name.lower()})
        if relation is not None and columns and is_starred and not _named(tree, table, columns, stars=False):
            found.append((relation, sorted(columns)))
    return found


def _found(plan: Plan, tree: exp.Query) -> Iterator[tuple[exp.Select, exp.Table, Relation, set[str]]]:
    for select in find_all(tree, exp.Select):
        for table in _tables(select):
            relation = plan.relation(table)
            columns = _columns(relation)
            if relation is not None and columns and _named(select, table, columns, stars=plan.shows_bytes):
                yield select, table, relation, columns


def _columns(relation: Relation | None) -> set[str]:
    stored = None if relation is None else relation.table
    return set() if stored is None else {c for c in bytes_of(stored.dataset) if c not in stored.hidden}


def _tables(select: exp.Select) -> list[exp.Table]:
    return [s for s in _sources(select) if isinstance(s, exp.Table) and not isinstance(s.this, exp.Func)]


def _sources(select: exp.Select) -> list[exp.Expr]:
    clause = select.args.get("from_")
    sources = [clause.this] if isinstance(clause, exp.From) else []
    for node in (select, *sources):  # of FROM before SELECT the joins are its first table's
        sources += [join.this for join in node.args.get("joins") or []] + (node.args.get("laterals") or [])
    return sources


def _named(select: exp.Select, table: exp.Table, columns: set[str], *, stars: bool) -> bool:
    """Tell whether this very query names one of the columns, or has a star that stands for them."""
    own, names = {"", table.alias_or_name.lower()}, {c.lower() for c in columns}
    for node in find_all(select, exp.Column, exp.Star):
        if node.find_ancestor(exp.Select) is not select:
            continue
        if isinstance(node, exp.Column):
            found = node.table.lower() in own and (stars if node.is_star else node.name.lower() in names)
        else:
            found = stars and not isinstance(node.parent, exp.Count | exp.Column)
        if found:
            return True
    return False


def _only_shown(plan: Plan, select: exp.Select, table: exp.Table, columns: set[str]) -> list[tuple[exp.Expr, str]]:
    """Return the projections that are one of the columns and nothing more, where no other part of the query compares them."""
    order = select.args.get("order")
    by_place = order is not None and any(
        not isinstance(o.this, exp.Column) or o.name.lower() == "all" for o in order.expressions
    )
    if by_place or any(select.args.get(a) for a in _COMPARED) or select.find(*_BY_PLACE) is not None:
        return []
    named = [c.name.lower() for c in find_all(plan.tree, exp.Column)]
    stored, own = {c.lower(): c for c in columns}, table.alias_or_name.lower()
    found = []
    for projection in select.expressions:
        column = projection.unalias()
        if isinstance(column, exp.Column) and column.name.lower() in stored and ROW not in named:
            is_its = column.table.lower() == own or (not column.table and _is_alone(plan, select, table, column.name))
            if is_its and not (projection.alias and projection.alias.lower() in named):
                found.append((projection, stored[column.name.lower()]))
    return found


def _is_alone(plan: Plan, select: exp.Select, table: exp.Table, name: str) -> bool:
    """Tell whether no other source of a select can have a column of that name."""
    others = [s for s in _sources(select) if s is not table]
    relations = [plan.relation(s) if isinstance(s, exp.Table) else None for s in others]
    return all(
        r is not None and r.table is not None and name.lower() not in {c.lower() for c in r.table.dataset.schema.names}
        for r in relations
    )


def _stars(select: exp.Select, table: exp.Table, columns: set[str]) -> None:
    own = {"", table.alias_or_name.lower()}
    for star in find_all(select, exp.Star):
        if isinstance(star.parent, exp.Column) and star.parent.table.lower() not in own:
            continue
        if star.find_ancestor(exp.Select) is select and not isinstance(star.parent, exp.Count):
            known = list(star.args.get("except_") or [])
            star.set("except_", [*known, *(exp.to_identifier(c) for c in sorted(columns))])
