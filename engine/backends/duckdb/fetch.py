"""Pictures that a result shows are read when its rows are known, a batch at a time: sorts, joins and limits move row numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from counterbalance.engine.store import pictures
from counterbalance.engine.store.tables import rows_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import lance


@dataclass(frozen=True, slots=True)
class Picture:
    """A column of a result that holds numbers of rows until the bytes of these rows are read.

    Args:
        dataset: The table they are rows of.
        column: Its column of bytes.
        name: What the result calls it.
    """

    dataset: lance.LanceDataset
    column: str
    name: str

    def at(self, rows: pa.Array, fill: Callable[[pa.RecordBatch], pa.RecordBatch]) -> pa.Array:
        """Return the bytes of rows; NULL where there is no row. Those that lie elsewhere are read by ``fill``."""
        stored = self.dataset.schema
        told = [stored.field(c) for c in pictures.columns([self.column], stored.names)]
        found = rows_at(self.dataset, rows, pa.schema([pa.field(self.column, pa.binary()), *told]))
        (batch,) = found.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=found.schema)]
        return fill(batch).column(0)


def described(schema: pa.Schema, late: Mapping[str, Picture]) -> pa.Schema:
    """Return the columns as they are once pictures are read."""
    return pa.schema([pa.field(late[f.name].name, pa.binary()) if f.name in late else f for f in schema])


def fetched(
    batch: pa.RecordBatch, late: Mapping[str, Picture], fill: Callable[[pa.RecordBatch], pa.RecordBatch]
) -> pa.RecordBatch:
    """Return a batch with the bytes of its pictures; those that lie elsewhere are read by ``fill``."""
    names = batch.schema.names
    arrays = [late[n].at(a, fill) if n in late else a for n, a in zip(names, batch.columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=described(batch.schema, late))
