"""Parquet and Arrow files hold the very rows, whatever the batches were."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from counterbalance.shell import columnar
from counterbalance.shell.output import OutputOptions, Sink

TABLE = pa.table(
    {
        "i": list(range(1000)),
        "t": [None if i % 7 == 0 else f"caption {i}" for i in range(1000)],
        "b": [b"\x00\xff"] * 1000,
        "l": [[i, None] for i in range(1000)],
        "f": pa.array([float("nan"), 1.5] * 500, pa.float32()),
    }
)


def written(table, format_, chunk=None):
    stream = io.BytesIO()
    result = columnar.write(table.to_reader(max_chunksize=chunk), Sink(stream, OutputOptions(format_)))
    assert result.rows == table.num_rows
    return stream.getvalue()


@pytest.mark.parametrize("chunk", [None, 7, 1000])
def test_parquet(chunk):
    found = pq.ParquetFile(io.BytesIO(written(TABLE, "parquet", chunk)))
    assert found.metadata.num_row_groups == 1
    assert str(found.read().to_pylist()) == str(TABLE.to_pylist())
    assert found.schema_arrow.equals(TABLE.schema)


@pytest.mark.parametrize("chunk", [None, 7])
def test_arrow(chunk):
    found = pa.ipc.open_file(written(TABLE, "arrow", chunk)).read_all()
    assert str(found.to_pylist()) == str(TABLE.to_pylist())


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
def test_no_rows(format_):
    data = written(TABLE.slice(0, 0), format_)
    found = pq.read_table(io.BytesIO(data)) if format_ == "parquet" else pa.ipc.open_file(data).read_all()
    assert found.num_rows == 0
    assert found.schema.equals(TABLE.schema)


def test_row_groups_end():
    many = pa.table({"i": pa.array(range(300_000))})
    found = pq.ParquetFile(io.BytesIO(written(many, "parquet", 2048)))
    sizes = [found.metadata.row_group(n).num_rows for n in range(found.metadata.num_row_groups)]
    assert sum(sizes) == 300_000
    assert max(sizes) <= 140_000
    assert len(sizes) <= 4
