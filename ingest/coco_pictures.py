"""The pictures of a COCO file: where they are, and their bytes when they are to be stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import CounterbalanceError, NotFoundError, RequestError, SourceError
from counterbalance.engine.images import MAX_BYTES, Header, ImageError, check, sha256
from counterbalance.engine.ingest_types import CHUNK_BYTES, Reject
from counterbalance.ingest.chunking import Piece
from counterbalance.ingest.files import file_in, file_system, leads_out, reading, uri_of
from counterbalance.ingest.lookahead import looked_ahead
from counterbalance.ingest.rows import Places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.engine.ingest_types import ReadOptions

_LOCAL: Final = frozenset({"file", "local", "memory"})
_MOST_FOLDERS: Final = 1_000
"""So many folders are listed to see which pictures are there; those of others count as found."""


def folder(options: ReadOptions, split: str | None) -> str | None:
    """Return the folder that file names are joined to: ``options.images``, or its sub-folder of the split's name.

    Raises:
        RequestError: If pictures are to be stored, but no folder is given (``E3002``).
        NotFoundError: If that folder does not exist (``E1006``).
    """
    if options.images is None:
        if options.store_images:
            raise RequestError("storing pictures needs their folder", code="E3002", hint="name it with --images DIR")
        return None
    fs, path = file_system(options.images, options.storage_options)
    if options.store_images or _is_near(fs):
        with reading(options.images):
            if not fs.isdir(path):
                raise NotFoundError(f"no folder of pictures at {options.images}", code="E1006", hint="check --images")
            if split and "/" not in split and fs.isdir(f"{path.rstrip('/')}/{split}"):
                path = f"{path.rstrip('/')}/{split}"
    return uri_of(fs, path).rstrip("/")


def _is_near(fs: Any) -> bool:
    """Return whether looking into it costs next to nothing: a folder of this machine, or memory."""
    return not _LOCAL.isdisjoint({fs.protocol} if isinstance(fs.protocol, str) else fs.protocol)


class Looked:
    """Describe which of the pictures that files name lie in their folder; folders of object stores are not listed.

    Args:
        options: For the file system.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._there: dict[str, frozenset[str] | None] = {}
        self._named: dict[str, set[int]] = {}
        self._absent: dict[str, dict[int, str]] = {}

    def add(self, part: Piece, base: str) -> None:
        """Note the pictures of some images whose ``uri`` lies below ``base``."""
        fs, _ = file_system(base, self._options.storage_options)
        if not _is_near(fs):
            return
        table = part.tables["images"]
        named, absent = self._named.setdefault(base, set()), self._absent.setdefault(base, {})
        for image, uri in zip(table["image_id"].to_pylist(), table["uri"].to_pylist(), strict=True):
            if uri is None or image in named:
                continue
            named.add(image)
            names = self._names(fs, uri.rpartition("/")[0])
            if names is not None and uri.rpartition("/")[2] not in names:
                absent[image] = uri

    def _names(self, fs: Any, folder: str) -> frozenset[str] | None:
        if folder not in self._there:
            if len(self._there) >= _MOST_FOLDERS:
                return None
            path = fs._strip_protocol(folder)  # noqa: SLF001 - fsspec's own way from a URI to its path
            with reading(folder):
                found = fs.ls(path, detail=False) if fs.isdir(path) else []
            self._there[folder] = frozenset(str(f).rstrip("/").rpartition("/")[2] for f in found)
        return self._there[folder]

    def check(self, base: str, source: str) -> None:
        """Refuse a folder that has none of the pictures named so far.

        Raises:
            SourceError: None of them is there (``E4024``).
        """
        absent = self._absent.get(base)
        if absent and len(absent) == len(self._named[base]):
            raise SourceError(
                f"none of the {len(absent):,} pictures that {source} names is in {base}, "
                f"such as {next(iter(absent.values()))}",
                code="E4024",
                hint="check --images (is it the folder of this split?), or leave it out: then uri is as the source has it",
            )

    def notes(self) -> list[str]:
        """Return what is missing, one line per folder."""
        return [
            f"{len(absent):,} of {len(self._named[base]):,} pictures were not found in {base}, "
            f"such as {next(iter(absent.values()))}"
            for base, absent in self._absent.items()
            if absent
        ]


def stored(part: Piece, source: str, base: str, options: ReadOptions, done: set[int]) -> Iterator[Piece]:
    """Yield the same images with their bytes and digests, in parts of at most ``CHUNK_BYTES`` or one picture.

    Images in ``done`` come without bytes, the others are added to it: several files of a split list the same images. An
    image whose picture is missing, too large or no picture is refused: ``missing_image``, ``bad_file_name``, and the
    codes of ``ImageError``. Sizes that the source does not say are those of the picture.
    """
    table, numbers = part.tables["images"], part.positions["images"].numbers
    uris, ids = table["uri"].to_pylist(), table["image_id"].to_pylist()
    start, size = 0, 0
    kept: list[tuple[int, bytes, Header, str]] = []
    again: list[int] = []
    rejects = list(part.rejects)
    read, bytes_read = part.rows_read - len(uris), part.bytes_read
    known = frozenset(i for i in range(len(ids)) if ids[i] in done)
    pictures = looked_ahead([u for i, u in enumerate(uris) if i not in known], lambda uri: _picture(uri, base, options))
    for i in range(len(uris)):
        found = None if i in known else next(pictures)[1]
        if found is None or ids[i] in done:
            again.append(i)
            continue
        if isinstance(found, ImageError):
            rejects.append(Reject(source, f"images[{numbers[i]}]", found.code, str(found)))
            continue
        data = found[0]
        if kept and size + len(data) > CHUNK_BYTES:
            yield _part(table, numbers, kept, rejects, read + i - start, bytes_read)
            start, size, kept, rejects, read, bytes_read = i, 0, [], [], 0, 0
        kept.append((i, *found))
        size += len(data)
        done.add(ids[i])
    yield _part(table, numbers, kept, rejects, read + len(uris) - start, bytes_read)
    if again:
        rows = np.array(again, dtype=np.int64)
        yield Piece({"images": table.take(rows)}, {"images": Places("images[{}]", numbers[rows])})


def _picture(uri: str | None, base: str, options: ReadOptions) -> tuple[bytes, Header, str] | ImageError:
    """Return the bytes of a picture, its header and its digest, or why it is refused. Called in threads."""
    try:
        data = _bytes(uri, base, options)
        return data, check(data), sha256(data)
    except ImageError as error:
        return error


def _bytes(uri: str | None, base: str, options: ReadOptions) -> bytes:
    if uri is None:
        raise ImageError("it has no file_name", "bad_file_name")
    file = file_in(base, uri.removeprefix(base + "/"), options.storage_options)
    if leads_out(file, [file_system(base, options.storage_options)[1]]):
        raise ImageError(f"{uri} is a link that leads out of {base}", "link_out")
    try:
        return file.read(MAX_BYTES)
    except NotFoundError as error:
        raise ImageError(f"no picture at {uri}", "missing_image") from error
    except CounterbalanceError as error:
        code = "too_big" if error.code == "E4002" else "unreadable_image"
        raise ImageError(error.message, code) from error


def _part(
    table: pa.Table,
    numbers: np.ndarray[tuple[int], np.dtype[np.int64]],
    kept: list[tuple[int, bytes, Header, str]],
    rejects: list[Reject],
    rows_read: int,
    bytes_read: int,
) -> Piece:
    rows = np.array([i for i, *_ in kept], dtype=np.int64)
    some = table.take(rows)
    for side, name in enumerate(("width", "height")):
        known = pa.array([(h.width, h.height)[side] for _, _, h, _ in kept], pa.int32())
        some = some.set_column(some.column_names.index(name), name, pc.coalesce(some[name], known))
    some = some.append_column("sha256", pa.array([digest for *_, digest in kept], pa.string()))
    some = some.append_column("image", pa.array([data for _, data, *_ in kept], pa.binary()))
    return Piece({"images": some}, {"images": Places("images[{}]", numbers[rows])}, rejects, rows_read, bytes_read)
