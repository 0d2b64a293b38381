"""Parts of an expansion: what names mean inside a body, and how bodies become one query."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from counterbalance.engine.errors import RequestError, SqlError
from counterbalance.engine.sql.parse import DIALECT
from counterbalance.engine.sql.walk import find_all

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from counterbalance.engine.sql.policy import Cut
    from counterbalance.engine.sql.query_model import Query, QueryParameter

_CLASS: Final = re.compile(r"<class '[\w.]*\.(\w+)'>")
"""A part of a query, as sqlglot names it in its errors."""


@dataclass(frozen=True)
class Env:
    """What names mean inside one body.

    Args:
        relations: Relation parameters by name, resolved.
        scalars: Scalar parameters by name, as literals.
        trusted: The body is a shipped template that may read sensitive labels.
        is_user: The text is the user's own, so that the user's common table expressions are in reach.
        is_callers: The caller wrote the text: the query itself, or the body of an audit or view in a file of their own.
        own_rows: Relation parameters whose rows are of the caller's own making.
        placeholders: Values of the user's ``$name``.
        lake: The attached lake whose tables the body reads; ``None`` for the session's own.
        open_labels: The body wants no labels that need a purpose: that they are missing is nothing to tell.
        refers: What is resolved is an argument of an audit: a relation or view that it *names* may be closed. A query that
            stands there is bound without it, with the rights of whoever wrote it.
        abroad: So may relations of other lakes, because the audit matches none of their images with others.
        widens: Views of the caller's that leave rows out are taken for all of these.
        instead: Values that are put in the place of those that a caller gave, by parameter.
        named: Attributes of perceived labels, each with its lake, that a parameter's argument names; '' for all that are no relation.
    """

    relations: Mapping[str, exp.Table] = field(default_factory=dict)
    scalars: Mapping[str, exp.Expr] = field(default_factory=dict)
    trusted: bool = False
    is_user: bool = False
    is_callers: bool = False
    own_rows: frozenset[str] = frozenset()
    placeholders: Mapping[str, Any] = field(default_factory=dict)
    lake: str | None = None
    open_labels: bool = False
    refers: bool = False
    abroad: bool = False
    widens: bool = False
    instead: Mapping[str, exp.Expr] = field(default_factory=dict)
    named: Mapping[str, Sequence[tuple[str, str | None]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A view that leaves rows of a relation out, that parameter, and whether the relation holds perceived labels."""

    view: str
    parameter: QueryParameter
    closed: bool


@dataclass(slots=True)
class Met:
    """Hold what was met while one call was bound.

    Args:
        closed: Something closed is read.
        cuts: Values that choose whom an audit counts.
        narrowed: Views that leave rows out.
    """

    closed: bool = False
    cuts: list[Cut] = field(default_factory=list)
    narrowed: list[Narrowed] = field(default_factory=list)


def is_inside_call(node: exp.Expr, root: exp.Expr) -> bool:
    """Tell whether it stands inside the arguments of a call that is itself a relation; those are resolved with the call."""
    around = node.parent
    while around is not None and around is not root:
        if isinstance(around, exp.Table) and isinstance(around.this, exp.Func):
            return True
        around = around.parent
    return False


def substituted(node: exp.Expr, env: Env) -> exp.Expr:
    """Return an argument with parameters of the body around it, and the user's own, put in."""
    wrapped = exp.Paren(this=node.copy())
    for place in find_all(wrapped, exp.Placeholder, exp.Parameter):
        if place.name in env.scalars:
            place.replace(env.scalars[place.name].copy())
        elif place.name in env.placeholders:
            place.replace(exp.convert(env.placeholders[place.name]))
    inner = wrapped.this
    return inner if isinstance(inner, exp.Expr) else node


def assembled(
    tree: exp.Query, hoisted: Mapping[str, exp.Query], user: Mapping[str, exp.CTE], *, recursive: bool = False
) -> exp.Query:
    """Return the query with the common table expressions it needs, each before its first use.

    Args:
        tree: The query, or a part of the user's.
        hoisted: Bodies of audits and views, and arguments.
        user: The user's own expressions, each with a name that nothing else has.
        recursive: Whether some of those are.
    """
    own = tree.args.get("with_")
    mine = {cte.alias.lower(): cte for cte in own.expressions} if isinstance(own, exp.With) else {}
    pool: dict[str, exp.Expr] = {**user, **hoisted, **mine}
    order: dict[str, exp.Expr] = {}

    def visit(node: exp.Expr, seen: tuple[str, ...]) -> None:
        within = {cte.alias.lower() for cte in find_all(node, exp.CTE)}
        for table in find_all(node, exp.Table):
            name = table.name.lower()
            if (
                name in pool
                and name not in within
                and name not in order
                and name not in seen
                and not table.args.get("db")
            ):
                visit(pool[name], (*seen, name))
                order[name] = pool[name]

    for name, cte in mine.items():
        visit(cte, (name,))
        order.setdefault(name, cte)
    body = tree.copy()
    body.set("with_", None)
    visit(body, ())
    if len(order) == len(mine):
        return tree
    made = [node.copy() if isinstance(node, exp.CTE) else _named(name, node.copy()) for name, node in order.items()]
    loops = recursive and not user.keys().isdisjoint(order)
    body.set("with_", exp.With(expressions=made, recursive=loops or bool(own and own.args.get("recursive"))))
    return body


def _named(name: str, query: exp.Expr) -> exp.CTE:
    return exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)))


@cache
def parsed(query: Query) -> exp.Query:
    """Return the tree of a query file: to be copied before it is changed.

    Raises:
        RequestError: It is no SQL; says the file and the line.
    """
    tree = tree_of(query.sql, query.place or query.name)
    for node in tree.walk():
        node._meta = None  # noqa: SLF001 - its place in the file: nobody asks, and copying it takes longer than all else
    return tree


def tree_of(sql: str, place: str) -> exp.Query:
    """Return the tree of the SQL of a file, whose first word stands at a place (``file:line``).

    Raises:
        RequestError: It is no query; says the file and the line.
    """
    try:
        tree = sqlglot.parse_one(sql, dialect=DIALECT)
    except (ParseError, TokenError) as error:
        raise RequestError(_syntax(place, error), code="E3030") from None
    if not isinstance(tree, exp.Query):
        raise RequestError(
            f"{place}: this is not a query: one SELECT is wanted, without a second statement", code="E3030"
        )
    return tree


def _syntax(place: str, error: ParseError | TokenError) -> str:
    """Return what is wrong with the SQL of a file, and where."""
    file, _, first = place.rpartition(":")
    told = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    line = int(first) + int(told.get("line") or 1) - 1 if first.isdigit() else 1
    what = str(told.get("description") or "").strip() or "it cannot be read"
    what = _CLASS.sub(lambda found: found[1].upper(), what)
    near = str(told.get("highlight") or "").strip()
    return f"{file or place}:{line}: no SQL{f' at {near!r}' if near else ''}: {what}"


def with_schemas(tree: exp.Query, qualified: Collection[str]) -> None:
    """Write names such as ``"lists.crime_words"`` in two parts again, as any engine reads them."""
    for table in find_all(tree, exp.Table):
        schema, _, name = table.name.partition(".")
        if table.name in qualified and name and not table.args.get("db"):
            table.set("this", exp.to_identifier(name))
            table.set("db", exp.to_identifier(schema))


def hides(name: str, what: str) -> SqlError:
    """Return the error of an expression whose name hides something."""
    return SqlError(f"your expression {name!r} hides {what}", code="E3118", hint="give the expression another name")


def with_params(body: exp.Query, params: str) -> exp.Query:
    """Return an audit with its parameters as a column."""
    text = exp.Literal.string(params)
    inner = exp.Subquery(this=body, alias=exp.TableAlias(this=exp.to_identifier("audit")))
    return exp.select("*", exp.alias_(text, "params")).from_(inner)
