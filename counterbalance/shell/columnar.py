"""Parquet and Arrow files, written a row group at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.shell.output import Written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.shell.output import Sink

_GROUP_ROWS: Final = 131_072
_GROUP_BYTES: Final = 64 << 20


def write(reader: pa.RecordBatchReader, sink: Sink) -> Written:
    """Write a Parquet file (zstd) or an Arrow IPC file."""
    written = Written()
    with _open(reader.schema, sink) as writer:
        for group in _groups(reader):
            writer.write_table(group, _GROUP_ROWS)
            written.rows += group.num_rows
    return written


def _open(schema: pa.Schema, sink: Sink) -> Any:
    if sink.options.format == "arrow":
        return pa.ipc.new_file(pa.PythonFile(sink.stream, mode="w"), schema)
    import pyarrow.parquet as pq

    return pq.ParquetWriter(pa.PythonFile(sink.stream, mode="w"), schema, compression="zstd")


def _groups(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Yield batches gathered into tables of a row group's size; an engine's own batches are much smaller."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in reader:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield pa.Table.from_batches(held, reader.schema)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held, reader.schema)
