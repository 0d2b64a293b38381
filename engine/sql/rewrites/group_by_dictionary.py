"""Group by codes, then name the groups.

DuckDB groups by one dictionary column as fast as by an integer, but by several it compares strings row by row. Where all
keys of a ``GROUP BY`` over one stored table are coded columns, the grouping runs on their int16 codes and the names are put
in afterwards, on as many rows as there are groups::

    SELECT category, origin, count(*) AS n FROM detections GROUP BY ALL

becomes, in effect::

    SELECT names[c1 + 1] AS category, names[c2 + 1] AS origin, a1 AS n
    FROM (SELECT category__code AS c1, origin__code AS c2, count(*) AS a1 FROM detections GROUP BY c1, c2)

Anything that does not fit this form exactly is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from counterbalance.engine.schema import CODE_SUFFIX
from counterbalance.engine.sql.single_table import over_stored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.sql.plan import Plan, Relation

    Codes = Mapping[str, Sequence[str | None]]

_MAX_NAMES: Final = 1000
_UNFIT: Final = ("distinct", "qualify")


def group_by_codes(plan: Plan) -> Plan:
    """Move every fitting grouping of a plan onto codes."""
    if not any(_fitting(*found) for found in over_stored(plan, plan.tree)):
        return plan
    tree, made = plan.tree.copy(), []
    for select, table, relation in over_stored(plan, tree):
        keys = _fitting(select, table, relation)
        if keys is None or relation.table is None:
            continue
        source = relation.showing("codes")
        replacement = _rewritten(select, table, keys, relation.table.codes, source.id)
        if replacement is None:
            continue
        made.append(source)
        if select is tree:
            tree = replacement
        else:
            select.replace(replacement)
    return plan.with_tree(tree, made) if made else plan


def _fitting(select: exp.Select, table: exp.Table, relation: Relation) -> list[str] | None:
    """Return the columns that a select over one stored table groups by, if they are coded and it fits otherwise."""
    group = select.args.get("group")
    if relation.table is None or group is None or any(select.args.get(a) for a in _UNFIT):
        return None
    if any(c.name.lower().endswith(CODE_SUFFIX) for c in select.find_all(exp.Column)):  # in reach of the rewritten only
        return None
    if not _qualifiers(select) <= {table.alias_or_name.lower()}:
        return None
    codes, keys = relation.table.codes, _keys(select, group)
    if keys is None or len(keys) < 2 or any(k not in codes or len(codes[k]) > _MAX_NAMES for k in keys):
        return None
    return keys


def _qualifiers(select: exp.Select) -> set[str]:
    """Return the tables that columns outside of WHERE are qualified with."""
    parts = [*select.expressions, *(select.args.get(a) for a in ("group", "having", "order"))]
    return {c.table.lower() for part in parts if part is not None for c in part.find_all(exp.Column) if c.table}


def _keys(select: exp.Select, group: exp.Expr) -> list[str] | None:
    """Return names of the grouping columns, or ``None`` when they are anything but columns."""
    if any(group.args.get(a) for a in ("cube", "rollup", "grouping_sets", "totals")):
        return None
    nodes = list(group.expressions)
    if group.args.get("all"):
        nodes = [e.unalias() for e in select.expressions if not e.find(exp.AggFunc, exp.Anonymous, exp.Star)]
        if any(isinstance(e, exp.Star) for e in select.expressions):
            return None
    named = {e.alias.lower() for e in select.expressions if isinstance(e, exp.Alias)}
    keys = []
    for node in nodes:
        if not isinstance(node, exp.Column) or node.args.get("db") is not None:
            return None
        if node.name.lower() in named and not node.args.get("table"):
            return None
        keys.append(node.name.lower())
    return keys if len(set(keys)) == len(keys) else None


def _rewritten(select: exp.Select, table: exp.Table, keys: list[str], codes: Codes, source: str) -> exp.Select | None:
    outer = select.copy()
    aggregates: dict[str, tuple[str, exp.Expr]] = {}
    names = {key: f"c{number}__" for number, key in enumerate(keys, 1)}
    for place in ("expressions", "having", "order"):
        held = outer.args.get(place)
        for node in held if isinstance(held, list) else [held]:
            if node is not None and not _replace(node, names, codes, aggregates, top=place == "expressions"):
                return None
    inner = exp.Select()
    inner.set("expressions", [
        *(exp.alias_(exp.column(k + CODE_SUFFIX), names[k]) for k in keys),
        *(exp.alias_(node, name) for name, node in aggregates.values()),
    ])  # fmt: skip
    moved = table.copy()
    if moved.args.get("alias") is None:
        moved.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
    moved.set("this", exp.to_identifier(source, quoted=not source.isidentifier()))
    inner.set("from_", exp.From(this=moved))
    inner.set("where", outer.args.get("where"))
    inner.set("group", exp.Group(expressions=[exp.column(names[k]) for k in keys]))
    having = outer.args.get("having")
    outer.set("where", None if having is None else exp.Where(this=having.this))
    outer.set("having", None)
    outer.set("group", None)
    outer.set(
        "from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("grouped__"))))
    )
    return outer


def _replace(
    node: exp.Expr, names: Mapping[str, str], codes: Codes, aggregates: dict[str, tuple[str, exp.Expr]], *, top: bool
) -> bool:
    """Put outer columns in place of aggregates and keys; whether nothing else is left that needs a row."""
    if top and isinstance(node, exp.Column) and node.name.lower() in names:
        name = node.name.lower()  # as the table writes it, which is what DuckDB calls it
        node.replace(exp.alias_(_named(names[name], codes[name]), name))
        return True
    if top and not isinstance(node, exp.Alias):
        return _count_alone(node, aggregates)
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(
            current, exp.Window | exp.Grouping | exp.GroupingId | exp.Subquery | exp.Select | exp.Star | exp.Placeholder
        ):
            return False
        if isinstance(current, exp.Filter | exp.WithinGroup | exp.AggFunc | exp.Count):
            current.replace(exp.column(_kept(current, aggregates)))
        elif isinstance(current, exp.Column):
            if current.name.lower() in names:
                current.replace(_named(names[current.name.lower()], codes[current.name.lower()]))
            elif top or current.args.get("table"):
                return False
        elif isinstance(current, exp.Anonymous):
            return False
        else:
            pending += list(current.iter_expressions())
    return True


def _count_alone(node: exp.Expr, aggregates: dict[str, tuple[str, exp.Expr]]) -> bool:
    """Keep the name DuckDB gives ``count(*)``; of anything else without an alias that name is not known here."""
    if not (isinstance(node, exp.Count) and isinstance(node.this, exp.Star)):
        return False
    node.replace(exp.alias_(exp.column(_kept(node, aggregates)), "count_star()", quoted=True))
    return True


def _kept(node: exp.Expr, aggregates: dict[str, tuple[str, exp.Expr]]) -> str:
    key = node.sql("duckdb")
    if key not in aggregates:
        aggregates[key] = (f"a{len(aggregates) + 1}__", node.copy())
    return aggregates[key][0]


def _named(column: str, values: Sequence[str | None]) -> exp.Expr:
    """Return the name of a code: an element of a list of literals; NULL for NULL."""
    literals = exp.Array(expressions=[exp.null() if v is None else exp.Literal.string(v) for v in values])
    return exp.Bracket(
        this=exp.paren(literals),
        expressions=[exp.Add(this=exp.column(column), expression=exp.Literal.number(1))],
        offset=1,
        safe=False,
    )
