"""Pictures of images that are not stored in the lake: read from where ``uri`` says, if that is a folder that may be read.

A ``uri`` is text out of somebody's file. So a picture is read only from below a folder that this user has named: in
``COUNTERBALANCE_PICTURES`` (several as in ``PATH``), or as the source or ``--images`` of an ingest, which is remembered in
``$XDG_STATE_HOME/counterbalance/picture-folders``. It may lie elsewhere (``s3://bucket/val2017``, ``https://…``): nothing is
fetched but from an address that begins as a named one. Links that lead out of a folder are not followed. One that is gone, or is no
longer of the size or digest that its row tells, is an error of its row, in a query NULL with a note; any other ``uri`` is
an image without a picture.

A table whose rows say which image they are of, and its digest (``image_id``, ``sha256``), needs no copy of the picture:
functions over ``image`` get that of ``images``. The digest makes its rows change with the picture.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import StorageError
from counterbalance.engine.images import MAX_BYTES, ImageError, read_header, sha256
from counterbalance.engine.schema import IMAGES, PICTURES
from counterbalance.engine.store import credentials
from counterbalance.engine.store.location import open_store

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import lance
    from numpy.typing import NDArray

VARIABLE: Final = "COUNTERBALANCE_PICTURES"
HELP: Final = (
    f"ingest once more with --images FOLDER, or name the folder of their files in {VARIABLE}; "
    "those of shards and tables with --store-images"
)
"""What to do where there are none."""
_OF_NAMES: Final = (
    "their names say no folder; ingest once more with --images FOLDER, a table of captions into another lake"
)
_LONGEST: Final = 100
_OF_ADDRESSES: Final = (
    f"nothing is fetched but from what {VARIABLE} names, such as the address of their folder; or download them, such as by "
    "img2dataset, and ingest what it writes"
)
TOLD: Final = "a picture cannot be read: "
"""Begins what is said of one."""
_FACTS: Final = ("uri", "width", "height", "sha256")
"""Columns of ``images`` that say where a picture is, and what it was."""
_THREADS: Final = 8
_PATIENCE: Final = 15
"""Seconds in which a server must say something."""
_LOOKED_AT: Final = 100
"""Rows of which one has a picture that may be read, or none is taken to have one."""
_FOLDER: Final = re.compile(rf"(?:\w[\w+.-]*://[^/:]*(?::\d+)?)?[^{re.escape(os.pathsep)}]*")
"""A folder of a list with colons between them, which addresses have, too: ``/data:https://example.org:8080/val:s3://bucket``."""
_IMAGE: Final = "image"
_BY_KEY: Final = (IMAGES.key, "sha256")
"""Columns of a table whose pictures are read by key."""


def are_by_key(stored: Collection[str]) -> bool:
    """Tell whether a table with these columns holds no pictures, and says in every row which of ``images`` is meant.

    Example:
        >>> are_by_key(["edit_id", "image_id", "sha256", "prompt"]), are_by_key(["image_id", "sha256", "image"])
        (True, False)
    """
    return set(_BY_KEY) <= set(stored) and _IMAGE not in stored


def readable(stored: Sequence[str]) -> list[str]:
    """Return the columns that an expression over a table may read: its own, and ``image`` where pictures are read by key."""
    return [*stored, _IMAGE] if are_by_key(stored) else list(stored)


class ByKey:
    """Pictures of ``images`` for the rows of another table.

    Args:
        images: That table.
    """

    columns: Final = _BY_KEY
    """What the rows must have."""

    def __init__(self, images: lance.LanceDataset) -> None:
        self._images = images
        self._places: dict[int, int | None] = {}

    def expect(self, ids: pa.Array | pa.ChunkedArray) -> None:
        """Look up where these images lie, in one pass over the keys; forgets those before."""
        wanted = np.unique(pc.drop_null(ids).to_numpy(zero_copy_only=False))
        found = dict(zip(*places(self._images, IMAGES.key, wanted), strict=True))
        self._places = {int(i): found.get(int(i)) for i in wanted}

    def fill(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[int, ImageError]]:
        """Return rows with a column ``image``; and by position, why one could not be read, as ``fill`` says it."""
        ids, digests = (rows.column(c).to_pylist() for c in _BY_KEY)
        if not {i for i in ids if i is not None} <= self._places.keys():
            self.expect(rows.column(IMAGES.key))
        found = self._read({i for i in ids if i is not None})
        images: list[bytes | None] = []
        errors: dict[int, ImageError] = {}
        for row, (image, digest) in enumerate(zip(ids, digests, strict=True)):
            data, known = found.get(image, (None, None))
            if image not in found and image is not None:
                data = ImageError(f"there is no image {image} in the lake", "missing_picture")
            elif data is not None and known != digest:
                data = ImageError(
                    f"sha256 is not that of image {image}: refresh the view, if it takes it from images",
                    "changed_picture",
                )
            if isinstance(data, ImageError):
                errors[row], data = data, None
            images.append(data)
        return rows.append_column(pa.field(_IMAGE, pa.binary()), pa.array(images, pa.binary())), errors

    def _read(self, ids: Iterable[int]) -> dict[int, tuple[bytes | ImageError | None, str | None]]:
        """Return picture and digest by key."""
        rows = ", ".join(str(place) for i in ids if (place := self._places[i]) is not None)
        if not rows:
            return {}
        read: dict[int, tuple[bytes | ImageError | None, str | None]] = {}
        names = list(dict.fromkeys([IMAGES.key, _IMAGE, *_FACTS]))
        scanner = self._images.scanner(columns=names, filter=f"_rowid IN ({rows})", blob_handling="all_binary")
        for batch in scanner.to_batches():
            filled, errors = fill(batch)
            told = zip(*(filled.column(c).to_pylist() for c in (IMAGES.key, _IMAGE, "sha256")), strict=True)
            read |= {key: (errors.get(i, data), digest) for i, (key, data, digest) in enumerate(told)}
        return read


def places(dataset: lance.LanceDataset, key: str, ids: NDArray[np.int64]) -> tuple[list[int], list[int]]:
    """Return the keys that a table has of some that rise, and the row ids of these rows, by one pass over its keys."""
    if not len(ids):
        return [], []
    keys, rows = [], []
    for batch in dataset.scanner(columns=[key], with_row_id=True).to_batches():
        own = batch.column(key).to_numpy(zero_copy_only=False)
        hit = ids[np.minimum(np.searchsorted(ids, own), len(ids) - 1)] == own
        keys += own[hit].tolist()
        rows += batch.column("_rowid").to_numpy()[hit].tolist()
    return keys, rows


def folders() -> tuple[str, ...]:
    """Return folders that pictures may be read from, links resolved, and addresses of some."""
    named = [f.removeprefix("file://") for f in _FOLDER.findall(os.environ.get(VARIABLE, ""))]
    with contextlib.suppress(OSError, ValueError):
        named += _remembered().read_text(encoding="utf-8").splitlines()
    return tuple(dict.fromkeys(_resolved(f) for f in named if _is_address(f) or Path(f).is_absolute()))


def _is_address(place: str) -> bool:
    return "://" in place and not place.startswith("file://")


def _resolved(folder: str) -> str:
    return folder.rstrip("/") if _is_address(folder) else os.path.realpath(folder)


def remember(named: Iterable[str]) -> list[str]:
    """Note folders that the user has named, and return what must be said of it: nothing where it worked."""
    new = [f for f in map(_resolved, named) if f not in folders()]
    if not new:
        return []
    file = _remembered()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as lines:
            lines.writelines(f"{f}\n" for f in new if f.isprintable())
    except OSError as error:
        return [f"{file} cannot be written ({error}): set {VARIABLE}={new[0]} to have pictures read from there"]
    return []


def _remembered() -> Path:
    home = os.environ.get("XDG_STATE_HOME", "")
    state = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "state"
    return state / "counterbalance" / "picture-folders"


def may_lie_elsewhere(wanted: Sequence[str], stored: Sequence[str]) -> bool:
    """Tell whether some columns of a table are pictures of ``images``, for which ``fill`` is."""
    return not PICTURES.isdisjoint(wanted) and {IMAGES.key, *_FACTS} <= set(stored)


def columns(wanted: Sequence[str], stored: Sequence[str]) -> list[str]:
    """Return columns to read beside some of a table for ``fill`` to work."""
    return [c for c in _FACTS if c not in wanted] if may_lie_elsewhere(wanted, stored) else []


def are_there(dataset: lance.LanceDataset, wanted: Sequence[str], fragments: list[Any] | None = None) -> bool:
    """Tell whether a row has one that is stored, or one of the first few one that may be read.

    Args:
        dataset: The table.
        wanted: Its columns of pictures.
        fragments: Where to look; everywhere without any.
    """
    stored = " OR ".join(f"`{c}` IS NOT NULL" for c in wanted)
    if dataset.scanner(columns=[], filter=stored, with_row_id=True, limit=1, fragments=fragments).to_table().num_rows:
        return True
    if not may_lie_elsewhere(wanted, dataset.schema.names):
        return False
    told = dataset.scanner(columns=["uri"], filter="uri IS NOT NULL", limit=_LOOKED_AT, fragments=fragments)
    return any(map(is_readable, told.to_table()["uri"].to_pylist()))


def scan(
    dataset: lance.LanceDataset, wanted: Sequence[str], images: lance.LanceDataset | None = None, **how: Any
) -> Iterator[pa.RecordBatch]:
    """Yield columns of a table, with pictures that lie elsewhere or are read by key; NULL where one cannot be read.

    Args:
        dataset: The table.
        wanted: Its columns.
        images: The table of pictures that are read by key.
        how: As for Lance's ``scanner``: ``filter``, ``limit``, ``scan_in_order`` …
    """
    stored = dataset.schema.names
    if images is not None and _IMAGE in wanted and are_by_key(stored):
        names = list(dict.fromkeys([*(c for c in wanted if c != _IMAGE), *_BY_KEY]))
        lookup = ByKey(images)
        for batch in dataset.scanner(columns=names, **how).to_batches():
            yield lookup.fill(batch)[0].select(list(wanted))
        return
    told = columns(wanted, stored)
    for batch in dataset.scanner(columns=[*wanted, *told], blob_handling="all_binary", **how).to_batches():
        yield fill(batch)[0].select(list(wanted))


def fill(rows: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[int, ImageError]]:
    """Return rows with the pictures that are not stored, where they may be read; and by position, why one could not be.

    Args:
        rows: With ``image`` (binary) and the columns of ``columns``; as they are where these are missing.

    Returns:
        The rows in their columns, and what is wrong with each picture that should be there and is not.
    """
    names = rows.schema.names
    if not {*PICTURES, *_FACTS} <= set(names) or not rows.column("image").null_count:
        return rows, {}
    missing = rows.column("image").is_null().to_pylist()
    told = [rows.column(c).to_pylist() for c in _FACTS]
    may = folders()
    paths = {i: path for i, uri in enumerate(told[0]) if missing[i] and (path := _allowed(uri, may))}
    if not paths:
        return rows, {}
    for address in {path for path in paths.values() if _is_address(path)}:
        credentials.check(address, {})
    with ThreadPoolExecutor(_THREADS) as pool:
        read = pool.map(lambda i: _read(paths[i], *(column[i] for column in told[1:])), paths)
        found = dict(zip(paths, read, strict=True))
    images = rows.column("image").to_pylist()
    for i, data in found.items():
        images[i] = data if isinstance(data, bytes) else None
    place = names.index("image")
    filled = rows.set_column(place, rows.schema.field(place), pa.array(images, rows.schema.field(place).type))
    return filled, {i: why for i, why in found.items() if isinstance(why, ImageError)}


def is_readable(uri: str | None) -> bool:
    """Tell whether a ``uri`` lies in a folder that pictures may be read from."""
    return _allowed(uri, folders()) is not None


class Unread:
    """Count the pictures that a query could not read, which are NULL in it, and keep why of the first; one that may not be read, too."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._first = self._said = self._elsewhere = ""

    def fill(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows as ``fill`` gives them. A picture that is asked for again counts once, for its error names its file."""
        filled, errors = fill(rows)
        for why in map(str, errors.values()):
            self._first = self._first or why
            self._seen.add(hash(why))
        if not self._elsewhere and {"image", "uri"} <= set(filled.schema.names):
            lacks = pc.and_(filled.column("image").is_null(), filled.column("uri").is_valid())
            left = (i for i in pc.indices_nonzero(lacks).to_pylist() if i not in errors)
            self._elsewhere = next((str(filled.column("uri")[i]) for i in left), "")
        return filled

    def tell(self, notes: list[str]) -> None:
        """Put what is known by now into some notes, in the place of what was said before."""
        if self._elsewhere:
            place = self._elsewhere.removeprefix("file://")
            how = _OF_ADDRESSES if "://" in place else HELP if place.startswith("/") or "#" in place else _OF_NAMES
            shown = _public(self._elsewhere)
            shown = shown if len(shown) <= _LONGEST else shown[:_LONGEST] + " …"
            said = f"pictures that are neither stored nor in a folder that was named are NULL, such as {shown}: {how}"
            notes += [said] if said not in notes else []
        if not self._seen:
            return
        n = len(self._seen)
        told = f"{n:,} picture{'s' * (n > 1)} could not be read and {'are' if n > 1 else 'is'} NULL"
        said = f"{told}; the first: {self._first}"
        if self._said in notes:
            notes[notes.index(self._said)] = said
        else:
            notes.append(said)
        self._said = said


def _public(uri: str) -> str:
    """Return as much of a ``uri`` as anybody may read: no credentials.

    Example:
        >>> _public("https://me:secret@example.org/a.jpg?signature=secret"), _public("/data/a.jpg")
        ('https://example.org/a.jpg', '/data/a.jpg')
    """
    scheme, is_address, rest = uri.partition("://")
    if is_address:
        host, slash, path = re.split("[?#]", rest, maxsplit=1)[0].partition("/")
        return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
    return uri


def require(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows as ``fill`` gives them, where every picture that should be there can be read.

    Raises:
        StorageError: One cannot (E6046).
    """
    filled, errors = fill(rows)
    if errors:
        raise unread(str(next(iter(errors.values()))))
    return filled


def unread(why: str) -> StorageError:
    """Return the error about a picture that must be there; a stream of rows carries its text alone, which ``TOLD`` marks."""
    hint = "put it back, ingest its folder again, or leave the row out by its uri or key"
    return StorageError(why if why.startswith(TOLD) else f"{TOLD}{why}", code="E6046", hint=hint)


def _allowed(uri: str | None, may: Sequence[str]) -> str | None:
    """Return the path of a ``uri``, links resolved, or its address, if it lies in one of some folders.

    Example:
        >>> _allowed("s3://coco/val/1.jpg", ["s3://coco/val"]), _allowed("s3://coco/val/../1.jpg", ["s3://coco/val"])
        ('s3://coco/val/1.jpg', None)
    """
    path = (uri or "").removeprefix("file://")
    if _is_address(path):
        return path if any(_is_below(path, folder) for folder in may) else None
    if not may or not path.startswith("/") or "\0" in path:
        return None
    if "#" in path and Path(path.partition("#")[0]).is_file():  # a part of a shard or table: stored, or not read
        return None
    real = os.path.realpath(path)
    return real if any(real.startswith(folder.rstrip("/") + "/") for folder in may) else None


def _is_below(address: str, folder: str) -> bool:
    """Tell whether an address is that of a file below another one, however its parts are written; parts of files are not."""
    rest = unquote(address.removeprefix(f"{folder}/"))
    parts = re.split(r"[/\\?]", rest)
    is_plain = rest.isprintable() and "::" not in address and "#" not in address and not {".", ".."} & {*parts}
    return is_plain and _is_address(folder) and address.startswith(f"{folder}/")


def _bytes(path: str) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # a pipe would wait for its writer
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "no file")
        return file.read(MAX_BYTES + 1)


def _fetched(address: str) -> bytes:
    """Return what lies at an address.

    Raises:
        OSError: Nothing does, or it cannot be had.
        StorageError: Nothing says who asks (``E6016``), or what reads such addresses is not installed (``E6017``).
    """
    system, path = open_store(address, _waits(address) | credentials.completed(address))
    parts, left = list[bytes](), MAX_BYTES + 1
    try:
        with system.open(path, "rb") as file:
            while left and (part := file.read(left)):  # a stream gives what has come so far
                parts.append(part)
                left -= len(part)
    except Exception as error:  # clients of object stores have exceptions of their own, of no common kind
        raise OSError(_reason(error)) from error
    return b"".join(parts)


def _waits(address: str) -> dict[str, Any]:
    """Return what lets a server that says nothing be an error of its picture, and soon."""
    if address.startswith(("http://", "https://")):
        try:
            from aiohttp import ClientTimeout
        except ImportError:  # which opening the store tells, with what to install
            return {}
        return {
            "client_kwargs": {
                "timeout": ClientTimeout(total=4 * _PATIENCE, sock_connect=_PATIENCE, sock_read=_PATIENCE)
            }
        }
    if address.startswith("s3://"):
        return {
            "config_kwargs": {"connect_timeout": _PATIENCE, "read_timeout": _PATIENCE, "retries": {"max_attempts": 2}}
        }
    return {}


def _reason(error: BaseException) -> str:
    """Return what a client says went wrong, without the address, whose end may be a secret."""
    if isinstance(error, FileNotFoundError):  # what clients of HTTP make of any answer but a good one
        return _reason(error.__cause__) if error.__cause__ is not None else "nothing is there"
    status, message = getattr(error, "status", None), getattr(error, "message", None)
    if status is not None and message is not None:
        return f"the server answered {status} {message}".strip()
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _read(path: str, width: int | None, height: int | None, digest: str | None) -> bytes | ImageError:
    """Return the bytes of a picture, if it is the one that its row tells of. Called in threads."""
    try:
        data = _fetched(path) if _is_address(path) else _bytes(path)
        header = read_header(data)
    except OSError as error:
        why = (error.strerror or str(error)).replace(path, _public(path))
        return ImageError(f"no picture at {_public(path)}: {why}", "missing_picture")
    except ImageError as error:
        return ImageError(f"{_public(path)}: {error}", error.code)
    if digest is not None and sha256(data) != digest:
        return ImageError(f"{_public(path)} is another picture than the one that was ingested", "changed_picture")
    if None not in {width, height} and (header.width, header.height) != (width, height):
        message = (
            f"{_public(path)} has {header.width} x {header.height} pixels, and had {width} x {height}; ingest it again"
        )
        return ImageError(message, "changed_picture")
    return data
