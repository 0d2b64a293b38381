"""Indexes: declaring them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from counterbalance.engine.catalog import definitions, names
from counterbalance.engine.catalog.ddl.declaration import check_schedule, is_another, journaled
from counterbalance.engine.catalog.definitions import Definition
from counterbalance.engine.catalog.planning import Catalog
from counterbalance.engine.errors import SqlError
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.search.indexes import IndexSpec, validate

if TYPE_CHECKING:
    from counterbalance.engine.sql.statements import CreateIndex
    from counterbalance.engine.store.location import Location


def create_index(location: Location, statement: CreateIndex) -> Definition:
    """Declare an index: checked at once, built by the next refresh.

    The kind that is left out fits the column's type; full text (``fts``) is always asked for. The name that is left out is
    ``table_column_kind``.

    Raises:
        NotFoundError: No such table.
        RequestError: The column, kind or options do not fit, or the name is in use.
        BusyError: Somebody else is writing.
    """
    catalog = Catalog(location)
    catalog.require(statement.table)
    if len(statement.columns) != 1:
        raise SqlError("an index is on one column", code="E3178", hint="declare one for each column")
    spec = _spec(catalog, statement)
    name = statement.name or f"{statement.table}_{spec.column}_{spec.kind}".lower()
    new = Definition(
        "index",
        statement.table,
        name,
        spec.column,
        schedule=check_schedule(statement.options),
        options={"kind": spec.kind, **spec.options},
        reads=((statement.table, spec.column),),
        recipe=statement.recipe,
    )
    known = catalog.definitions.indexes().get(name)
    if known is not None and statement.if_not_exists:
        if (known.table, known.sql, dict(known.options)) == (new.table, new.sql, dict(new.options)):
            return known
        raise is_another(
            f"index {name}", f"column, kind or options, on {known.table} ({known.sql})", "take another name"
        )
    names.check_relation(catalog, name, "an index")
    with journaled(catalog, new.target, "declared"):
        definitions.declare(location, new)
    return new


def _spec(catalog: Catalog, statement: CreateIndex) -> IndexSpec:
    blobs = BASE_TABLES[statement.table].blobs if statement.table in BASE_TABLES else ()
    schema = pa.schema([(n, t) for n, t in catalog.types(statement.table).items() if n not in blobs])
    lower = {n.lower(): n for n in schema.names}
    column = lower.get(statement.columns[0].lower(), statement.columns[0])
    options = {k: v for k, v in statement.options.items() if k != "schedule"}
    return validate(IndexSpec(statement.name or "", statement.kind or "", column, options), schema)
