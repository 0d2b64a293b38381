"""Rows whose function failed, in ``meta.errors``: one row each, with the reason and how often it was tried."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog import meta
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from counterbalance.engine.store.location import Location

_STORED: Final = "meta/errors"
_CHUNK: Final = 1_000


def of_column(location: Location, table: str, column: str) -> pa.Table:
    """The failed rows of a generated column."""
    dataset = tables.open_table(location, _STORED)
    if dataset is None:
        return meta.ERRORS.empty_table()
    where = f"table_name = '{_text(table)}' AND column_name = '{_text(column)}'"
    return dataset.to_table(filter=where)


def record(
    location: Location,
    run_id: str,
    table: str,
    column: str,
    fingerprint: str,
    token: str,
    failed: Iterable[tuple[str, str, str]],
) -> int:
    """Keep failures as (key, code, message); those of the same round that are there already are not doubled.

    Args:
        location: The lake.
        run_id: The run that publishes them.
        table: Table of the column.
        column: The column.
        fingerprint: What they were computed by; attempts are counted under the same one.
        token: The round of computing.
        failed: Key, code and message.
    """
    known = of_column(location, table, column)
    ids = set(known["error_id"].to_pylist())
    attempts = {
        key: tries
        for key, tries, source in zip(
            known["key"].to_pylist(), known["attempts"].to_pylist(), known["source"].to_pylist(), strict=True
        )
        if source == fingerprint
    }
    rows: dict[int, dict[str, Any]] = {}
    for key, code, message in failed:
        identity = _identity(table, column, fingerprint, token, key)
        if identity not in ids:
            rows[identity] = {
                "error_id": identity,
                "run_id": run_id,
                "at": meta.now(),
                "table_name": table,
                "column_name": column,
                "key": key,
                "source": fingerprint,
                "position": token,
                "code": code,
                "message": message,
                "attempts": attempts.get(key, 0) + 1,
            }
    if rows:
        meta.write(location, "errors", list(rows.values()))
    return len(rows)


def forget(location: Location, errors: pa.Table) -> None:
    """Remove rows of ``meta.errors``."""
    ids = errors["error_id"].to_pylist()
    for start in range(0, len(ids), _CHUNK):
        wanted = ", ".join(map(str, ids[start : start + _CHUNK]))
        tables.delete(location, _STORED, f"error_id IN ({wanted})")


def earlier(errors: pa.Table, token: str) -> pa.Table:
    """Those of other rounds than ``token``."""
    return errors.filter(pc.fill_null(pc.not_equal(errors["position"], token), fill_value=True))


def forget_column(location: Location, table: str, column: str) -> None:
    """Remove every failed row of a column."""
    if tables.open_table(location, _STORED) is not None:
        tables.delete(
            location, _STORED, f"table_name = '{_text(table)}' AND column_name = '{_text(column)}'"
        )


def row_ids(dataset: Any, key: tuple[str, ...], keys: Collection[str]) -> dict[str, int]:
    """Row id of every key that is there; keys as ``work.key_text`` writes them."""
    from counterbalance.engine.executors.work import key_text

    found: dict[str, int] = {}
    wanted = sorted(set(keys))
    for start in range(0, len(wanted), _CHUNK):
        part = set(wanted[start : start + _CHUNK])
        where = _where(dataset.schema.field(key[0]).type, key[0], part) if len(key) == 1 else None
        for batch in dataset.scanner(columns=list(key), filter=where, with_row_id=True).to_batches():
            ids = batch.column("_rowid").to_pylist()
            for row in range(batch.num_rows):
                text = key_text(batch, key, row)
                if text in part:
                    found[text] = ids[row]
    return found


def _where(kind: pa.DataType, name: str, keys: Collection[str]) -> str | None:
    """A filter for these keys, for the types whose text is their SQL."""
    if pa.types.is_integer(kind):
        return f"`{name}` IN ({', '.join(keys)})"
    if pa.types.is_string(kind):
        return f"`{name}` IN ({', '.join(chr(39) + _text(k) + chr(39) for k in keys)})"
    return None


def _identity(*parts: str) -> int:
    digest = hashlib.md5("\x1f".join(parts).encode(errors="replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little") & ((1 << 63) - 1)


def _text(value: str) -> str:
    return value.replace("'", "''")
