"""Names of common table expressions: each its own, wherever it is put, so that a name alone tells what is meant."""

from __future__ import annotations

import contextlib
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from counterbalance.engine.errors import SqlError
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import arguments, queries
from counterbalance.engine.sql.call_syntax import arguments_of, call_name, keep_names
from counterbalance.engine.sql.parse import to_sql
from counterbalance.engine.sql.scope import is_inside_call
from counterbalance.engine.sql.walk import find_all

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

_WRITTEN: Final = "written"


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
    tables = _tables_of(body)
    for clause in find_all(body, exp.With):
        for cte in clause.expressions:
            _rename(cte, tables.get(id(cte), ()), _free(cte.alias, number, used))


def apart(tree: exp.Query, number: int, relations: Callable[[], Collection[str]]) -> bool:
    """Give a name of its own, in place, to every common table expression that is named like a relation, or like another one.

    Arguments of audits, views and table functions are looked at apart from the query that they stand in; then a name alone
    has to tell which relation is meant.

    Args:
        tree: A statement, as it was written.
        number: One that no body has that is hoisted.
        relations: Gives the names of all relations in lower case.

    Returns:
        Whether a name changed.

    Example:
        >>> import sqlglot
        >>> tree = sqlglot.parse_one("WITH images AS (SELECT * FROM images), a AS (SELECT 1) SELECT * FROM images, a")
        >>> apart(tree, 1, lambda: {"images"})
        True
        >>> tree.sql()
        'WITH images__1 AS (SELECT * FROM images), a AS (SELECT 1) SELECT * FROM images__1 AS images, a'
    """
    _read_texts(tree, {"with"})
    times = Counter(cte.alias.lower() for cte in find_all(tree, exp.CTE))
    if not times:
        return False
    _read_texts(tree, times)
    _refuse_twins(tree)
    taken = relations()
    shared = {name for name, n in times.items() if n > 1 or name in taken} | _out_of_sight(tree, times)
    if not shared:
        return False
    keep_names(tree, bound=True)
    for node in _relations_given(tree):
        node.meta.setdefault(_WRITTEN, written(node))
    used = {*taken, *times}
    tables = _tables_of(tree)
    for clause in find_all(tree, exp.With):
        for cte in list(clause.expressions):
            old = cte.alias
            if old.lower() in shared:
                meant = [
                    c for c in _relations_given(clause.parent or clause) if _names(c, old) and _meant(c, old) is cte
                ]
                name = _free(old, number, used)
                _rename(cte, tables.get(id(cte), ()), name)
                for column in meant:
                    column.set("this", exp.to_identifier(name))
    return True


def _refuse_twins(tree: exp.Query) -> None:
    """Refuse two expressions of one name in one WITH, as DuckDB would if they kept it."""
    for clause in find_all(tree, exp.With):
        ((name, n),) = Counter(cte.alias.lower() for cte in clause.expressions).most_common(1)
        if n > 1:
            raise SqlError(f"two expressions of one WITH are called {name!r}", code="E3197")


def _out_of_sight(tree: exp.Query, names: Collection[str]) -> set[str]:
    """Return the names that stand somewhere for no expression, because the one of that name cannot be seen from there."""
    mentions = [
        *find_all(tree, exp.Table),
        *(c for c in _relations_given(tree) if isinstance(c, exp.Column) and not c.table),
    ]
    return {
        m.name.lower()
        for m in mentions
        if m.name.lower() in names and not m.args.get("db") and _meant(m, m.name) is None
    }


def written(node: exp.Expr) -> str:
    """Return an argument as it was written, before names in it changed."""
    text = node.meta.get(_WRITTEN)
    return str(text) if text is not None else node.this if isinstance(node, exp.Literal) else to_sql(node)


def in_order(tree: exp.Expr) -> list[exp.CTE]:
    """Yield the common table expressions of a tree, each after those that it can stand on; none of arguments of relations."""
    inside: dict[int | None, list[exp.CTE]] = {}
    for cte in find_all(tree, exp.CTE):
        if is_inside_call(cte, tree):
            continue
        around = cte.find_ancestor(exp.CTE)
        inside.setdefault(None if around is None else id(around), []).append(cte)

    def of(around: int | None) -> Iterator[exp.CTE]:
        for cte in inside.get(around, ()):  # found from the outside in
            yield from of(id(cte))
            yield cte

    return list(of(None))


def _free(name: str, number: int, used: set[str]) -> str:
    """Return a name that nothing has, which is taken then."""
    free = next(n for n in _candidates(name, number) if n.lower() not in used)
    used.add(free.lower())
    return free


def _tables_of(tree: exp.Query) -> dict[int, list[exp.Table]]:
    """Return the tables that mean a common table expression of the tree, by the expression's ``id``."""
    tables: dict[int, list[exp.Table]] = {}
    for table in find_all(tree, exp.Table):
        if (cte := _meant(table, table.name)) is not None:
            tables.setdefault(id(cte), []).append(table)
    return tables


def _rename(cte: exp.CTE, tables: Iterable[exp.Table], name: str) -> None:
    """Give another name to a common table expression, and to tables that mean it."""
    for table in tables:
        if not table.alias:
            columns = table.args["alias"].columns if table.args.get("alias") else []
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name), columns=columns))
        table.set("this", exp.to_identifier(name))
    cte.args["alias"].set("this", exp.to_identifier(name))


def _names(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Column) and not node.table and node.name.lower() == name.lower()


def _relations_given(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Return arguments that are relations."""
    for table in find_all(tree, exp.Table):
        if isinstance(table.this, exp.Func):
            yield from _relations_of(table.this)


def _relations_of(call: exp.Func) -> Iterator[exp.Expr]:
    name = call_name(call)
    query = queries.queries().get(name)
    parameters = query.parameters if query is not None else SIGNATURES.get(name, ())
    try:
        given = arguments.bind(name, [p.name for p in parameters], arguments_of(call))
    except SqlError:  # told when the call is looked at
        return
    for parameter in parameters:
        node = given.get(parameter.name)
        if node is not None and (parameter.is_relation or parameter.type == "table"):
            yield node
            inner = node.expression if isinstance(node, exp.Dot) else node
            if isinstance(inner, exp.Func) and not isinstance(inner, exp.Query):
                yield from _relations_of(inner)


def _read_texts(tree: exp.Query, words: Collection[str]) -> None:
    """Make trees of relations that were given as texts with one of these words."""
    pending: list[exp.Expr] = [tree]
    while pending:
        for node in list(_relations_given(pending.pop())):
            text = written(node)
            if isinstance(node, exp.Literal) and any(w in text.lower().replace('""', '"') for w in words):
                with contextlib.suppress(SqlError):  # a file, or nothing at all
                    found = arguments.relation(text, text)
                    found.meta[_WRITTEN] = text
                    node.replace(found)
                    pending.append(found)


def _candidates(name: str, number: int) -> Iterator[str]:
    return (f"{name}__{number}" if n == 1 else f"{name}__{number}_{n}" for n in count(1))


def _meant(table: exp.Expr, name: str) -> exp.CTE | None:
    """Return the common table expression that a table's name stands for at its place, if it is one of that name."""
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
