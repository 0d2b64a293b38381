"""Fingerprints: what a stored result was made by.

A fingerprint covers the definition's text without comments, spaces and letter case, the name, version, types and weights
of every function it calls, the words of every list it reads, and the fingerprints of what it reads. What does not
change a result (a schedule, a comment) is not in it.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp

from counterbalance.engine import lists
from counterbalance.engine.errors import NotFoundError, did_you_mean
from counterbalance.engine.functions import functions
from counterbalance.engine.sql import arguments
from counterbalance.engine.sql.call_syntax import callable_names
from counterbalance.engine.sql.expression import analyse
from counterbalance.engine.sql.parse import DIALECT, quoted, to_sql
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from counterbalance.engine.catalog.definitions import Definition, Definitions
    from counterbalance.engine.functions import Function
    from counterbalance.engine.store.location import Location

_FORMAT = 1
"""Raised when the meaning of stored results changes with the engine itself."""


class Fingerprints:
    """Fingerprints of everything that is declared, each computed once.

    Args:
        location: The lake.
        definitions: What is declared.
        expand: Gives the text of a query with all views in it expanded.
    """

    def __init__(self, location: Location, definitions: Definitions, expand: Callable[[str], str]) -> None:
        self._location, self._definitions, self._expand = location, definitions, expand
        self._known: dict[str, str] = {}
        self._parts: dict[str, dict[str, Any]] = {}

    def of(self, definition: Definition) -> str:
        """Return the fingerprint, 16 hex digits.

        Raises:
            NotFoundError: It calls or reads something that is not there.
        """
        if definition.target not in self._known:
            make = {"column": self._column, "view": self._view, "index": self._index}[definition.kind]
            body = {"format": _FORMAT, "kind": definition.kind, **make(definition), "reads": self._upstream(definition)}
            self._parts[definition.target] = body
            text = json.dumps(body, sort_keys=True, default=str)
            self._known[definition.target] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._known[definition.target]

    def parts(self, definition: Definition) -> dict[str, Any]:
        """Return what the fingerprint is the digest of, by name.

        Raises:
            NotFoundError: As ``of``.
        """
        self.of(definition)
        return self._parts[definition.target]

    def _upstream(self, definition: Definition) -> dict[str, str]:
        """Return fingerprints of its inputs; the view that a column stands on is not an input, its rows are."""
        others = self._definitions.upstream(definition)
        own = definition.table if definition.kind == "column" else None
        return {d.target: self.of(d) for d in others if d.target != own and d.kind != "view"}

    def _column(self, definition: Definition) -> dict[str, Any]:
        _known_functions(definition, sqlglot.parse_one(definition.sql, dialect=DIALECT))
        dataset = tables.open_table(self._location, definition.table)
        known = [c for _, c in definition.reads] if dataset is None else dataset.schema.names
        expression = analyse(
            definition.sql, definition.table, [*known, *(c for _, c in definition.reads)], definition.type
        )
        calls = sorted(expression.calls, key=lambda c: c.output)
        used = [
            {"arguments": [_lower(a) for a in c.arguments], **_function(functions()[c.function], dict(c.constants))}
            for c in calls
        ]
        return {"sql": _lower(expression.sql), "functions": used}

    def _view(self, definition: Definition) -> dict[str, Any]:
        expanded = sqlglot.parse_one(self._expand(definition.sql), dialect=DIALECT)
        _known_functions(definition, expanded)
        return {
            "sql": _lower(definition.sql),
            "plain": to_sql(expanded),
            "key": list(definition.key),
            "functions": [_function(f, constants) for f, constants in called(expanded)],
            "lists": {name: _words(name) for name in _lists(expanded)},
        }

    def _index(self, definition: Definition) -> dict[str, Any]:
        return {"column": definition.sql, "options": dict(definition.options)}


def _function(function: Function, constants: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": function.name,
        "version": function.version,
        "returns": str(function.type(constants)),
        "constants": dict(constants),
        "weights": function.digest(constants),
    }


def _known_functions(definition: Definition, tree: exp.Expr) -> None:
    """Raise where a function is called that nobody declared here: without it there is no telling what is stale.

    Raises:
        NotFoundError: It names the function.
    """
    for name in sorted({str(n.name).lower() for n in tree.find_all(exp.Anonymous)} - callable_names()):
        if _is_unknown(name):
            raise NotFoundError(
                f"{definition.target} calls {name}(), which is not declared here{did_you_mean(name, callable_names())}",
                code="E1046",
                hint="name the file that declares it: --udfs FILE, in Python udfs=(FILE,)",
            )


@lru_cache(maxsize=256)
def _is_unknown(name: str) -> bool:
    """Tell whether DuckDB has no function of this name either."""
    import duckdb

    with duckdb.connect() as connection:
        listed = "SELECT count(*) FROM duckdb_functions() WHERE lower(function_name) = ?"
        if connection.execute(listed, [name]).fetchall()[0][0]:
            return False
        try:
            connection.execute(f"SELECT {quoted(name)}()")
        except duckdb.CatalogException:
            return True
        except duckdb.Error:
            return False
    return False


def called(tree: exp.Expr) -> list[tuple[Function, Mapping[str, Any]]]:
    """Return calls of Python functions with their constants, in order of their text."""
    known = functions()
    found: dict[str, tuple[Function, Mapping[str, Any]]] = {}
    for node in tree.find_all(exp.Anonymous):
        function = known.get(str(node.name).lower())
        if function is not None:
            found[to_sql(node)] = (function, _constants(function, node))
    return [found[text] for text in sorted(found)]


def _constants(function: Function, node: exp.Anonymous) -> Mapping[str, Any]:
    bound = arguments.bind(function.name, [p.name for p in function.parameters], node.expressions)
    return {
        p.name: _constant(bound[p.name], f"{p.name!r} of {function.name}()") if p.name in bound else p.default
        for p in function.parameters
        if p.constant
    }


def _constant(node: exp.Expr, where: str) -> Any:
    """Return the value of a literal, and the text of a query for the one that it gives: what it reads are inputs of the view."""
    return to_sql(node) if isinstance(node.unnest(), exp.Query) else arguments.constant(node, where)


def _lists(tree: exp.Expr) -> Iterable[str]:
    return sorted({t.name for t in tree.find_all(exp.Table) if t.db == "lists"})


def _words(name: str) -> str:
    rows = lists.wordlist(name)
    return hashlib.sha256(json.dumps(rows.to_pylist(), sort_keys=True, default=str).encode()).hexdigest()[:16]


def _lower(sql: str) -> str:
    """Return SQL as text that is equal for equal statements."""
    tree = sqlglot.parse_one(sql, dialect=DIALECT)
    for node in tree.find_all(exp.Identifier):
        node.set("this", node.name.lower())
    for call in tree.find_all(exp.Anonymous):
        call.set("this", str(call.name).lower())
    return to_sql(tree)
