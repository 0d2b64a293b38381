"""Bytes beside the rows that hold them: while a view's rows are compared, each picture lies there once and is named by its digest.

A view of requests repeats the bytes of a source for every edit that is wanted of it. Compared and sorted as they are, they
would be copied a hundred times; a digest takes 32 bytes, and bytes that are not written are never fetched.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import duckdb

ROWS: Final = 128
"""Rows of a batch that carries bytes."""
_TABLE: Final = "parked"


class Parked:
    """The bytes of some columns, in a table of a DuckDB that spills to disk.

    Args:
        connection: The DuckDB.
        schema: Of the rows.
        key: Columns that are left as they are.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, schema: pa.Schema, key: Collection[str]) -> None:
        self._connection = connection
        self.columns = [f.name for f in schema if f.name not in key and pa.types.is_binary(f.type)]
        self._known: set[bytes] = set()
        if self.columns:
            connection.execute(f"CREATE TABLE {_TABLE} (digest BLOB, bytes BLOB)")

    def take(self, batch: pa.RecordBatch, *, keep: bool = True) -> pa.RecordBatch:
        """Return the batch with digests where bytes were.

        Args:
            batch: Rows; their columns of bytes are binary.
            keep: Hold on to the bytes, so that ``give`` has them.
        """
        for name in self.columns:
            number = batch.schema.get_field_index(name)
            coded = batch.column(number).dictionary_encode()
            values = coded.dictionary.to_pylist()
            digests = [hashlib.sha256(value).digest() for value in values]
            if keep:
                self._keep(dict(zip(digests, values, strict=True)))
            column = pa.array(digests, pa.binary()).take(coded.indices)
            batch = batch.set_column(number, pa.field(name, pa.binary()), column)
        return batch

    def _keep(self, found: dict[bytes, bytes]) -> None:
        new = {digest: value for digest, value in found.items() if digest not in self._known}
        if new:
            rows = pa.table({"digest": pa.array(list(new), pa.binary()), "bytes": pa.array(new.values(), pa.binary())})
            self._connection.register("parking", rows)
            self._connection.execute(f"INSERT INTO {_TABLE} SELECT digest, bytes FROM parking")
            self._connection.unregister("parking")
            self._known |= new.keys()

    def give(self, batches: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """Yield the rows with their bytes again, a few at a time."""
        for batch in batches:
            if not self.columns:
                yield batch
                continue
            for start in range(0, batch.num_rows, ROWS):
                yield self._given(batch.slice(start, ROWS))

    def _given(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name in self.columns:
            number = batch.schema.get_field_index(name)
            coded = batch.column(number).dictionary_encode()
            bytes_of = self._fetched(coded.dictionary.to_pylist())
            column = pa.array(bytes_of, pa.binary()).take(coded.indices)
            batch = batch.set_column(number, pa.field(name, pa.binary()), column)
        return batch

    def _fetched(self, digests: list[bytes]) -> list[bytes]:
        self._connection.register("wanted", pa.table({"digest": pa.array(digests, pa.binary())}))
        found = dict(
            self._connection.sql(f"SELECT digest, bytes FROM {_TABLE} SEMI JOIN wanted USING (digest)").fetchall()
        )
        self._connection.unregister("wanted")
        return [found[digest] for digest in digests]
