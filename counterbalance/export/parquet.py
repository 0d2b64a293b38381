"""Parquet shards with all columns as they are, pictures as bytes; and the same as Hugging Face's ``datasets`` reads it."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from counterbalance.engine.errors import RequestError
from counterbalance.export import rows
from counterbalance.export.run import export as run
from counterbalance.export.shards import Limit, Records, Sharded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.export.shards import Output

_GROUP_ROWS: Final = 65_536
_GROUP_BYTES: Final = 32_000_000
_MOST_SPLITS: Final = 100


class Parquet(Sharded):
    """Write rows as Parquet; any rows will do."""

    name = "parquet"
    limit = Limit(bytes=500_000_000)
    pattern = "part-{:05d}.parquet"
    has_pictures = False

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._writer: pq.ParquetWriter | None = None
        self._schema: pa.Schema | None = None
        self._waiting: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch, columns: rows.ColumnRoles, first: int) -> None:
        """Write rows; a shard ends at the row that fills it."""
        del first
        shown = self.shown(_marked(batch, columns), columns)
        self._schema = shown.schema
        for part, size in self._cut(shown, _sizes(batch, columns)):
            self._waiting.append(part)
            self._rows += part.num_rows
            self._bytes += size
            full = self._output.limit.reached(self._rows, self._bytes)
            if full or sum(b.num_rows for b in self._waiting) >= _GROUP_ROWS or self._waits() >= _GROUP_BYTES:
                self._group()
            if full:
                self._finish()

    def records(self, columns: rows.ColumnRoles) -> list[Records]:
        """Return the columns as they are stored."""
        empty = pa.RecordBatch.from_pylist([], schema=columns.schema)
        schema = self.shown(_marked(empty, columns), columns).schema
        return [Records("rows", self.pattern.replace("{:05d}", "*"), {f.name: f.type for f in schema})]

    @classmethod
    def shown(cls, batch: pa.RecordBatch, columns: rows.ColumnRoles) -> pa.RecordBatch:
        """Return the rows as they are stored."""
        del columns
        return batch

    def _waits(self) -> int:
        return sum(int(b.nbytes) for b in self._waiting)

    def _cut(self, batch: pa.RecordBatch, sizes: Any) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield parts that each fit what is left of a shard, with their bytes."""
        at = 0
        while at < batch.num_rows:
            ends = np.cumsum(sizes[at:])
            reach = batch.num_rows - at
            if self._output.limit.rows is not None:
                reach = min(reach, self._output.limit.rows - self._rows)
            if self._output.limit.bytes is not None:
                reach = min(reach, int(np.searchsorted(ends, self._output.limit.bytes - self._bytes)) + 1)
            reach = max(1, reach)
            yield batch.slice(at, reach), int(ends[reach - 1])
            at += reach

    def _group(self) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._open(), self._schema, compression="zstd")
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
            self._waiting.clear()

    def _finish(self) -> None:
        self._group()  # without any row an empty one, which tells the columns
        if self._writer is not None:
            self._writer.close()
        super()._finish()
        self._writer = None


class HuggingFace(Parquet):
    """A dataset's folder: shards in ``data`` by split, pictures as the feature ``Image``, and a card that names the files.

    The split of a row is its text in the column ``split``; rows without one, and of queries without the column, are ``train``.
    """

    name = "hf"
    pattern = "data/train-{:05d}.parquet"
    has_card = True

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._splits: dict[str, _Split] = {}

    def add(self, batch: pa.RecordBatch, columns: rows.ColumnRoles, first: int) -> None:
        """Write each row to its split.

        Raises:
            RequestError: There are too many splits (E3685).
        """
        names = _splits(batch)
        if names is None:
            super().add(batch, columns, first)
            return
        for name in pc.unique(names).to_pylist():
            if name not in self._splits:
                if len(self._splits) == _MOST_SPLITS:
                    text = f"the column 'split' has more than {_MOST_SPLITS} texts, each of which would be a split"
                    raise RequestError(text, code="E3685", hint="leave it out of the query, or give it another name")
                self._splits[name] = _Split(self._output, name)
            self._splits[name].add(batch.filter(pc.equal(names, name)), columns, first)

    def close(self) -> None:
        """Finish the last shard of each split; there is always one."""
        for split in self._splits.values():
            split.close()
        super().close()

    @classmethod
    def shown(cls, batch: pa.RecordBatch, columns: rows.ColumnRoles) -> pa.RecordBatch:
        """Return pictures as structs of bytes and path, which is what ``datasets.Image`` stores."""
        arrays = [
            _image(a) if n in columns.pictures else a for n, a in zip(batch.schema.names, batch.columns, strict=True)
        ]
        features = {n: {"_type": "Image"} for n in columns.pictures}
        schema = pa.schema([pa.field(n, a.type) for n, a in zip(batch.schema.names, arrays, strict=True)])
        about = {"huggingface": json.dumps({"info": {"features": features}})}
        return pa.RecordBatch.from_arrays(arrays, schema=schema.with_metadata(about))


class _Split(HuggingFace):
    """Write the rows of one split, whose shards are numbered by themselves."""

    def __init__(self, output: Output, split: str) -> None:
        super().__init__(output)
        self._split, self._done = split, 0

    def add(self, batch: pa.RecordBatch, columns: rows.ColumnRoles, first: int) -> None:
        Parquet.add(self, batch, columns, first)

    def close(self) -> None:
        if self._rows:
            self._finish()

    @property
    def _shard(self) -> str:
        return f"data/{self._split}-{self._done:05d}.parquet"

    def _finish(self) -> None:
        super()._finish()
        self._done += 1


def _splits(batch: pa.RecordBatch) -> pa.Array | None:
    """Return the split of each row as a name that Hugging Face takes; none of rows that have no text of that name."""
    place = batch.schema.get_field_index("split")
    if not batch.num_rows or place < 0:
        return None
    texts = batch.column(place)
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return None
    lower = pc.utf8_lower(texts.cast(pa.string()))  # on some file systems Test and test are one file
    named = pc.replace_substring_regex(lower, r"[^0-9a-z_]+", "_")
    return pc.if_else(pc.is_in(pc.fill_null(named, ""), pa.array(["", "all"])), "train", named)


def _image(array: pa.Array) -> pa.Array:
    paths = pa.nulls(len(array), pa.string())
    return pa.StructArray.from_arrays([array.cast(pa.binary()), paths], ["bytes", "path"], mask=array.is_null())


def _marked(batch: pa.RecordBatch, columns: rows.ColumnRoles) -> pa.RecordBatch:
    if not columns.mark or columns.picture is None:
        return batch
    said = [p is not None and rows.says_synthetic(p) for p in batch.column(columns.picture).to_pylist()]
    return batch.append_column(rows.SYNTHETIC, pa.array(said, pa.bool_()))


def _sizes(batch: pa.RecordBatch, columns: rows.ColumnRoles) -> Any:
    """Return bytes of each row: its pictures, and its share of the rest."""
    pictures = [
        pc.fill_null(pc.binary_length(batch.column(n)), 0).to_numpy().astype(np.int64) for n in columns.pictures
    ]
    rest = sum(int(batch.column(n).nbytes) for n in batch.schema.names if n not in columns.pictures)
    share = np.full(batch.num_rows, rest // max(1, batch.num_rows), dtype=np.int64)
    return sum(pictures, share)


export = partial(run, Parquet)
export_hf = partial(run, HuggingFace)
