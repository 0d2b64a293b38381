"""The lake as it will be once everything declared is refreshed: what a new definition is checked against.

Columns and views that were declared and never refreshed are there too, without rows, so that a script may declare a whole
chain first and refresh it in the end.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from counterbalance.engine.backends.duckdb.backend import DuckDB
from counterbalance.engine.catalog import access, closed, definitions, snapshot
from counterbalance.engine.catalog.pinned import pin
from counterbalance.engine.errors import NotFoundError, RefusedError
from counterbalance.engine.executors.worker import input_type
from counterbalance.engine.query_engine import QueryEngine
from counterbalance.engine.schema import BASE_TABLES, CODE_SUFFIX, STAMP_SUFFIX
from counterbalance.engine.sql.expression import Evaluator, analyse
from counterbalance.engine.sql.resolver import Resolver
from counterbalance.engine.sql.types import storable
from counterbalance.engine.store import pictures, tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.store.location import Location


CHECK_SECONDS: Final = 5.0
"""How long a query may run while something is declared."""


class Catalog:
    """Tables of a lake with their columns, declared ones included.

    Args:
        location: The lake.
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        self.version = tables.latest_version(location, "meta/definitions")
        history = definitions.history(location, self.version)
        self.definitions = definitions.declared(history)
        self.closed = closed.load(location, snapshot.newest(location), history=history)
        self._types: dict[str, dict[str, pa.DataType]] = {}

    @cached_property
    def stored(self) -> frozenset[str]:
        """Return names of the tables that are there."""
        return frozenset(t for t in snapshot.known_tables(self.location) if "/" not in t)

    def require(self, table: str) -> tuple[str, ...]:
        """Return the key of a base table or view.

        Raises:
            NotFoundError: There is no such table.
            RefusedError: It was made by another tool, and has no key that is known.
        """
        if table in BASE_TABLES:
            return (BASE_TABLES[table].key,)
        views = self.definitions.views()
        if table in views:
            return views[table].key
        if table in self.stored:
            raise RefusedError(
                f"{table} was made by another tool, and its key is not known",
                code="E3210",
                hint=f"declare a view of it: CREATE MATERIALIZED VIEW v WITH (key = '…') AS SELECT * FROM {table}",
            )
        raise NotFoundError.table(table, {*BASE_TABLES, *views})

    def types(self, table: str) -> dict[str, pa.DataType]:
        """Return the Arrow types of a table's columns as functions get them, generated ones included.

        Raises:
            NotFoundError: There is no such table.
        """
        if table not in self._types:
            found = self._types[table] = self._plain(table)
            for definition in self.definitions.order():
                if definition.kind == "column" and definition.table == table and definition.name not in found:
                    found[definition.name] = column_type(definition, found)
        return self._types[table]

    def _plain(self, table: str) -> dict[str, pa.DataType]:
        dataset = tables.open_table(self.location, table)
        if dataset is not None:
            names = set(dataset.schema.names)
            return {f.name: input_type(f) for f in dataset.schema if not _is_hidden(f.name, names)}
        if table in BASE_TABLES:
            return {f.name: f.type for f in BASE_TABLES[table].schema(blobs=True)}
        self.require(table)
        with queries_over(self, knows_all=True) as engine:
            schema = engine.sql(self.definitions.views()[table].sql).schema
        return {f.name: storable(f.type) for f in schema}

    def missing(self, table: str) -> bool:
        """Tell whether a refresh has yet to make the table, or a column of it."""
        dataset = tables.open_table(self.location, table)
        there = set() if dataset is None else set(dataset.schema.names)
        is_unmade_view = dataset is None and table in self.definitions.views()
        return is_unmade_view or not there >= self.definitions.columns(table).keys()

    def sensitive_columns(self, table: str) -> set[str]:
        """Return columns of a table that are shown only with a purpose; all of them in a sensitive view."""
        if table in self.closed.views:
            return set(self.types(table))
        return set(self.closed.hidden(table))


def column_type(definition: Definition, types: dict[str, pa.DataType]) -> pa.DataType:
    """Return the Arrow type of a generated column over columns of these types."""
    expression = analyse(definition.sql, definition.table, pictures.readable(list(types)), definition.type)
    evaluator = Evaluator(expression, {c: types.get(c, pa.binary()) for c in expression.columns})
    evaluator.close()
    return evaluator.type


def _is_hidden(name: str, names: set[str]) -> bool:
    return name.endswith(CODE_SUFFIX) or (name.endswith(STAMP_SUFFIX) and name.removesuffix(STAMP_SUFFIX) in names)


@contextmanager
def queries_over(catalog: Catalog, *, purpose: str | None = None, knows_all: bool = False) -> Iterator[QueryEngine]:
    """Give queries over a lake as it will be: relations that no refresh has made are there, without rows.

    Args:
        catalog: The lake.
        purpose: For which perceived labels are read.
        knows_all: Bind over closed columns without a purpose; for looking up types, never for reading rows.
    """
    access.check_purpose(purpose)
    main = pin(catalog.location, None)
    sensitive = knows_all or purpose is not None
    backend = DuckDB(timeout=CHECK_SECONDS, reusable=not sensitive)
    try:
        yield QueryEngine(
            Resolver(main, {}, sensitive=sensitive, declared=catalog), backend, purpose=purpose, tries=True
        )
    finally:
        backend.close()
        main.pin.release()
