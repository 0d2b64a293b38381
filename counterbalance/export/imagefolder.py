"""A folder of pictures with ``metadata.jsonl``, as Hugging Face's imagefolder reads it; of shards, a folder each.

A picture's file is its key with the ending that fits. Metadata is JSON, a line a picture: no program takes a caption that
begins with ``=`` for a formula, and types stay.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import orjson

from counterbalance.export import names, rows
from counterbalance.export.limits import Limit
from counterbalance.export.run import export as run

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from counterbalance.export.run import Output

METADATA = "metadata.jsonl"


class Imagefolder:
    """See the module."""

    name: ClassVar[str] = "imagefolder"
    limit: ClassVar[Limit] = Limit()

    def __init__(self, output: Output) -> None:
        self._output, self._once = output, names.Once()
        self._lines: BinaryIO | None = None
        self._rows = self._bytes = 0

    @staticmethod
    def statements(what: str) -> list[str]:
        """One query."""
        return [rows.query_of(what)]

    @staticmethod
    def check(columns: Sequence[rows.Columns], limit: Limit) -> None:
        """Pictures are needed."""
        del limit
        columns[0].needs_picture("imagefolder")

    def add(self, batch: pa.RecordBatch, columns: rows.Columns, first: int) -> None:
        """Write pictures and their lines."""
        for sample in rows.samples(batch, columns, first):
            if sample.picture is None:
                self._output.skipped += 1
                continue
            stem = names.stem(sample.key)
            self._once.check(stem)
            file = f"{stem}.{names.ending(sample.key, sample.picture)}"
            self._opened().write(orjson.dumps(_line(file, sample, columns)) + b"\n")
            self._write(file, sample.picture)
            for column, data in sample.others.items():
                self._write(f"{stem}.{column}.{names.ending('', data)}", data)
            self._rows += 1
            if self._output.limit.reached(self._rows, self._bytes):
                self._finish()

    def close(self) -> None:
        """Write the last metadata."""
        if self._lines is not None or not self._output.shards:
            self._opened()
            self._finish()

    @property
    def _shard(self) -> str:
        """Its folder; empty where all is one."""
        return "" if self._output.limit == Limit() else f"shard-{len(self._output.shards):05d}"

    def _path(self, name: str) -> str:
        return f"{self._shard}/{name}" if self._shard else name

    def _opened(self) -> BinaryIO:
        if self._lines is None:
            self._lines = self._output.folder.open(self._path(METADATA))
        return self._lines

    def _write(self, file: str, data: bytes) -> None:
        path = self._path(file)
        self._output.folder.draft(path).write_bytes(data)
        if not self._shard:
            self._output.folder.publish(path)
        self._bytes += len(data)

    def _finish(self) -> None:
        self._opened().close()
        self._output.folder.publish(self._shard or METADATA)
        self._output.shard(self._shard or METADATA, self._rows, self._bytes)
        self._lines, self._rows, self._bytes = None, 0, 0


def _line(file: str, sample: rows.Sample, columns: rows.Columns) -> dict[str, Any]:
    """What is said of a picture; the key is said by its file."""
    said: dict[str, Any] = {"file_name": file}
    if columns.text is not None:
        said[columns.text] = rows.plain(sample.row[columns.text])
    for column in columns.pictures[1:]:
        data = sample.others.get(column)
        said[f"{column}_file"] = f"{names.stem(sample.key)}.{column}.{names.ending('', data)}" if data else None
    return said | {n: v for n, v in sample.meta.items() if n not in {"key", "file_name"}}


export = partial(run, Imagefolder)
