"""A folder of pictures with ``metadata.jsonl``, as Hugging Face's imagefolder reads it; of shards, a folder each.

A picture's file is its key with the ending that fits. Metadata is JSON, a line a picture: no program takes a caption that
begins with ``=`` for a formula, and types stay.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import orjson
import pyarrow as pa

from counterbalance.export import names, rows
from counterbalance.export.run import export as run
from counterbalance.export.shards import Limit, Records, Samples

if TYPE_CHECKING:
    from collections.abc import Mapping

METADATA: Final = "metadata.jsonl"


class Imagefolder(Samples):
    """Write pictures as files, and a line of metadata for each."""

    name = "imagefolder"

    @property
    def _folder(self) -> str:
        """Return what stands before the names of files: the shard's folder, or nothing where all is one."""
        return "" if self._output.limit == Limit() else f"shard-{len(self._output.shards):05d}/"

    @property
    def _shard(self) -> str:
        return self._folder.rstrip("/") or METADATA

    def _open(self, name: str | None = None) -> BinaryIO:
        return super()._open(name or self._folder + METADATA)

    def records(self, columns: rows.ColumnRoles) -> list[Records]:
        """Return the columns of the metadata; the picture of a row is the file that it names."""
        kept = [columns.text, *columns.rest] if columns.text is not None else columns.rest
        told = {n: columns.schema.field(n).type for n in kept if n not in {"key", "file_name"}}
        others = {f"{column}_file": pa.string() for column in columns.pictures[1:]}
        files = METADATA if self._output.limit == Limit() else f"*/{METADATA}"
        return [Records("rows", files, {"file_name": pa.string(), **told, **others})]

    def _size(self) -> int:
        return self._bytes

    def _write(self, stem: str, picture: bytes, sample: rows.Sample, columns: rows.ColumnRoles) -> None:
        others = {c: (f"{stem}.{c}.{names.ending('', data)}", data) for c, data in sample.others.items()}
        file = f"{stem}.{names.ending(sample.key, picture)}"
        line = _line(file, {c: name for c, (name, _) in others.items()}, sample, columns)
        self._open().write(orjson.dumps(line) + b"\n")
        for name, data in [(file, picture), *others.values()]:
            self._output.folder.draft(self._folder + name).write_bytes(data)
            if not self._folder:
                self._output.folder.publish(name)
            self._bytes += len(data)


def _line(file: str, others: Mapping[str, str], sample: rows.Sample, columns: rows.ColumnRoles) -> dict[str, Any]:
    """Return the metadata of a picture; its key is told by its file."""
    line: dict[str, Any] = {"file_name": file}
    if columns.text is not None:
        line[columns.text] = rows.plain(sample.row[columns.text])
    line |= {f"{column}_file": others.get(column) for column in columns.pictures[1:]}
    return line | {n: v for n, v in sample.meta.items() if n not in {"key", "file_name"}}


export = partial(run, Imagefolder)
