"""Calls as the parser hands them over: names, arguments, and where they stand."""

from __future__ import annotations

from sqlglot import exp

from counterbalance.engine.functions import functions
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import queries
from counterbalance.engine.sql.parse import to_sql
from counterbalance.engine.sql.walk import find_all


def keep_names(tree: exp.Expr, *, bound: bool) -> None:
    """Name a column as it was written, not by what takes the place of its calls and queries.

    Args:
        tree: The query, changed in place.
        bound: Whether something will be bound for calls of Python functions and for queries, too.
    """
    names = {*queries.sql_functions(), *(functions() if bound else ())} if tree.find(exp.Anonymous) else set()
    for select in find_all(tree, exp.Select):
        for item in [e for e in select.expressions if not e.alias]:
            calls = find_all(item, exp.Anonymous) if names else ()
            if any(str(c.name).lower() in names for c in calls) or (bound and item.find(exp.Query)):
                item.replace(exp.alias_(item.copy(), to_sql(item), quoted=True))


def callable_names() -> frozenset[str]:
    """Return names of all functions that queries may call beside DuckDB's own, written in Python or in SQL."""
    return frozenset({*functions(), *queries.sql_functions()})


def known_as(name: str) -> str | None:
    """Return how a name is written that stands where something else is wanted: as a relation, or as a function.

    Example:
        >>> known_as("Demographics")
        'demographics is an audit: FROM demographics(…)'
        >>> known_as("vader"), known_as("captions")
        ('vader is a function: SELECT vader(…)', None)
    """
    name = name.lower()
    if name in queries.queries():
        kind = queries.queries()[name].kind
        return f"{name} is {'an' if kind == 'audit' else 'a'} {kind}: FROM {name}(…)"
    if name in SIGNATURES:
        return f"{name} is a table function: FROM {name}(…)"
    return f"{name} is a function: SELECT {name}(…)" if name in callable_names() else None


def call_name(call: exp.Func) -> str:
    """Return its name in lower case, whether the parser knows the function or not."""
    return str(call.name if isinstance(call, exp.Anonymous) else call.sql_name()).lower()


def arguments_of(call: exp.Func) -> list[exp.Expr]:
    """Return what stands between its parentheses."""
    if isinstance(call, exp.Anonymous):
        return list(call.expressions)
    return [a for a in call.args.values() if isinstance(a, exp.Expr)]
