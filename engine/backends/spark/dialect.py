"""DuckDB's SQL as Spark's, where sqlglot alone would lose something: the order of lists, folds, expressions inside of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def translated(sql: str, names: Mapping[str, str]) -> exp.Expr:
    """Return the tree of a query in DuckDB's SQL, ready to be written as Spark's.

    Args:
        sql: The query.
        names: What tables are called in Spark; others keep their names.

    Example:
        >>> translated("SELECT list(a ORDER BY b) FROM t", {"t": "view_1"}).sql("spark")
        'SELECT TRANSFORM(ARRAY_SORT(COLLECT_LIST(STRUCT(b IS NULL, b, a AS value))), one -> one.value) FROM view_1 AS `t`'
    """
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    for node in list(tree.find_all(exp.ArrayAgg)):
        made = _ordered(node)
        if made is not None:
            around = node.parent
            if isinstance(around, exp.Filter):
                collected = made.find(exp.Anonymous, bfs=False)
                for one in made.find_all(exp.Anonymous):
                    if one.name in {"COLLECT_LIST", "COLLECT_SET"}:
                        collected = one
                if collected is not None:
                    collected.replace(exp.Filter(this=collected.copy(), expression=around.expression.copy()))
                around.replace(made)
            else:
                node.replace(made)
    for node in list(tree.find_all(exp.Anonymous)):
        if node.name.lower() == "list_reduce" and len(node.expressions) == 3:
            items, fold, first = node.expressions
            node.replace(exp.Anonymous(this="AGGREGATE", expressions=[items.copy(), first.copy(), fold.copy()]))
    rename(tree, names)
    return tree


def rename(tree: exp.Expr, names: Mapping[str, str]) -> None:
    """Let tables of a tree be read under other names; columns that are qualified by the old ones still find them."""
    for table in tree.find_all(exp.Table):
        if not table.args.get("db") and table.name in names:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
            table.set("this", exp.to_identifier(names[table.name]))


def lifted(query: exp.Expr) -> Iterator[exp.CTE]:
    """Yield the expressions that a query and its expressions stand on, each before its first use, and take them out of it.

    Names are those of one plan, in which no two expressions have the same.
    """
    clause = query.args.get("with_")
    if clause is None or clause.args.get("recursive"):
        return
    query.set("with_", None)
    for cte in list(clause.expressions):
        for inner in list(cte.this.find_all(exp.With)):
            holder = inner.parent
            if holder is not None and inner.args.get("recursive") is None:
                yield from lifted(holder)
        yield cte


def _ordered(node: exp.ArrayAgg) -> exp.Expr | None:
    """Return a list of values in an order as Spark makes it; ``None`` where there is no order."""
    order = node.this
    if not isinstance(order, exp.Order):
        return None
    value = order.this
    if isinstance(value, exp.Distinct):
        unique = exp.Anonymous(this="COLLECT_SET", expressions=[value.expressions[0].copy()])
        return exp.Anonymous(this="ARRAY_SORT", expressions=[unique])
    keys: list[exp.Expr] = []
    for one in order.expressions:
        key = one.this if isinstance(one, exp.Ordered) else one
        is_falling = isinstance(one, exp.Ordered) and bool(one.args.get("desc"))
        keys += [
            exp.Is(this=key.copy(), expression=exp.null()),
            exp.Neg(this=exp.paren(key.copy())) if is_falling else key.copy(),
        ]
    named = exp.alias_(value.copy(), "value")
    rows = exp.Anonymous(this="COLLECT_LIST", expressions=[exp.Anonymous(this="STRUCT", expressions=[*keys, named])])
    one = exp.Lambda(
        this=exp.Dot(this=exp.to_identifier("one"), expression=exp.to_identifier("value")),
        expressions=[exp.to_identifier("one")],
    )
    return exp.Anonymous(this="TRANSFORM", expressions=[exp.Anonymous(this="ARRAY_SORT", expressions=[rows]), one])
