"""Names of common table expressions inside of expanded bodies: each its own, wherever the body is put."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def own_names(body: exp.Query, number: int, taken: Collection[str] = ()) -> None:
    """Give every common table expression inside of a hoisted body a name that no other body has, in place.

    A view that is used twice is hoisted twice, and its inner expressions with it. Engines that lift these out of each other,
    as Spark's dialect does, need the names to differ.

    Args:
        body: The query, expanded.
        number: Of the body; no other body of the statement has it.
        taken: Names in lower case that must not be used.

    Example:
        >>> import sqlglot
        >>> tree = sqlglot.parse_one("WITH a AS (SELECT 1 AS x) SELECT a.x FROM a")
        >>> own_names(tree, 3)
        >>> tree.sql()
        'WITH a__3 AS (SELECT 1 AS x) SELECT a.x FROM a__3 AS a'
    """
    used = set(taken)
    for clause in list(body.find_all(exp.With)):
        for cte in list(clause.expressions):
            old = cte.alias
            name = next(n for n in _candidates(old, number) if n.lower() not in used)
            used.add(name.lower())
            uses = [t for t in clause.parent.find_all(exp.Table) if _meant(t, old) is cte] if clause.parent else []
            for table in uses:
                if not table.alias:
                    columns = table.args["alias"].columns if table.args.get("alias") else []
                    table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name), columns=columns))
                table.set("this", exp.to_identifier(name))
            cte.args["alias"].set("this", exp.to_identifier(name))


def _candidates(name: str, number: int) -> Iterator[str]:
    return (f"{name}__{number}" if n == 1 else f"{name}__{number}_{n}" for n in count(1))


def _meant(table: exp.Table, name: str) -> exp.CTE | None:
    """The common table expression that a table's name stands for at its place, if it is one of that name."""
    if table.name.lower() != name.lower() or table.args.get("db"):
        return None
    child: exp.Expr = table
    parent = table.parent
    while parent is not None:
        clause = parent.args.get("with_")
        known: list[exp.CTE] = clause.expressions if isinstance(clause, exp.With) and child is not clause else []
        if isinstance(parent, exp.With):
            last = next(n for n, cte in enumerate(parent.expressions) if cte is child)
            known = parent.expressions[: last + bool(parent.args.get("recursive"))]
        for cte in reversed(known):
            if cte.alias.lower() == name.lower():
                return cte
        child, parent = parent, parent.parent
    return None
