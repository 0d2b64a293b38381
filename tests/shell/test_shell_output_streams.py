"""No format holds a whole result: the first rows are written long before the last are read."""

from __future__ import annotations

import pyarrow as pa
import pytest
from repeats import again

from counterbalance.shell.output import FORMATS, OutputOptions, write

BATCHES = 40
ROWS = 8192
FEW = 1024
"""Rows of a batch for formats that are slow to write."""


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("format_", "rows"), [*((f, FEW if f == "xlsx" else ROWS) for f in FORMATS), *again(("xlsx", ROWS))]
)
def test_streaming(format_, rows, tmp_path):
    path = tmp_path / "out"
    sizes = []

    def batches():
        for number in range(BATCHES):
            (part,) = tmp_path.glob(".out.*.part")
            sizes.append(part.stat().st_size)
            values = pa.array(range(number * rows, (number + 1) * rows))
            yield pa.record_batch({"i": values, "t": values.cast(pa.string())})

    schema = pa.schema([("i", pa.int64()), ("t", pa.string())])
    held = pa.total_allocated_bytes()
    written = write(pa.RecordBatchReader.from_batches(schema, batches()), OutputOptions(format_, path))
    assert written.rows == BATCHES * rows
    assert sizes[0] == 0
    assert sizes[BATCHES - 1] > 0.3 * path.stat().st_size or format_ == "xlsx"  # whose rows wait in temporary files
    assert pa.total_allocated_bytes() - held < 20e6
