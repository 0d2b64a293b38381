"""A folder of pictures, laid out as Hugging Face's imagefolder: splits and classes as folders, metadata beside them.

The key of an image is its path within the folder. Folders called train, val, test … (also ``train2017``) are splits, where no
column ``split`` of the metadata says another.
Without metadata, and when there is more than one, the folder that holds a picture is its class: a label of attribute
``label``. With ``metadata.csv``, ``.jsonl`` or ``.parquet`` (column ``file_name``, relative to the metadata file), captions
come from its caption column, boxes from ``objects`` (``bbox`` as x, y, width, height, ``categories``), and every other
plain column is a label of the image, annotator ``metadata``, and so is one of lists or objects that ``keep`` names, as JSON. A text beside a picture that is
called like it (``1.txt`` of ``1.png``, as captioning tools write them) is its caption, unless it holds nothing but numbers, as
boxes of YOLO do.

Pictures stay where they are unless ``store_images`` is asked for; their headers are checked, and all of those that are
stored. Files that are not called like pictures are not looked at, and counted in a note, but for hidden ones; pictures of
other formats are refused, so that nobody misses them. So are pipes, sockets, devices and links that lead out of the folder
or nowhere, of which no byte is read, and names that are not UTF-8.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import CounterbalanceError, SourceError
from counterbalance.engine.images import (
    EXTENSIONS,
    MAX_BYTES,
    OTHER_PICTURES,
    Header,
    ImageError,
    check,
    read_file_header,
    sha256,
)
from counterbalance.engine.ingest_types import Chunk, Reject
from counterbalance.ingest import columns, foldermeta, hashing, ignored_options
from counterbalance.ingest.files import expand, file_system, leads_out, picture_folder, relative_name, source_of
from counterbalance.ingest.globs import is_glob, split_commas
from counterbalance.ingest.lookahead import looked_ahead
from counterbalance.ingest.name_parts import is_split
from counterbalance.ingest.picture_rows import Caption, Label, Picture, PictureRows
from counterbalance.ingest.rows import MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from counterbalance.engine.ingest_types import ReadOptions, Source
    from counterbalance.ingest.files import File

METADATA: Final = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
OUT: Final = ("link_out", "a symbolic link leads out of the folder; copy the file itself into it")
_TEXTS: Final = (".txt", ".caption")
_NUMBERS: Final = re.compile(r"[\d\s.,eE+-]*")
SUFFIXES: Final = (*(f".{e}" for e in sorted(EXTENSIONS | OTHER_PICTURES)), *METADATA)


def read(uri: str, options: ReadOptions, *, elsewhere: Collection[str] = ()) -> Source:
    """Return rows of ``images`` and, where there is metadata, of ``captions``, ``labels`` and ``detections``.

    Args:
        uri: Folder, or a glob of pictures.
        options: ``split``, ``store_images`` (default false), ``mapping`` (file_name, caption, objects, split to columns of the
            metadata), ``origin`` of captions and boxes (default ``"human"``), ``annotator`` (default ``"folder"`` or
            ``"metadata"``), ``limit`` (pictures).
        elsewhere: Addresses of files that other readers of the same source read.

    Raises:
        NotFoundError: If there is no picture, or no such column in ``mapping``.
        RequestError: If ``mapping`` names no field.
        SourceError: If a metadata file is not a table.
    """
    root = root_of(uri, options).rstrip("/")
    found = expand(uri, options.storage_options, recursive=True)
    shown = [f for f in found if "/." not in f.path.removeprefix(root)]
    files = [f for f in shown if not f.is_plain or f.name.lower().endswith(SUFFIXES)]
    pictures = [f for f in files if not f.is_plain or _ending(f) in EXTENSIONS | OTHER_PICTURES]
    if not pictures:
        there = f"; it holds {_some(shown)}" if shown else ""
        hint = "JPEG, PNG, WebP, GIF and BMP are read, by the ending of their names"
        raise SourceError(f"{uri} holds no pictures{there}", code="E4010", hint=hint)
    texts = [f for f in files if f.is_plain and f.name.lower() in METADATA]
    sharded = any(f.name.endswith("_stats.json") for f in shown)  # by img2dataset, whose folders are no classes
    beside = {} if sharded else _texts_beside(pictures, [f for f in shown if f.uri not in elsewhere])
    folder = _Folder(uri, root, pictures, options, classes=not (texts or sharded), texts=beside)
    metadata = [foldermeta.inspect(f, options) for f in texts if not folder.leaves(f)]
    chunks = _chunks(folder, [f for f in texts if folder.leaves(f)], metadata)
    notes = ignored_options.describe("imagefolder", options, *["keep"] * (not metadata), "images")
    for meta in metadata:
        folder.splits |= foldermeta.splits(meta, folder.key(meta.layout.file.path))
        notes += columns.left_out((), meta.left_out)
    others = (f for f in shown if f.is_plain and not f.name.lower().endswith(SUFFIXES))
    if beside:
        told = "one caption is" if len(beside) == 1 else f"{len(beside):,} captions are"
        notes.append(f"{told} looked for in texts called like a picture: {_some([*beside.values()])}")
    used = {*elsewhere, *(f.uri for f in beside.values())}
    if passed := [f for f in others if f.uri not in used]:
        told = "file is" if len(passed) == 1 else "files are"
        notes.append(f"{len(passed):,} {told} not called like a picture: {_some(passed)}")
    return replace(source_of(uri, files, chunks, notes), pictures=picture_folder(uri, options.storage_options))


def _texts_beside(pictures: Sequence[File], files: Sequence[File]) -> dict[str, File]:
    """Return the text that lies beside each picture under its name, by the path of the picture."""
    texts = {posixpath.splitext(f.path)[0]: f for f in files if f.is_plain and f.name.lower().endswith(_TEXTS)}
    named = ((p.path, texts.get(posixpath.splitext(p.path)[0])) for p in pictures)
    return {path: text for path, text in named if text is not None}


def _some(files: Sequence[File]) -> str:
    return ", ".join(f.name for f in files[:3]) + ", …" * (len(files) > 3)


def _chunks(folder: _Folder, strange: Sequence[File], metadata: Sequence[foldermeta.Meta]) -> Iterator[Chunk]:
    yield from folder.chunks()
    for file in strange:
        key = folder.key(file.path)
        yield Chunk(
            {},
            [Reject(folder.uri, key if relative_name(key) else repr(key), *OUT)],
            rows_read=1,
            bytes_read=file.size or 0,
        )
    for meta in metadata:
        yield from foldermeta.chunks(meta, folder.key(meta.layout.file.path), folder.status, folder.options)


def _ending(file: File) -> str:
    return file.name.lower().rpartition(".")[2]


def root_of(uri: str, options: ReadOptions) -> str:
    """Return the folder that keys are relative to: the one named, or what stands before the first wildcard."""
    fs, path = file_system(uri, options.storage_options)
    if fs.isdir(path):
        return str(path)
    fixed = path.split("/")[:-1]
    while fixed and any(is_glob(p) or "{" in p for p in fixed):
        fixed.pop()
    return "/".join(fixed)


def _folders(uri: str, options: ReadOptions) -> list[str]:
    """Return the folders that are named: one, or those of a list with commas."""
    fs, path = file_system(uri, options.storage_options)
    return [root_of(part, options) or "/" for part in ([uri] if fs.exists(path) else split_commas(uri))]


@dataclass(frozen=True, slots=True)
class Found:
    """What a picture file holds; its bytes and their digest where they are stored."""

    header: Header
    data: bytes | None
    digest: str | None


Refused = tuple[str, str, str]
"""Place, code and message."""


class _Folder:
    """The pictures of a folder; not thread-safe."""

    def __init__(
        self,
        uri: str,
        root: str,
        pictures: Sequence[File],
        options: ReadOptions,
        *,
        classes: bool,
        texts: Mapping[str, File],
    ) -> None:
        self.options = options
        self._texts = texts
        self.uri, self._root, self._files = uri, root, pictures
        self._homes = _folders(uri, options)
        self.status: dict[str, bool] = {}
        """Key to whether its picture was taken; keys beyond ``limit`` are not there."""
        self.splits: dict[str, str] = {}
        """Key to its split, where metadata says one."""
        names = {self._class(self.key(f.path)) for f in pictures} - {None} if classes else set()
        self._classes = names if len(names) > 1 else set()

    def key(self, path: str) -> str:
        """Return a path relative to the folder."""
        return path.removeprefix(self._root).lstrip("/")

    def leaves(self, file: File) -> bool:
        """Return whether a file is found through a link that leads out of the folder."""
        return leads_out(file, self._homes)

    def _class(self, key: str) -> str | None:
        folders = [p for p in key.split("/")[:-1] if not is_split(p)]
        return folders[-1] if folders else None

    def _split(self, key: str) -> str | None:
        found = [p for p in key.split("/")[:-1] if is_split(p)]
        return self.options.split or self.splits.get(key) or (found[0] if found else None)

    def chunks(self) -> Iterator[Chunk]:
        """Yield rows of ``images``, of ``captions`` of texts beside them, and of ``labels`` for classes."""
        rows = PictureRows(self.uri, self.uri, self.options.origin or "human", hashing.Seen())
        done = 0
        store = bool(self.options.store_images)

        def looked(file: File) -> tuple[Found | Refused, str | Refused]:
            return look(file, self.key(file.path), self._homes, store=store), self._text(file)

        for file, (found, text) in looked_ahead(self._files[: self.options.limit], looked):
            self._picture(file, found, text, rows)
            done += file.size or 0
            if rows.full:
                yield rows.flush(done)
                done = 0
        yield rows.flush(done)

    def _text(self, picture: File) -> str | Refused:
        """Return the text beside a picture, ``""`` where there is none; called in threads."""
        file = self._texts.get(picture.path)
        if file is None:
            return ""
        key = self.key(file.path)
        if leads_out(file, self._homes):
            return key, *OUT
        try:
            text = file.read(MAX_TEXT).decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            return key, "bad_utf8", "no UTF-8"
        except CounterbalanceError as error:
            return key, "unreadable", error.message
        return "" if _NUMBERS.fullmatch(text) else text

    def _picture(self, file: File, found: Found | Refused, text: str | Refused, rows: PictureRows) -> None:
        key = self.key(file.path)
        self.status[key] = False
        if isinstance(found, tuple):
            rows.refuse(*found)
            return
        self.status[key] = True
        label = self._class(key)
        labels = [Label("label", label, self.options.annotator or "folder")] if label in self._classes and label else []
        picture = Picture(
            key=key,
            uri=file.uri,
            place=key,
            width=found.header.width,
            height=found.header.height,
            split=self._split(key),
            sha256=found.digest,
            image=found.data,
        )
        if isinstance(text, tuple):
            rows.refuse(*text)
            text = ""
        rows.add(picture, [Caption(text)] if text else [], labels)


def look(file: File, key: str, homes: Sequence[str], *, store: bool) -> Found | Refused:
    """Return what a file holds, or why it is not taken; it may be called in threads.

    Args:
        file: The picture.
        key: What it is called within its folder.
        homes: Folders that no link may lead out of.
        store: Whether its bytes are wanted.
    """
    if relative_name(key) is None:
        return repr(key), "bad_name", "the name is not UTF-8, or holds control characters, colons or backslashes"
    if leads_out(file, homes):
        return key, *OUT
    try:
        header, data = _opened(file, store=store)
    except ImageError as error:
        return key, error.code, str(error)
    except CounterbalanceError as error:
        return key, "not_a_file" if error.code == "E4004" else "unreadable", error.message
    return Found(header, data, sha256(data) if data else None)


def _opened(file: File, *, store: bool) -> tuple[Header, bytes | None]:
    """Return the header of a picture file, and its bytes if they are to be stored.

    Raises:
        ImageError: If it is not a picture that is taken.
        SourceError: If the file cannot be read.
    """
    if _ending(file) in OTHER_PICTURES:
        raise ImageError(f"{_ending(file)} is not read; convert it to JPEG, PNG or WebP", "unsupported_format")
    if file.size is not None and file.size > MAX_BYTES:
        raise ImageError(f"{file.size:,} bytes; at most {MAX_BYTES:,} are read", "too_big")
    if store:
        data = file.read(MAX_BYTES)
        return check(data), data
    with file.open() as opened:
        return read_file_header(opened, file.size), None
