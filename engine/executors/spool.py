"""Results that are computed but not yet published: Arrow messages with checksums, appended to files in the lake's storage.

One folder a column, fingerprint and round of computing. Each task appends to a file of its own, batch by batch, so that a
killed worker loses the batch it was in and no other; a file that ends in the middle of a batch is read up to its last
whole one, and one that cannot be read, or holds anything else, is an error: rows are never lost in silence. On an object
store every batch is an object. A row is held with its *stamp*: the highest version among the row's own and those
its generated inputs were published on. A result counts only while the row still has that stamp.

Stamps, and what is said of failures, are mostly the same from row to row, and row ids are one after the other: files hold
them run-end encoded, ids as differences, so that little but the values is written.
"""

from __future__ import annotations

import secrets
import struct
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import StorageError, typed_line
from counterbalance.engine.store import enclosing
from counterbalance.engine.store.location import CLOSED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from counterbalance.engine.store.location import Location

ROOT: Final = "refresh"
ROOTS: Final = (ROOT, f"{CLOSED}/{ROOT}")
"""Folders of open and of closed results."""
SUFFIX: Final = ".arrows"
ROW: Final = "row_id"
STAMP: Final = "stamp"
VALUE: Final = "value"
KEY: Final = "key"
CODE: Final = "code"
MESSAGE: Final = "message"


def schema(value: pa.DataType) -> pa.Schema:
    """Return columns of a batch; ``key``, ``code`` and ``message`` are set where the row failed."""
    fields = [(ROW, pa.int64()), (STAMP, pa.int64()), (VALUE, value)]
    return pa.schema([*fields, (KEY, pa.string()), (CODE, pa.string()), (MESSAGE, pa.string())])


def file_name(fragment: int, first_row: int) -> str:
    """Return the first part of the names of files that hold results of rows of a fragment, from a row on."""
    return f"f{fragment:08}-{first_row}"


def fragment_of(file: str) -> int | None:
    """Return the number of the fragment that rows of a file were read from; ``None`` for a name of an earlier release.

    Example:
        >>> fragment_of(file_name(12, 4000) + "-5f3a91c0.arrows")
        12
    """
    return int(file[1 : file.index("-")]) if file.startswith("f") else None


_FRAME: Final = 16
"""Bytes before each message of a file."""
_RUNS: Final = (STAMP, KEY, CODE, MESSAGE)


def _packed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Pack it as it lies in a file."""
    names = batch.schema.names
    columns = dict(zip(names, batch.columns, strict=True))
    columns[ROW] = pa.array(np.diff(columns[ROW].to_numpy(), prepend=0))
    columns |= {name: pc.run_end_encode(columns[name]) for name in (ROW, *_RUNS)}
    return pa.RecordBatch.from_arrays(list(columns.values()), names=names)


def _unpacked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Unpack it as it was."""
    names = batch.schema.names
    columns = [_decoded(c) if pa.types.is_run_end_encoded(c.type) else c for c in batch.columns]
    if pa.types.is_run_end_encoded(batch.column(ROW).type):
        at = names.index(ROW)
        columns[at] = pa.array(np.cumsum(columns[at].to_numpy()))
    return pa.RecordBatch.from_arrays(columns, names=names)


def _decoded(runs: pa.RunEndEncodedArray) -> pa.Array:
    values = runs.values
    return _nulls(len(runs), values.type) if values.null_count == len(values) else pc.run_end_decode(runs)


@lru_cache(maxsize=8)
def _nulls(count: int, kind: pa.DataType) -> pa.Array:
    """Return one for all batches: fresh memory costs more than what is done with it."""
    return pa.nulls(count, kind)


class Spool:
    """A folder of results.

    Args:
        location: The lake.
        folder: Its path in the lake, such as ``refresh/captions.sentiment/3f2a…-9c41``.

    Attributes:
        cut: Names of files that ended in the middle of a batch when they were read.
    """

    def __init__(self, location: Location, folder: str) -> None:
        self._location, self.folder = location, folder
        self.cut: set[str] = set()
        self._system, root = location.files()
        self._root = f"{root}/{folder}"

    @property
    def token(self) -> str:
        """Return what tells this round of computing from another one of the same fingerprint."""
        return self.folder.rsplit("-", 1)[-1]

    def is_of(self, fingerprint: str) -> bool:
        """Tell whether it was computed by what has this fingerprint."""
        return self.folder.rsplit("/", 1)[-1].startswith(f"{fingerprint}-")

    def files(self) -> list[str]:
        """Return the names of its files, in order; none where there is no such folder.

        Raises:
            StorageError: The folder cannot be listed (``E6040``).
        """
        return [name for name in _listed(self._system, self._root) if name.endswith(SUFFIX)]

    def read(self, file: str) -> list[pa.RecordBatch]:
        """Return the whole batches of a file; a local one is mapped, not loaded.

        A file that ends in the middle of a batch, as a kill leaves it, is read up to there and named in ``cut``.

        Raises:
            StorageError: The file cannot be read (``E6040``), or is not a spool (``E6041``).
        """
        path = f"{self._root}/{file}"
        try:
            local = self._location.is_local
            data = pa.memory_map(path).read_buffer() if local else pa.py_buffer(self._system.cat_file(path))
        except Exception as error:  # object stores raise whatever they like
            raise _unreadable(path, error) from error
        try:
            messages, whole = _messages(data)
            form = pa.ipc.read_schema(messages[0]) if messages else None
            batches = [_unpacked(pa.ipc.read_record_batch(message, form)) for message in messages[1:]]
        except (pa.ArrowException, OSError, ValueError) as error:
            raise StorageError(
                f"{path} holds computed rows and is damaged: {typed_line(error)}",
                code="E6041",
                hint="refresh with --full to compute everything again, or remove this file to compute only its rows again",
            ) from error
        if not (whole and messages):
            self.cut.add(file)
        return batches

    def writer(self, name: str) -> Writer:
        """Return a fresh file that batches are appended to."""
        if self.folder.startswith(f"{CLOSED}/"):
            enclosing.make_folder(self._location, self.folder)
        else:
            self._system.makedirs(self._root, exist_ok=True)
        file = f"{name}-{secrets.token_hex(4)}"
        if self._location.is_local:
            return _File(f"{self._root}/{file}{SUFFIX}")
        return _Objects(self._system, f"{self._root}/{file}")

    def forget_failures(self, files: list[str]) -> None:
        """Keep only what succeeded in these files, so that what failed is computed again."""
        for file in files:
            batches = self.read(file)
            good = [b.filter(b.column(CODE).is_null()) for b in batches]
            if sum(map(len, good)) < sum(map(len, batches)):
                self._rewrite(file, good)

    def keep_rows(self, there: NDArray[np.int64]) -> None:
        """Keep only the results of these rows, in files that hold no others."""
        for file in self.files():
            batches = self.read(file)
            self._rewrite(file, [b.filter(pa.array(np.isin(b.column(ROW).to_numpy(), there))) for b in batches])

    def _rewrite(self, file: str, batches: list[pa.RecordBatch]) -> None:
        """Put a file of these batches in place of one."""
        writer = self.writer("-".join(file.split("-")[:2]))
        for batch in batches:
            if len(batch):
                writer.append(batch)
        writer.close()
        self._system.rm_file(f"{self._root}/{file}")

    def remove(self) -> None:
        """Let it go, with everything in it."""
        if self._system.exists(self._root):
            self._system.rm(self._root, recursive=True)


class Writer:
    """Appends batches; each is safe from a kill of this process once ``append`` has returned."""

    def append(self, batch: pa.RecordBatch) -> None:
        """Keep a batch."""
        raise NotImplementedError

    def close(self) -> None:
        """Take note that nothing more comes."""


class _File(Writer):
    """A local file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: Any = None

    def append(self, batch: pa.RecordBatch) -> None:
        packed = _packed(batch)
        first = self._file is None
        if first:
            self._file = pa.OSFile(self._path, "wb")  # unbuffered; a plain raw file may write a part and not say so
        for message in (*([packed.schema.serialize()] if first else ()), packed.serialize()):
            self._file.write(_head(message))
            self._file.write(message)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class _Objects(Writer):
    def __init__(self, system: Any, path: str) -> None:
        self._system, self._path = system, path
        self._count = 0

    def append(self, batch: pa.RecordBatch) -> None:
        packed = _packed(batch)
        data = b"".join(_head(m) + m.to_pybytes() for m in (packed.schema.serialize(), packed.serialize()))
        self._system.pipe_file(f"{self._path}-{self._count:06}{SUFFIX}", data)
        self._count += 1


class Done:
    """Which rows some batches hold, with which stamp; of a row that is there twice the higher stamp counts."""

    def __init__(self, batches: Sequence[pa.RecordBatch] = ()) -> None:
        nothing: NDArray[np.int64] = np.empty(0, np.int64)
        rows = np.concatenate([nothing, *(b.column(ROW).to_numpy() for b in batches)])
        stamps = np.concatenate([nothing, *(b.column(STAMP).to_numpy() for b in batches)])
        order = np.lexsort((stamps, rows))
        rows, stamps = rows[order], stamps[order]
        last = np.diff(rows, append=rows[-1:] + 1) != 0
        self._rows, self._stamps = rows[last], stamps[last]

    def __len__(self) -> int:
        return len(self._rows)

    def has(self, rows: NDArray[np.int64], stamps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these rows are held with this stamp."""
        if not len(self._rows):
            return np.zeros(len(rows), bool)
        at = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
        found: NDArray[np.bool_] = (self._rows[at] == rows) & (self._stamps[at] == stamps)
        return found


def rounds(location: Location, target: str, roots: Sequence[str] = ROOTS) -> Iterator[Spool]:
    """Yield the spools of a target that lie in the lake, whatever their fingerprint.

    Raises:
        StorageError: Their folder cannot be listed (``E6040``).
    """
    system, root = location.files()
    for place in roots:
        for name in _listed(system, f"{root}/{place}/{target}"):
            yield Spool(location, f"{place}/{target}/{name}")


def targets(location: Location, roots: Sequence[str] = ROOTS) -> list[str]:
    """Return everything that has spools in the lake.

    Raises:
        StorageError: Their folders cannot be listed (``E6040``).
    """
    system, root = location.files()
    return sorted({name for place in roots for name in _listed(system, f"{root}/{place}")})


def fresh(location: Location, target: str, fingerprint: str, *, closed: bool = False) -> Spool:
    """Return a new round for a fingerprint; of a closed column it lies in the closed folder."""
    return Spool(location, f"{ROOTS[closed]}/{target}/{fingerprint}-{secrets.token_hex(4)}")


def _listed(system: Any, folder: str) -> list[str]:
    """Return the names in a folder, sorted; none where there is no such folder, an error where nobody can tell."""
    system.invalidate_cache()
    try:
        return sorted(p.rstrip("/").rsplit("/", 1)[-1] for p in system.ls(folder, detail=False))
    except FileNotFoundError:
        return []
    except Exception as error:  # object stores raise whatever they like
        raise _unreadable(folder, error) from error


def _unreadable(path: str, error: Exception) -> StorageError:
    return StorageError(
        f"{path} holds computed rows and cannot be read: {typed_line(error)}",
        code="E6040",
        hint="nothing was removed or published; see to its permissions or the storage, then refresh again",
    )


def _head(message: pa.Buffer) -> bytes:
    """Return the bytes before a message: its length, and checksums of that and of the message."""
    length = struct.pack("<Q", len(message))
    return length + struct.pack("<II", zlib.crc32(length), zlib.crc32(message))


def _messages(data: pa.Buffer) -> tuple[list[pa.Buffer], bool]:
    """Return the whole messages of a file, and whether it ends with one.

    Raises:
        ValueError: A message, or what stands before it, is not as it was written.
    """
    messages, end = [], 0
    while len(data) - end >= _FRAME:
        length, own, checksum = struct.unpack_from("<QII", data, end)
        if own != zlib.crc32(memoryview(data)[end : end + 8]):
            raise ValueError(f"no batch begins at byte {end:,}")
        if end + _FRAME + length > len(data):
            break
        message = data.slice(end + _FRAME, length)
        if checksum != zlib.crc32(message):
            raise ValueError(f"the batch at byte {end:,} is not as it was written")
        messages.append(message)
        end += _FRAME + length
    return messages, end == len(data)
