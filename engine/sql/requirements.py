"""What must have rows for a query to have any: read off its SQL, the audits and views that it calls included.

A table joined to others is needed, one of several under UNION is an alternative, one behind LEFT JOIN is neither. That is
worked out from the text alone: nothing is bound or run, so that all audits together take a moment.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import arguments, queries
from counterbalance.engine.sql.call_syntax import arguments_of, call_name
from counterbalance.engine.sql.scope import parsed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from counterbalance.engine.sql.query_model import Query, QueryParameter

Needs = frozenset[frozenset[str]]
"""Alternatives, each the names of all that must have rows."""
ALWAYS: Final[Needs] = frozenset({frozenset()})
NEVER: Final[Needs] = frozenset()
GIVEN: Final = " := …"
"""Ends the name of a parameter that a caller has to give."""
ORIGIN: Final = "captions of origin "
"""Begins the name of captions that say where they come from, such as a model."""


def of_query(tree: exp.Expr, scope: Mapping[str, Needs] | None = None) -> Needs:
    """Return what a query needs.

    Args:
        tree: The query, as it is written.
        scope: What the names around it need.

    Example:
        >>> from counterbalance.engine.sql.parse import parse
        >>> of_query(parse("SELECT 1 FROM captions LEFT JOIN labels USING (image_id)").tree) == {frozenset({"captions"})}
        True
    """
    scope = dict(scope or {})
    clause = tree.args.get("with_")
    if isinstance(clause, exp.With):
        for cte in clause.expressions:
            own = {cte.alias.lower(): NEVER} if clause.args.get("recursive") else {}
            scope[cte.alias.lower()] = of_query(cte.this, scope | own)
    if isinstance(tree, exp.Subquery):
        return of_query(tree.this, scope)
    if isinstance(tree, exp.Table):
        return _of_source(tree, scope)
    if isinstance(tree, exp.SetOperation):
        left, right = of_query(tree.this, scope), of_query(tree.expression, scope)
        if isinstance(tree, exp.Except):
            return left
        return _both(left, right) if isinstance(tree, exp.Intersect) else _either(left, right)
    return _of_select(tree, scope) if isinstance(tree, exp.Select) else ALWAYS


def of_audit(query: Query) -> Needs:
    """Return what an audit needs where no argument is given; a parameter that has no default is a need itself."""
    return _of_call(query.name, (), {})


def has_no_rows(parameter: QueryParameter) -> bool:
    """Return whether a relation has no rows where it is left out, whatever the lake holds.

    Example:
        >>> has_no_rows(next(p for p in queries.audit("cooccurrence").parameters if p.name == "sources"))
        True
    """
    return parameter.is_relation and parameter.default is not None and _of_argument(parameter, None, {}, {}) == NEVER


def nearest(needs: Needs, there: Collection[str]) -> frozenset[str]:
    """Return the alternative of which the least is missing."""
    return min(needs, key=lambda one: (len(one.difference(there)), sorted(one)), default=frozenset())


def missing(needs: Needs, there: Collection[str]) -> list[str]:
    """Return what is missing of that alternative; captions of an origin say of captions, too, that they are.

    Example:
        >>> missing(frozenset({frozenset({"captions", "labels"}), frozenset({"detections"})}), {"images"})
        ['detections']
        >>> from counterbalance.engine.sql.parse import parse
        >>> missing(of_query(parse("FROM captions WHERE origin = 'generated'").tree), {"images"})
        ['captions of origin generated']
    """
    found = nearest(needs, there).difference(there)
    return sorted(found - {"captions"} if any(name.startswith(ORIGIN) for name in found) else found)


def is_stored(name: str) -> bool:
    """Tell whether the lake holds what has this name, or would; it is no parameter, and nothing that is made of others."""
    return name in BASE_TABLES or name.startswith(ORIGIN)


def _of_select(tree: exp.Select, scope: Mapping[str, Needs]) -> Needs:
    source = tree.args.get("from_")
    found = ALWAYS if source is None else _of_source(source.this, scope)
    first = () if source is None else source.this.args.get("joins") or ()  # of FROM before SELECT
    for join in (*first, *(tree.args.get("joins") or ())):
        other = _of_source(join.this, scope)
        if join.side == "FULL":
            found = _either(found, other)
        elif join.side == "RIGHT":
            found = other
        elif join.side != "LEFT" and join.kind != "ANTI":
            found = _both(found, other)
    for condition in _conditions(tree):
        found = _both(found, _of_origin(condition, tree, scope) or _of_condition(condition, scope))
    if found == NEVER and tree.args.get("group") is None and any(map(_is_aggregate, tree.expressions)):
        return ALWAYS  # counting what is never there gives 0
    return found


def _conditions(tree: exp.Select) -> Iterator[exp.Expr]:
    """Yield what must all be true of a row."""
    where = tree.args.get("where")
    if where is not None:
        yield from where.this.flatten() if isinstance(where.this, exp.And) else (where.this,)


def _of_condition(node: exp.Expr, scope: Mapping[str, Needs]) -> Needs:
    if isinstance(node, exp.EQ) and isinstance(node.this, exp.Literal) and isinstance(node.expression, exp.Literal):
        return ALWAYS if node.this == node.expression else NEVER
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        return of_query(node.args["query"], scope)
    return of_query(node.this, scope) if isinstance(node, exp.Exists) else ALWAYS


def _of_origin(node: exp.Expr, tree: exp.Select, scope: Mapping[str, Needs]) -> Needs | None:
    """Return what ``origin = 'generated'`` of captions, and of nothing else, asks for."""
    source = tree.args.get("from_")
    table = (
        source.this if source is not None and not (tree.args.get("joins") or source.this.args.get("joins")) else None
    )
    if (
        not isinstance(table, exp.Table)
        or table.name.lower() != "captions"
        or table.args.get("db")
        or "captions" in scope
    ):
        return None
    if not (isinstance(node, exp.EQ) and isinstance(node.this, exp.Column) and node.this.name.lower() == "origin"):
        return None
    value = node.expression
    return _only(f"{ORIGIN}{value.this}") if isinstance(value, exp.Literal) and value.is_string else None


def _is_aggregate(node: exp.Expr) -> bool:
    """Tell whether one row comes of all: a count or a sum outside of windows and queries of its own."""
    found = node.find(exp.AggFunc)
    return found is not None and found.find_ancestor(exp.Window, exp.Query) in {None, node.parent_select}


def _of_source(node: exp.Expr, scope: Mapping[str, Needs]) -> Needs:
    """Return what stands after FROM or JOIN needs; lists, system tables and other lakes are taken to be there."""
    if isinstance(node, exp.Query) and not isinstance(node, exp.Table):
        return of_query(node, scope)
    if not isinstance(node, exp.Table) or (node.args.get("db") is not None and node.db.lower() != "main"):
        return ALWAYS
    if isinstance(node.this, exp.Func):
        return _of_call(call_name(node.this), arguments_of(node.this), scope)
    name = node.name.lower()
    if name in scope:
        return scope[name]
    return _of_call(name, (), {}) if name in queries.queries() and name not in BASE_TABLES else _only(name)


def _of_call(name: str, nodes: Sequence[exp.Expr], scope: Mapping[str, Needs]) -> Needs:
    """Return what a call of an audit, a view or a table function needs."""
    query = queries.queries().get(name)
    parameters = query.parameters if query is not None else SIGNATURES.get(name, ())
    given = arguments.bind(name, [p.name for p in parameters], nodes) if parameters else {}
    if query is None:
        related = [p.name for p in parameters if p.is_relation and p.name in given]
        return _both(*(_of_source(arguments.as_relation(given[n], n), scope) for n in related))
    inner: dict[str, Needs] = {}
    for parameter in parameters:
        if parameter.is_relation:
            found = _of_argument(parameter, given.get(parameter.name), scope, inner)
            is_for_caller = (
                found == NEVER and query.kind == "audit"
            )  # no rows by default, such as a model's predictions
            inner[parameter.name] = _only(f"{parameter.name}{GIVEN}") if is_for_caller else found
    found = of_query(parsed(query), inner)
    if any(p.side for p in parameters):  # a row of one dataset alone compares nothing
        found = _both(found, *(inner[p.name] for p in parameters if p.is_relation and not has_no_rows(p)))
    required = (p for p in parameters if p.default is None and not (p.optional or p.name in given))
    return _both(found, *(_only(f"{p.name}{GIVEN}") for p in required))


def _of_argument(
    parameter: QueryParameter, node: exp.Expr | None, scope: Mapping[str, Needs], inner: Mapping[str, Needs]
) -> Needs:
    if node is not None:
        return _of_source(arguments.as_relation(node, parameter.name), scope)
    if parameter.default is None:
        return ALWAYS  # a need by its own name
    return _of_source(arguments.relation(parameter.default, parameter.name), inner)


def _only(name: str) -> Needs:
    return frozenset({frozenset({name})})


def _both(*parts: Needs) -> Needs:
    found = ALWAYS
    for part in parts:
        found = _least(one | other for one in found for other in part)
    return found


def _either(*parts: Needs) -> Needs:
    return _least(chain.from_iterable(parts))


def _least(found: Iterable[frozenset[str]]) -> Needs:
    """Leave out alternatives that ask for more than another one does."""
    every = {*found}
    return frozenset(one for one in every if not any(other < one for other in every))
