"""Rows whose function failed, in ``meta.errors`` or its closed part: one row each, with the reason and how often it was tried."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog import meta
from counterbalance.engine.executors.worker import key_text
from counterbalance.engine.sql.parse import as_text
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import lance

    from counterbalance.engine.store.location import Location

_STORED: Final = (meta.stored("errors"), meta.stored("errors", closed=True))


def of_column(location: Location, table: str, column: str) -> pa.Table:
    """Return the failed rows of a generated column."""
    return read(location, where=_where(table, column))


def read(location: Location, *, columns: Sequence[str] | None = None, where: str | None = None) -> pa.Table:
    """Return failures of both parts of ``meta.errors``."""
    parts = (meta.read(location, "errors", columns=columns, closed=closed, where=where) for closed in (False, True))
    return pa.concat_tables(parts)


@dataclass(frozen=True, slots=True)
class Round:
    """What failures are of.

    Args:
        run_id: The run that publishes them.
        table: Table of the column.
        column: The column.
        fingerprint: What they were computed by; attempts are counted under the same one.
        token: The round of computing.
        closed: The column is closed, and so are its failures: keys of rows may hold labels.
    """

    run_id: str
    table: str
    column: str
    fingerprint: str
    token: str
    closed: bool = False


def record(location: Location, of: Round, known: pa.Table, failed: Iterable[tuple[str, str, str]]) -> None:
    """Keep failures; those of the same round that are there already are not doubled.

    Args:
        location: The lake.
        of: What they are of.
        known: The column's failures that are there.
        failed: Key, code and message.
    """
    ids = set(known["error_id"].to_pylist())
    columns = (known[c].to_pylist() for c in ("key", "attempts", "source"))
    attempts = {key: tries for key, tries, source in zip(*columns, strict=True) if source == of.fingerprint}
    rows: dict[int, dict[str, Any]] = {}
    for key, code, message in failed:
        identity = meta.identity(of.table, of.column, of.fingerprint, of.token, key)
        if identity not in ids:
            rows[identity] = {
                "error_id": identity,
                "run_id": of.run_id,
                "at": meta.now(),
                "table_name": of.table,
                "column_name": of.column,
                "key": key,
                "source": of.fingerprint,
                "position": of.token,
                "code": code,
                "message": message,
                "attempts": attempts.get(key, 0) + 1,
            }
    if rows:
        meta.write(location, "errors", list(rows.values()), closed=of.closed)


def forget(location: Location, errors: pa.Table) -> None:
    """Remove rows of ``meta.errors``."""
    ids = errors["error_id"].to_pylist()
    for stored in _STORED:
        tables.delete_listed(location, stored, "error_id", ids)


def forget_gone(location: Location, errors: pa.Table, dataset: lance.LanceDataset, key: tuple[str, ...]) -> None:
    """Remove those rows of ``meta.errors`` whose row is not in its table any more."""
    keys = errors["key"].to_pylist()
    there = row_ids(dataset, key, keys)
    forget(location, errors.filter(pa.array([k not in there for k in keys], pa.bool_())))


def forget_column(location: Location, table: str, column: str) -> None:
    """Remove every failed row of a column."""
    for stored in _STORED:
        tables.delete(location, stored, _where(table, column))


def row_ids(dataset: lance.LanceDataset, key: tuple[str, ...], keys: Collection[str]) -> dict[str, int]:
    """Return the row id of every key that is there; keys as ``work.key_text`` writes them."""
    wanted = set(keys)
    first = pa.array(sorted({k if len(key) == 1 else str(json.loads(k)[0]) for k in wanted}), pa.string())
    found: dict[str, int] = {}
    for batch in dataset.scanner(columns=list(key), with_row_id=True).to_batches() if wanted else ():
        likely = pc.is_in(_as_text(batch.column(key[0])), value_set=first)
        part = batch.filter(likely)
        ids = part.column("_rowid").to_pylist()
        for row in range(part.num_rows):
            text = key_text(part, key, row)
            if text in wanted:
                found[text] = ids[row]
    return found


def _as_text(values: pa.Array) -> pa.Array:
    """Return values as their Python text."""
    if pa.types.is_string(values.type):
        return values
    if pa.types.is_integer(values.type):
        return values.cast(pa.string())
    return pa.array([str(v) for v in values.to_pylist()], pa.string())


def _where(table: str, column: str) -> str:
    return f"table_name = {as_text(table)} AND column_name = {as_text(column)}"
