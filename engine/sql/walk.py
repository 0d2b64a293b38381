"""Find nodes of trees, as sqlglot does but sooner: planning a query looks for tables, calls and clauses thousands of times."""

from __future__ import annotations

from typing import Final, TypeVar

from sqlglot import exp

E = TypeVar("E", bound=exp.Expr)
_LEAVES: Final = frozenset({exp.Identifier, exp.Literal, exp.Boolean, exp.Null})
"""Kinds that hold no other nodes, and are half of all; a type may hold a query, as the default of a field."""


def find_all(tree: exp.Expr, *kinds: type[E]) -> list[E]:
    """Return the nodes of some kinds in a tree, the root among them, in the order of ``tree.find_all``: breadth first.

    Args:
        tree: Where to look.
        kinds: What to look for; not names or literals.

    Example:
        >>> import sqlglot
        >>> tree = sqlglot.parse_one("WITH a AS (SELECT x FROM t) SELECT f(x) FROM a JOIN u USING (x)")
        >>> [table.name for table in find_all(tree, exp.Table)]
        ['a', 'u', 't']
    """
    nodes: list[exp.Expr] = [tree]
    add = nodes.append
    for node in nodes:
        for value in node.args.values():
            if isinstance(value, list):
                for one in value:
                    if isinstance(one, exp.Expr):
                        add(one)
            elif isinstance(value, exp.Expr) and value.__class__ not in _LEAVES:
                add(value)
    return [node for node in nodes if isinstance(node, kinds)]
