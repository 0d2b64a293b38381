"""The forms of exports: what each of them has in common, from the query to the shard that is full."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from counterbalance.engine import memory
from counterbalance.engine.errors import RequestError
from counterbalance.export import names, rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from counterbalance.export.folder import Folder


@dataclass(frozen=True, slots=True)
class Limit:
    """Rows or bytes of a shard; ``None`` for any number."""

    rows: int | None = None
    bytes: int | None = None

    def reached(self, rows: int, size: int) -> bool:
        """Return whether a shard with so many rows and bytes is full.

        Example:
            >>> Limit(rows=2).reached(2, 10), Limit(bytes=100).reached(2, 10), Limit().reached(9, 9)
            (True, False, False)
        """
        return (self.rows is not None and rows >= self.rows) or (self.bytes is not None and size >= self.bytes)


def parse_limit(text: str | int) -> Limit:
    """Read a limit as a user writes it.

    Args:
        text: Rows (``10000``) or bytes (``500MB``, ``1GiB``).

    Raises:
        RequestError: It is neither, or nothing (E3676).

    Example:
        >>> parse_limit("10000"), parse_limit("500MB")
        (Limit(rows=10000, bytes=None), Limit(rows=None, bytes=500000000))
    """
    written = str(text).strip()
    try:
        size = int(written) if written.isdecimal() else memory.parse(written)
    except ValueError:
        size = 0
    if size < 1:
        raise RequestError(
            f"{written!r} is not a size of a shard", code="E3676", hint="rows such as 10000, or bytes such as 500MB"
        )
    return Limit(rows=size) if written.isdecimal() else Limit(bytes=size)


@dataclass(frozen=True, slots=True)
class Records:
    """Say which files of an export hold rows, and where their columns are.

    Args:
        name: Of the rows.
        files: The files, as a pattern of names within the export, or several.
        columns: Type of each column; bytes, and structs of them, are pictures.
        path: In JSON, the list that the rows are in, as ``$.images[*]``.
    """

    name: str
    files: str | list[str]
    columns: Mapping[str, pa.DataType]
    path: str | None = None


@dataclass(slots=True)
class Output:
    """Collect what a form writes: where, within which limit, and what became of the rows."""

    folder: Folder
    limit: Limit
    rows: int = 0
    skipped: int = 0
    shards: list[dict[str, Any]] = field(default_factory=list)
    unread_masks: int = 0

    def shard(self, name: str, rows: int, size: int) -> None:
        """Note a shard that is whole."""
        self.shards.append({"name": name, "rows": rows, "bytes": size})
        self.rows += rows


class Form:
    """Write rows in one form: ``add`` for every batch, then ``close``."""

    name: ClassVar[str]
    limit: ClassVar[Limit] = Limit()
    """Of a shard, unless the user gives one."""
    has_pictures: ClassVar[bool] = True
    has_card: ClassVar[bool] = False
    """Whether Hugging Face's libraries read it, which look for a ``card``."""

    def __init__(self, output: Output) -> None:
        self._output = output

    @staticmethod
    def statements(what: str) -> list[str]:
        """Return the queries whose rows are written, one after the other."""
        return [rows.query_of(what)]

    @classmethod
    def check(cls, columns: Sequence[rows.ColumnRoles], limit: Limit) -> None:
        """Raise where rows with such columns cannot be written."""
        del limit
        if cls.has_pictures:
            columns[0].needs_picture(cls.name)

    def records(self, columns: rows.ColumnRoles) -> list[Records]:
        """Return what its files hold that reads as rows, for its description; nothing by default."""
        del columns
        return []

    def add(self, batch: pa.RecordBatch, columns: rows.ColumnRoles, first: int) -> None:
        """Write rows, of which ``first`` came before."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what is left."""
        raise NotImplementedError


class Sharded(Form):
    """Write rows to one shard after another, each a file."""

    pattern: ClassVar[str]
    """Name of a shard by its number."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._file: BinaryIO | None = None
        self._rows = self._bytes = 0

    def close(self) -> None:
        """Finish the last shard; there is always one."""
        if self._rows or not self._output.shards:
            self._finish()

    @property
    def _shard(self) -> str:
        return self.pattern.format(len(self._output.shards))

    def _open(self, name: str | None = None) -> BinaryIO:
        """Return the file of the shard that is being written."""
        if self._file is None:
            self._file = self._output.folder.open(name or self._shard)
        return self._file

    def _size(self) -> int:
        """Return the bytes of the shard so far."""
        return self._open().tell()

    def _finish(self) -> None:
        """Let the shard appear, whole."""
        file, size = self._open(), self._size()
        file.flush()
        os.fsync(file.fileno())
        file.close()
        self._output.folder.publish(self._shard)
        self._output.shard(self._shard, self._rows, size)
        self._file, self._rows, self._bytes = None, 0, 0


class Samples(Sharded):
    """Write a few files a row, named for its key; rows without a picture are left out."""

    dots: ClassVar[bool] = True
    """Whether names may hold dots."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._once = names.Once()

    def add(self, batch: pa.RecordBatch, columns: rows.ColumnRoles, first: int) -> None:
        """Write samples; a shard ends with the one that fills it."""
        for sample in rows.samples(batch, columns, first):
            if sample.picture is None:
                self._output.skipped += 1
                continue
            stem = names.stem(sample.key, dots=self.dots)
            self._once.check(stem)
            self._write(stem, sample.picture, sample, columns)
            self._rows += 1
            if self._output.limit.reached(self._rows, self._size()):
                self._finish()

    def _write(self, stem: str, picture: bytes, sample: rows.Sample, columns: rows.ColumnRoles) -> None:
        """Write one sample."""
        raise NotImplementedError
