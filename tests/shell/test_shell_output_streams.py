"""No format holds a whole result: the first rows are written long before the last are read."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.shell.output import FORMATS, OutputOptions, write

BATCHES = 40
ROWS = 8192


@pytest.mark.parametrize("format_", FORMATS)
def test_streaming(format_, tmp_path):
    path = tmp_path / "out"
    sizes = []

    def batches():
        for number in range(BATCHES):
            (part,) = tmp_path.glob(".out.*.part")
            sizes.append(part.stat().st_size)
            values = pa.array(range(number * ROWS, (number + 1) * ROWS))
            yield pa.record_batch({"i": values, "t": values.cast(pa.string())})

    schema = pa.schema([("i", pa.int64()), ("t", pa.string())])
    held = pa.total_allocated_bytes()
    written = write(pa.RecordBatchReader.from_batches(schema, batches()), OutputOptions(format_, path))
    assert written.rows == BATCHES * ROWS
    assert sizes[0] == 0
    assert sizes[BATCHES - 1] > 0.3 * path.stat().st_size
    assert pa.total_allocated_bytes() - held < 20e6
