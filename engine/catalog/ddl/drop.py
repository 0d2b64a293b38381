"""Dropping columns, views and indexes; what stands on them is in the way, or goes first.

Stored things go before their definition: a kill in between leaves a definition that the next refresh computes again, and
never a stored thing that nobody declared. A reader that has pinned a dropped view can read it no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterbalance.engine.catalog import definitions
from counterbalance.engine.catalog.ddl.declaration import dependents, journaled, refuse_dependents
from counterbalance.engine.catalog.planning import Catalog
from counterbalance.engine.errors import NotFoundError, RefusedError, did_you_mean
from counterbalance.engine.executors import spool
from counterbalance.engine.refresh import failures
from counterbalance.engine.schema import STAMP_SUFFIX
from counterbalance.engine.search import indexes
from counterbalance.engine.store import columns, tables

if TYPE_CHECKING:
    from collections.abc import Collection

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.sql.statements import DropColumn, DropIndex, DropView
    from counterbalance.engine.store.location import Location
    from counterbalance.engine.write.journal import Writing


def drop_column(location: Location, statement: DropColumn) -> list[Definition]:
    """Drop a generated column; returns what was dropped, which is nothing for a missing one with IF EXISTS.

    Raises:
        NotFoundError: There is none of that name.
        RefusedError: It is not a generated column, or others read it.
        BusyError: Somebody else is writing.
    """
    catalog = Catalog(location)
    table, name = statement.table, statement.name
    known = catalog.definitions.columns(table)
    if name in known:
        command = f"ALTER TABLE {table} DROP COLUMN {name}"
        return _drop(catalog, known[name], f"{table}.{name}", command, cascade=statement.cascade)
    if statement.if_exists:
        return []
    catalog.require(table)
    if name in catalog.types(table):
        raise RefusedError(
            f"{table}.{name} is not a generated column and cannot be dropped",
            code="E3216",
            hint=f"generated: {', '.join(known) or 'none'}",
        )
    raise _missing(f"generated column {name!r} of {table}", name, known)


def drop_view(location: Location, statement: DropView) -> list[Definition]:
    """Drop a materialized view and its rows; as ``drop_column``.

    Raises:
        NotFoundError: There is none of that name.
        RefusedError: Others stand on it.
        BusyError: Somebody else is writing.
    """
    catalog = Catalog(location)
    known = catalog.definitions.views()
    if statement.name in known:
        name, command = f"view {statement.name}", f"DROP MATERIALIZED VIEW {statement.name}"
        return _drop(catalog, known[statement.name], name, command, cascade=statement.cascade)
    if statement.if_exists:
        return []
    raise _missing(f"materialized view {statement.name!r}", statement.name, known)


def drop_index(location: Location, statement: DropIndex) -> list[Definition]:
    """Drop an index; as ``drop_column``.

    Raises:
        NotFoundError: There is none of that name.
        BusyError: Somebody else is writing.
    """
    catalog = Catalog(location)
    known = catalog.definitions.indexes()
    if statement.name in known:
        name, command = f"index {statement.name}", f"DROP INDEX {statement.name}"
        return _drop(catalog, known[statement.name], name, command, cascade=False)
    if statement.if_exists:
        return []
    raise _missing(f"index {statement.name!r}", statement.name, known)


def _missing(what: str, name: str, known: Collection[str]) -> NotFoundError:
    hint = "declared: " + (", ".join(sorted(known)) or "none")
    return NotFoundError(f"no {what}{did_you_mean(name, known)}", code="E1034", hint=hint)


def _drop(catalog: Catalog, definition: Definition, what: str, command: str, *, cascade: bool) -> list[Definition]:
    others = dependents(catalog.definitions, definition)
    if not cascade:
        hint = f"{command} CASCADE drops them too, with all values that were computed; or drop them first"
        refuse_dependents(what, others, hint)
    gone = [*others, definition]
    views = {d.name for d in gone if d.kind == "view"}
    with journaled(catalog, definition.target, "dropped") as work:
        for one in gone:
            if one.kind == "view" or one.table not in views:
                _drop_stored(catalog.location, one, work)
            definitions.drop(catalog.location, one)
            if one.kind == "column":
                _forget(catalog.location, one)
    return gone


def _forget(location: Location, column: Definition) -> None:
    """Forget its failed rows, and results that were not published."""
    failures.forget_column(location, column.table, column.name)
    for old in spool.rounds(location, column.target):
        old.remove()


def _drop_stored(location: Location, definition: Definition, work: Writing) -> None:
    dataset = tables.open_table(location, definition.table)
    if dataset is None:
        return
    if definition.kind == "view":
        tables.drop(location, definition.name)
    elif definition.kind == "column":
        names = [definition.name, definition.name + STAMP_SUFFIX]
        work.committed(definition.table, columns.drop(location, definition.table, names))
    else:
        work.committed(definition.table, int(indexes.drop(dataset, definition.name)))
