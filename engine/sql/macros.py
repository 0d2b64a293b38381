"""Functions written in SQL, ``queries/functions/*.sql``: a call becomes the function's own expression.

Its arguments stand in the place of its parameters, each cast to the parameter's type, so that what is shown, stored,
fingerprinted or sent to another engine is plain SQL. Functions may call each other.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from counterbalance.engine.errors import RequestError, SqlError
from counterbalance.engine.functions import functions
from counterbalance.engine.sql import arguments, queries
from counterbalance.engine.sql.parse import DIALECT, to_sql
from counterbalance.engine.sql.volatility import is_volatile
from counterbalance.engine.sql.walk import find_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterbalance.engine.sql.query_model import Query


class Formula(NamedTuple):
    """The expression of a function with the calls of others put in.

    Args:
        tree: In parentheses: to be copied before it is changed.
        times: How often it names each parameter.
        calls: Names of functions that it calls and that are none of DuckDB's as the parser knows them, in lower case.
        uses: The function and all that it calls, as they were when this was made.
    """

    tree: exp.Expr
    times: Mapping[str, int]
    calls: frozenset[str]
    uses: tuple[Query, ...]


_formulas: Final[dict[str, Formula]] = {}


def inline(tree: exp.Expr, *, is_callers: bool = True) -> bool:
    """Replace calls below the root by expressions, in place; returns whether there were any.

    Args:
        tree: A query, or the expression of a function.
        is_callers: The caller wrote it; in a text of ours no function of the caller's may stand.

    Raises:
        SqlError: A call's arguments do not fit, or one of them cannot be repeated.
        RequestError: A Python function has the name, too, or a function calls itself.
    """
    calls = sql_calls(tree)
    for call in reversed(calls):  # the innermost first
        place = call.parent if isinstance(call.parent, exp.Dot) else call
        place.replace(_expression(call, (), is_callers=is_callers))
    return bool(calls)


def check(tree: exp.Expr, *, is_callers: bool = True) -> bool:
    """Refuse what ``inline`` would refuse, and leave calls for it; returns whether there are any.

    A tree without their expressions is a fraction of the size, and is walked many times until it is run.

    Raises:
        SqlError: As ``inline``.
        RequestError: Likewise.
    """
    calls = sql_calls(tree)
    for call in calls:
        _arguments(_called(call, is_callers=is_callers), call, ())
    return bool(calls)


def calls_python(tree: exp.Expr) -> bool:
    """Return whether a tree calls functions in Python, itself or by functions in SQL."""
    names = [str(call.name).lower() for call in find_all(tree, exp.Anonymous) if not isinstance(call.parent, exp.Table)]
    sql, python = queries.sql_functions(), functions()
    return any(n in python or (n in sql and not _whole(sql[n], ()).calls.isdisjoint(python)) for n in names)


def sql_calls(tree: exp.Expr) -> list[exp.Anonymous]:
    """Return calls of functions written in SQL, outer ones first; ``f(…)`` and ``main.f(…)``, and none in FROM."""
    known = queries.sql_functions()
    return [
        call
        for call in find_all(tree, exp.Anonymous)
        if str(call.name).lower() in known
        and "__" not in call.name  # a name that the engine made, of a function with its constants
        and not isinstance(call.parent, exp.Table)
        and not (isinstance(call.parent, exp.Dot) and call.parent.this.name.lower() != "main")
    ]


def _called(call: exp.Anonymous, *, is_callers: bool) -> Query:
    name = str(call.name).lower()
    if name in functions():
        raise RequestError(
            f"two functions are called {name!r}: one is written in SQL, one in Python",
            code="E3032",
            hint="give yours another name",
        )
    found = queries.sql_functions()[name]
    if found.is_own and not is_callers:  # it would run with the rights of ours
        raise RequestError(
            f"{name}() of your own has the name of a function that ours call", code="E3032", hint="give it another name"
        )
    return found


def _whole(function: Query, callers: tuple[str, ...]) -> Formula:
    """Return the formula of a function; made again when a file behind it is another one."""
    if function.name in callers:
        path = " -> ".join((*callers, function.name))
        raise RequestError(f"function {function.name} calls itself: {path}", code="E3030")
    known = queries.sql_functions()
    found = _formulas.get(function.name)
    if found is not None and found.uses[0] is function and all(known.get(f.name) is f for f in found.uses[1:]):
        return found
    tree, uses = formula(function).copy(), [function]
    for call in reversed(sql_calls(tree)):
        uses += _whole(_called(call, is_callers=function.is_own), (*callers, function.name)).uses
        place = call.parent if isinstance(call.parent, exp.Dot) else call
        place.replace(_expression(call, (*callers, function.name), is_callers=function.is_own))
    times = Counter(place.name for place in find_all(tree, exp.Placeholder, exp.Parameter))
    calls = frozenset(str(call.name).lower() for call in find_all(tree, exp.Anonymous))
    _formulas[function.name] = Formula(tree, times, calls, tuple(uses))
    return _formulas[function.name]


def _expression(call: exp.Anonymous, callers: tuple[str, ...], *, is_callers: bool) -> exp.Expr:
    """Return what a call stands for: the function's formula with the arguments in it."""
    function = _called(call, is_callers=is_callers)
    given = _arguments(function, call, callers)
    body = _whole(function, callers).tree.copy()
    for place in find_all(body, exp.Placeholder, exp.Parameter):
        value, around = given[place.name].copy(), place.parent
        if isinstance(around, exp.Cast) and isinstance(value, exp.Cast) and around.to == value.to:
            around.replace(value)  # a function that hands its own parameter to another casts it once
        else:
            place.replace(value)
    return body


def _arguments(function: Query, call: exp.Anonymous, callers: tuple[str, ...]) -> dict[str, exp.Expr]:
    """Return the arguments of a call by the names of their parameters, cast to the types of these."""
    bound = arguments.bind(function.name, [p.name for p in function.parameters], call.expressions)
    given: dict[str, exp.Expr] = {}
    for parameter in function.parameters:
        node = bound.get(parameter.name)
        if node is None and parameter.default is None:
            raise SqlError(f"{function.name}() needs {parameter.name!r}", code="E3116", hint=function.signature)
        value = exp.maybe_parse(parameter.default or "NULL", dialect=DIALECT) if node is None else node
        given[parameter.name] = exp.cast(value, _type(parameter.type), dialect=DIALECT)
    _refuse_repeating(function, bound, _whole(function, callers).times)
    return given


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect=DIALECT)


def _refuse_repeating(function: Query, bound: Mapping[str, exp.Expr], times_of: Mapping[str, int]) -> None:
    """Refuse what would be another value, or be computed anew, at each place of its parameter.

    Columns, aggregates, window functions and Python functions are computed once: equal ones are common subexpressions.
    """
    for name, times in times_of.items():
        node = bound.get(name)
        if node is None or times == 1:
            continue
        if node.find(exp.Query) or any(is_volatile(call) for call in find_all(node, exp.Func)):
            raise SqlError(
                f"{name!r} of {function.name}() is used {times} times, and {to_sql(node)} cannot be repeated",
                code="E3135",
                hint=f"name it in an inner query: SELECT {function.name}(…) FROM (SELECT …, {to_sql(node)} AS {name})",
            )


@cache
def formula(function: Query) -> exp.Expr:
    r"""Return the expression of a function, in parentheses: to be copied before it is changed.

    Raises:
        RequestError: It is not one expression of the parameters.

    Example:
        >>> from counterbalance.engine.sql.query_files import parse
        >>> front = '/*--- toml\nanswers = "Half."\n[params.x]\ntype = "double"\n---*/\n'
        >>> half = parse(front + "SELECT $x / 2 AS half", "function", "half.sql")
        >>> formula(half).sql("duckdb")
        '($x / 2)'
    """
    try:
        tree = sqlglot.parse_one(function.sql, dialect=DIALECT)
    except ParseError:
        tree = None
    names = {p.name for p in function.parameters if not p.is_relation}
    if (
        not isinstance(tree, exp.Select)
        or {name for name, value in tree.args.items() if value} != {"expressions"}
        or len(tree.expressions) != 1
        or len(names) < len(function.parameters)
        or tree.find(exp.Column, exp.Star, exp.AggFunc, exp.Window, exp.Subquery, exp.Table)
        or tree.expressions[0].find(exp.Query)
        or any(is_volatile(call) for call in find_all(tree, exp.Func))
        or not {p.name for p in find_all(tree, exp.Placeholder, exp.Parameter)} <= names
    ):
        raise RequestError(
            f"function {function.name} is not one expression of its parameters",
            code="E3030",
            hint="write SELECT, and the value of $parameters; no columns, aggregates or queries",
        )
    return exp.paren(tree.expressions[0].unalias().copy(), copy=False)
