"""The files behind a source: paths and fsspec URIs, folders, globs, comma lists and brace ranges.

``expand`` turns what a user typed into a sorted list of ``File``; a reader opens them one after the other. A name that
exists as it is written is taken literally, so commas, braces and brackets in file names do no harm. Names that come
out of *data* (``file_name`` of an annotation, members of an archive) never reach a file system before ``relative_name``
has passed them.
"""

from __future__ import annotations

import difflib
import errno
import io
import os
import posixpath
import stat
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from fsspec import get_filesystem_class

from counterbalance.engine.errors import CounterbalanceError, NotFoundError, SourceError
from counterbalance.engine.ingest_types import Images, Source
from counterbalance.engine.store import credentials
from counterbalance.engine.store.location import open_store
from counterbalance.ingest.globs import is_glob, split_braces, split_commas

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from counterbalance.engine.ingest_types import Chunk

_LIST_FROM: Final = 16
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class File:
    """A file of a source.

    Args:
        uri: Absolute path, or URI with its protocol: what messages and ``meta.errors`` show.
        size: Bytes, where the file system knows them.
        fs: The fsspec file system that holds it.
        path: Its path there.
        is_plain: Whether it is a file at all, and no pipe, socket, device or link to nothing.
    """

    uri: str
    size: int | None
    fs: Any = field(repr=False, compare=False)
    path: str = field(repr=False, compare=False)
    is_plain: bool = field(default=True, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Return the last part of the path: ``"captions_val2017.json"``."""
        return posixpath.basename(self.path)

    @property
    def stem(self) -> str:
        """Return the name up to its first dot: ``"captions_val2017"``; a leading dot is part of the name."""
        head = self.name[:1]
        return head + self.name[1:].split(".", 1)[0]

    def open(self) -> BinaryIO:
        """Return the file, open for reading bytes; every call has a position of its own.

        Raises:
            NotFoundError: If it is gone.
            SourceError: If it cannot be opened (``E4001``), or is a pipe, socket or device (``E4004``).
        """
        with reading(self.uri):
            if _is_local(self.fs):
                _check_plain(self.uri, self.path)
            if self.fs.protocol == "memory":  # it would hand out one file object for all
                return io.BytesIO(self.fs.cat_file(self.path))
            return cast("BinaryIO", self.fs.open(self.path, "rb"))

    def read(self, limit: int) -> bytes:
        """Return all bytes of a file of at most ``limit`` bytes.

        Raises:
            SourceError: If it is larger (``E4002``) or cannot be read (``E4001``).
        """
        with self.open() as file, reading(self.uri):
            data = file.read(limit + 1)
        if len(data) > limit:
            raise SourceError(f"{self.uri} is larger than {limit:,} bytes", code="E4002")
        return data


@contextmanager
def reading(uri: str) -> Iterator[None]:
    """Turn what file systems raise into this package's errors, naming ``uri``.

    Raises:
        NotFoundError: For a file or bucket that is not there.
        SourceError: For any other failure to read (``E4001``).
    """
    try:
        yield
    except CounterbalanceError:
        raise
    except FileNotFoundError as error:
        raise NotFoundError.source(uri) from error
    except Exception as error:  # clients of object stores have exceptions of their own, of no common kind
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if "Unable to locate credentials" not in str(why):
            raise SourceError(f"cannot read {uri}: {why}", code="E4001") from error
        get_filesystem_class("s3").clear_instance_cache()  # it would not look again, once they are set
        raise SourceError(f"no credentials for {uri}", code="E4001", hint=credentials.HINT) from error


def expand(
    uri: str,
    storage_options: Mapping[str, Any] | None = None,
    suffixes: Sequence[str] = (),
    *,
    inside: Sequence[str] = (),
    recursive: bool = False,
) -> list[File]:
    """Return the files that a user's SOURCE names, each once; those of one folder or glob in order of their paths.

    Args:
        uri: A path or fsspec URI of a file, a folder or a glob; several with commas; braces as in a shell:
            ``{00000..00012}.tar``, ``{train,val}.json``.
        storage_options: For fsspec.
        suffixes: Endings that count inside a folder (``(".json",)``), in lower case; a file that is named or matched by
            a glob counts whatever its ending.
        inside: Sub-folders to look into first when a folder is named: the first that holds such files is taken.
        recursive: Whether sub-folders of a folder count, too.

    Raises:
        NotFoundError: If a part of ``uri`` matches nothing (``E1006``).
        SourceError: If a file system cannot be reached, a brace range is too long, or the name is not a text (``E4001``,
            ``E4003``, ``E4005``).

    Example:
        >>> import fsspec
        >>> fsspec.filesystem("memory").pipe({"/shown/b-01.tar": b"", "/shown/b-00.tar": b"x"})
        >>> [(f.uri, f.size) for f in expand("memory://shown/b-{00..01}.tar")]
        [('memory:///shown/b-00.tar', 1), ('memory:///shown/b-01.tar', 0)]
    """
    options = dict(storage_options or {})
    if not uri.strip():
        raise NotFoundError("no source: its name is empty", code="E1006", hint="give a path, URI, glob or brace range")
    if any("\ud800" <= letter <= "\udfff" for letter in uri):
        raise SourceError(
            f"the name {uri!r} is not UTF-8", code="E4005", hint="rename it, or link to it: ln -s NAME OTHER"
        )
    with reading(uri):
        whole = _find_path(uri, options, tuple(suffixes), tuple(inside), recursive=recursive)
        if whole is None:
            whole = []
            for part in split_commas(uri):
                whole += _part(part, options, tuple(suffixes), tuple(inside), recursive=recursive)
    return list({f.uri: f for f in whole}.values())


def _part(
    part: str, options: dict[str, Any], suffixes: tuple[str, ...], inside: tuple[str, ...], *, recursive: bool
) -> list[File]:
    """Return files of one element of a comma list."""
    found = _find_path(part, options, suffixes, inside, recursive=recursive)
    if found is not None:
        return found
    names = split_braces(part)
    if len(names) > _LIST_FROM and not any(map(is_glob, names)):
        return _many(names, options)
    files: list[File] = []
    for name in names:
        found = _find_path(name, options, suffixes, inside, recursive=recursive) if name != part else None
        files += found if found is not None else _globbed(name, options)
    return files


def _find_path(
    uri: str, options: dict[str, Any], suffixes: tuple[str, ...], inside: tuple[str, ...], *, recursive: bool
) -> list[File] | None:
    """Return files of a path that exists as written: itself, or what the folder holds; ``None`` when it does not exist."""
    fs, path = file_system(uri, options)
    try:
        info = fs.info(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # a long comma list is not a name
            return None
        raise
    if info["type"] == "directory" or (info["type"] != "file" and fs.isdir(path)):
        return _folder(fs, path, suffixes, inside, recursive=recursive)
    return [_file(fs, path, info)]


def _folder(fs: Any, path: str, suffixes: tuple[str, ...], inside: tuple[str, ...], *, recursive: bool) -> list[File]:
    """Return files of a folder that end as asked for; hidden ones do not count."""
    for sub in (*inside, ""):
        folder = posixpath.join(path, sub) if sub else path
        if not fs.isdir(folder):
            continue
        infos = fs.find(folder, detail=True).values() if recursive else fs.ls(folder, detail=True)
        # a link to a folder is not followed, and stands there for itself, so that somebody can tell of it
        found = (i for i in infos if _is_file(fs, i) or (recursive and i["type"] != "directory"))
        files = sorted((_file(fs, i["name"], i) for i in found), key=lambda f: f.path)
        ending = [f for f in files if _ends(f.name, suffixes) or (recursive and not f.is_plain)]
        shown = [f for f in ending if not f.name.startswith(".")]
        if shown:
            return shown
    plain = [s for s in suffixes if not any(s != t and s.startswith(t) for t in suffixes)]
    wanted = " or ".join(f"*{s}" for s in plain) or "file"
    folders = (i["name"].rstrip("/") for i in fs.ls(path, detail=True) if i["type"] == "directory")
    held = [f.name for f in files] or sorted(f"{posixpath.basename(f)}/" for f in folders)
    others = ", ".join(held[:_SHOWN])
    raise NotFoundError(
        f"no {wanted} in the folder {uri_of(fs, path)}" + (f"; it holds {others}" if others else ", which is empty"),
        code="E1006",
        hint="name the file, the folder that holds it, or a glob",
    )


def _ends(name: str, suffixes: tuple[str, ...]) -> bool:
    return not suffixes or name.lower().endswith(suffixes)


def _is_file(fs: Any, info: Mapping[str, Any]) -> bool:
    """Return whether a listed entry is not a folder; links are followed. What is not a file either is refused when it is opened."""
    return info["type"] == "file" or (info["type"] != "directory" and not fs.isdir(info["name"]))


def _globbed(pattern: str, options: dict[str, Any]) -> list[File]:
    """Return files that match a glob."""
    fs, path = file_system(pattern, options)
    infos = fs.glob(path, detail=True).values() if is_glob(path) else ()
    files = sorted((_file(fs, i["name"], i) for i in infos if _is_file(fs, i)), key=lambda f: f.path)
    if not files:
        raise _missing(pattern, fs, path)
    return files


def _many(names: Sequence[str], options: dict[str, Any]) -> list[File]:
    """Return files with plain names, each folder listed once instead of asked for every name."""
    fs = None
    known: dict[str, dict[str, Mapping[str, Any]]] = {}
    files: list[File] = []
    for name in names:
        fs, path = file_system(name, options)
        parent = posixpath.dirname(path)
        if parent not in known:
            known[parent] = {i["name"].rstrip("/"): i for i in fs.ls(parent, detail=True)} if fs.isdir(parent) else {}
        info = known[parent].get(path)
        if info is None or not _is_file(fs, info):
            raise _missing(name, fs, path)
        files.append(_file(fs, path, info))
    return files


def _missing(name: str, fs: Any, path: str) -> NotFoundError:
    """Return the error for a name that matches nothing, with the nearest name in its folder."""
    near: list[str] = []
    parent = posixpath.dirname(path)
    if not is_glob(path) and fs.isdir(parent):
        names = [posixpath.basename(p.rstrip("/")) for p in fs.ls(parent, detail=False)]
        near = difflib.get_close_matches(posixpath.basename(path), names, n=1)
    error = NotFoundError.source(name)
    text = error.message + (f"; did you mean {near[0]!r}?" if near else "")
    return NotFoundError(text, code=error.code, hint=error.hint)


def _file(fs: Any, path: str, info: Mapping[str, Any]) -> File:
    is_plain = info["type"] == "file" or bool(fs.isfile(path))
    return File(uri_of(fs, path), info.get("size"), fs, path, is_plain)


def uri_of(fs: Any, path: str) -> str:
    r"""Return a path of a file system for people: local ones stay plain paths; bytes that are no UTF-8 become ``\xff``."""
    protocol = fs.protocol if isinstance(fs.protocol, str) else fs.protocol[0]
    path = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return path if protocol in {"file", "local"} else str(fs.unstrip_protocol(path))


def _check_plain(uri: str, path: str) -> None:
    """Refuse what would be waited for, or worse, once it is opened.

    Raises:
        FileNotFoundError: Nothing is there.
        SourceError: It is not a plain file (``E4004``).
    """
    mode = os.stat(path).st_mode  # noqa: PTH116 - paths are text here
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}
        raise SourceError(
            f"{uri} is {kinds.get(stat.S_IFMT(mode), 'a device')}, not a file, and was not opened",
            code="E4004",
            hint="write what it holds to a file, or move it away",
        )


def file_system(uri: str, storage_options: Mapping[str, Any] | None = None) -> tuple[Any, str]:
    """Return the fsspec file system of a URI or path, and the path there.

    Raises:
        StorageError: If what reads such addresses is not installed (``E6017``) or not known (``E6020``).
    """
    with reading(uri):
        return open_store(uri, credentials.completed(uri, storage_options))


def file_in(folder: str, name: str, storage_options: Mapping[str, Any] | None = None) -> File:
    """Return a file of a folder by its relative name; its existence and size are not asked for.

    Args:
        folder: Path or URI of the folder.
        name: A name that ``relative_name`` has passed.
        storage_options: For fsspec.
    """
    fs, path = file_system(folder, storage_options)
    path = posixpath.join(path, name)
    return File(uri_of(fs, path), None, fs, path)


def leads_out(file: File, folders: Iterable[str]) -> bool:
    """Return whether a local file really lies outside of some folders, because a symbolic link on its way leads there."""
    if not _is_local(file.fs):
        return False
    real = os.path.realpath(file.path)
    return not any(os.path.commonpath((real, home)) == home for home in map(os.path.realpath, folders))


def local_folder(uri: str, storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """Return the path of a folder of this machine; nothing for files, patterns, and what lies elsewhere."""
    fs, path = file_system(uri, storage_options)
    return [path] if _is_local(fs) and fs.isdir(path) else []


def picture_folder(uri: str, storage_options: Mapping[str, Any] | None = None) -> list[str]:
    """Return the path or the address of a folder that somebody has named for its pictures; nothing for files and patterns.

    Example:
        >>> picture_folder("https://images.cocodataset.org/val2017/"), picture_folder("https://example.org/*.jpg")
        (['https://images.cocodataset.org/val2017'], [])
    """
    if "::" in uri or is_glob(uri):
        return []
    fs, path = file_system(uri, storage_options)
    if fs.protocol == "memory":  # of this process alone
        return []
    if uri.startswith(("http://", "https://")):  # which list no folders
        return [uri_of(fs, path).rstrip("/")]
    with reading(uri):
        return ([path] if _is_local(fs) else [uri_of(fs, path).rstrip("/")]) if fs.isdir(path) else []


def _is_local(fs: Any) -> bool:
    protocols = {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)
    return not protocols.isdisjoint({"file", "local"})


def relative_name(name: str) -> str | None:
    r"""Return the name, if it is a plain relative one (``a.jpg``, ``train/a.jpg``); ``None`` for anything else.

    Absolute paths, ``..``, URLs, drive letters, backslashes and control characters are refused.

    Example:
        >>> relative_name("val2017/0001.jpg")
        'val2017/0001.jpg'
        >>> [relative_name(n) for n in ("/etc/passwd", "../a.jpg", "http://a/b.jpg", "C:\\a.jpg", "")]
        [None, None, None, None, None]
    """
    parts = name.split("/")
    plain = name.isprintable() and "\\" not in name and ":" not in name and not name.startswith("~")
    return name if plain and all(p not in {"", ".", ".."} for p in parts) else None


def source_of(
    uri: str, files: Sequence[File], chunks: Iterator[Chunk], notes: list[str], images: Images | None = None
) -> Source:
    """Return what the engine reads from: the chunks, and the files that they come from.

    Args:
        uri: As the user gave it.
        files: In order.
        chunks: Lazily.
        notes: What a person should know; may grow while chunks are taken.
        images: What the reader asks about the lake, if it does.
    """
    sizes = [f.size for f in files]
    total = None if None in sizes else sum(s for s in sizes if s is not None)
    return Source(uri, chunks, total, [f.uri for f in files], notes, images or Images())
