"""Tar shards as webdataset reads them: ``KEY.png``, ``KEY.txt`` and ``KEY.json`` stand together, the picture first.

A picture's bytes are those of the lake. One caption is ``.txt``; several are a list ``caption`` in ``.json``, as is one.
Further pictures of a row are ``KEY.COLUMN.png``. Members have no owner and no time: the same rows give the same bytes.
"""

from __future__ import annotations

import io
import tarfile
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from counterbalance.export import names, rows
from counterbalance.export.run import export as run
from counterbalance.export.shards import Limit, Samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.export.shards import Output


class Webdataset(Samples):
    """Write samples as members of tar files."""

    name = "webdataset"
    limit = Limit(bytes=500_000_000)
    pattern = "shard-{:05d}.tar"
    dots = False

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._tar: tarfile.TarFile | None = None

    def _archive(self) -> tarfile.TarFile:
        if self._tar is None:
            self._tar = tarfile.open(fileobj=self._open(), mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115 - closed with its shard
        return self._tar

    def _write(self, stem: str, picture: bytes, sample: rows.Sample, columns: rows.ColumnRoles) -> None:
        del columns
        for member, data in _members(stem, picture, sample):
            info = tarfile.TarInfo(member)
            info.size, info.mode = len(data), 0o644
            self._archive().addfile(info, io.BytesIO(data))

    def _finish(self) -> None:
        self._archive().close()
        super()._finish()
        self._tar = None


def _members(stem: str, picture: bytes, sample: rows.Sample) -> Iterator[tuple[str, bytes]]:
    yield f"{stem}.{names.ending(sample.key, picture).lower()}", picture
    for column, data in sample.others.items():
        yield f"{stem}.{column.lower().replace('.', '_').replace('/', '_')}.{names.ending('', data)}", data
    if len(sample.texts) == 1:
        yield f"{stem}.txt", sample.texts[0].encode()
    about: dict[str, Any] = dict(sample.meta)
    if sample.texts:
        about.setdefault("caption", sample.texts[0] if len(sample.texts) == 1 else list(sample.texts))
    yield f"{stem}.json", orjson.dumps(about)


export = partial(run, Webdataset)
