"""Tar shards as webdataset reads them: ``KEY.png``, ``KEY.txt`` and ``KEY.json`` stand together, the picture first.

A picture's bytes are those of the lake. One caption is ``.txt``; several are a list ``caption`` in ``.json``, as is one.
Further pictures of a row are ``KEY.COLUMN.png``. Members have no owner and no time: the same rows give the same bytes.
"""

from __future__ import annotations

import io
import os
import tarfile
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import orjson

from counterbalance.export import names, rows
from counterbalance.export.limits import Limit
from counterbalance.export.run import export as run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from counterbalance.export.run import Output


class Webdataset:
    """See the module."""

    name: ClassVar[str] = "webdataset"
    limit: ClassVar[Limit] = Limit(bytes=500_000_000)

    def __init__(self, output: Output) -> None:
        self._output, self._once = output, names.Once()
        self._tar: tarfile.TarFile | None = None
        self._file: Any = None
        self._rows = 0

    @staticmethod
    def statements(what: str) -> list[str]:
        """One query."""
        return [rows.query_of(what)]

    @staticmethod
    def check(columns: Sequence[rows.Columns], limit: Limit) -> None:
        """Pictures are needed."""
        del limit
        columns[0].needs_picture("webdataset")

    def add(self, batch: pa.RecordBatch, columns: rows.Columns, first: int) -> None:
        """Write samples; a full shard is closed before the next sample."""
        for sample in rows.samples(batch, columns, first):
            if sample.picture is None:
                self._output.skipped += 1
                continue
            name = names.stem(sample.key, dots=False)
            self._once.check(name)
            tar = self._opened()
            for member, data in _members(name, sample):
                info = tarfile.TarInfo(member)
                info.size, info.mode = len(data), 0o644
                tar.addfile(info, io.BytesIO(data))
            self._rows += 1
            if self._output.limit.reached(self._rows, self._file.tell()):
                self._finish()

    def close(self) -> None:
        """Close the last shard; there is always one."""
        if self._tar is not None or not self._output.shards:
            self._opened()
            self._finish()

    @property
    def _shard(self) -> str:
        return f"shard-{len(self._output.shards):05d}.tar"

    def _opened(self) -> tarfile.TarFile:
        if self._tar is None:
            self._file = self._output.folder.open(self._shard)
            self._tar = tarfile.open(fileobj=self._file, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115 - closed with its shard
        return self._tar

    def _finish(self) -> None:
        self._opened().close()
        size = self._file.tell()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._output.folder.publish(self._shard)
        self._output.shard(self._shard, self._rows, size)
        self._tar, self._rows = None, 0


def _members(name: str, sample: rows.Sample) -> Iterator[tuple[str, bytes]]:
    yield f"{name}.{names.ending(sample.key, sample.picture or b'').lower()}", sample.picture or b""
    for column, data in sample.others.items():
        yield f"{name}.{column.lower().replace('.', '_').replace('/', '_')}.{names.ending('', data)}", data
    if len(sample.texts) == 1:
        yield f"{name}.txt", sample.texts[0].encode()
    said: dict[str, Any] = dict(sample.meta)
    if sample.texts:
        said.setdefault("caption", sample.texts[0] if len(sample.texts) == 1 else list(sample.texts))
    yield f"{name}.json", orjson.dumps(said)


export = partial(run, Webdataset)
