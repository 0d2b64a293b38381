"""Digests of a table's files, taken when they are written, so that what was damaged or lost since can be found.

Beside its data every table has a file ``_digests``: a line of size and digest for each file that versions of the table
consist of (manifests, transactions, data, deletions, indexes), below a line with the digest of these lines. Lance writes
a file under another name and renames it when it is complete, and never changes it then: what is listed can be digested at
any time, once. In object stores the digest is the store's own (its ETag), which a listing tells without reading.
The lake itself has such a file, too (``LAKE``): which tables have one.

``record`` is called before the journal says that something is there. For a durable lake (``Location.durable``) it also
has the same files, and the folders that name them, written through to the disk. ``check`` holds every table that is
opened against what was recorded: its manifest, sizes of its data, and that no newer version, nor the table, was lost. Reading all files is ``verify``'s
(``catalog/verify.py``).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine import atomic_write
from counterbalance.engine.errors import StorageError, disk_hint
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.store.location import CLOSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import lance

    from counterbalance.engine.store.location import Location

NAME: Final = "_digests"
LAKE: Final = ""
"""Stands in the place of a table's name for the lake, whose entries are the tables that were recorded."""
HINT: Final = "counterbalance verify LAKE shows which files are damaged or lost, and what to do"
_ROOMS: Final = ("", "meta", CLOSED)
_VERSIONS: Final = "_versions"
_PARTS: Final = (_VERSIONS, "_transactions", "_deletions", "_indices", "data")
_CHANGING: Final = ("_refs", f"{_VERSIONS}/latest_version_hint.json")
"""What Lance writes again in its place: names of versions, and where to begin to look for the newest."""
_MANIFEST: Final = re.compile(rf"{_VERSIONS}/(\d+)\.manifest")
_COUNTED_DOWN: Final = 20
"""Digits of a manifest's name where versions are counted down from the largest number, so that the newest is first."""
_AT_ONCE: Final = 1 << 20
THREADS: Final = 4
"""So many files are digested at a time."""
_remembered: Final[dict[str, tuple[Any, Ledger | None]]] = {}
_sound: Final[dict[str, tuple[Any, str]]] = {}
"""By table the manifest that was last found to be what was written."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What was written under a name.

    Args:
        size: Bytes.
        digest: ``sha256:`` and what ``sha256sum`` tells, ``etag:`` and the store's own, or ``-`` where it has none.
        synced: Whether it was written through to the disk.
    """

    size: int
    digest: str
    synced: bool = False

    def fits(self, found: Entry) -> bool:
        """Tell whether a file has what was recorded, as far as digests of the same kind tell.

        Example:
            >>> Entry(3, "sha256:aa").fits(Entry(3, "sha256:ab")), Entry(3, "etag:x").fits(Entry(3, "sha256:ab"))
            (False, True)
        """
        is_same_kind = self.digest.partition(":")[0] == found.digest.partition(":")[0]
        return self.size == found.size and (self.digest == found.digest or not is_same_kind)


@dataclass(frozen=True)
class Ledger:
    """What was recorded of a table, as it is stored; ``entries`` takes it apart.

    Args:
        text: Lines of digest, size, ``s`` or ``-``, path.
    """

    text: str
    _found: dict[str, Entry] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, entries: Mapping[str, Entry]) -> Ledger:
        """Return the ledger that holds these entries by path."""
        lines = (f"{e.digest} {e.size} {'s' if e.synced else '-'} {path}\n" for path, e in sorted(entries.items()))
        return cls("".join(lines))

    @classmethod
    def parse(cls, content: bytes) -> Ledger:
        """Read a file ``_digests``.

        Raises:
            ValueError: It is not as it was written.
        """
        head, _, body = content.partition(b"\n")
        if head.decode(errors="replace") != _sha256(body):
            raise ValueError("its first line is not the digest of the others")
        return cls(body.decode())

    def content(self) -> bytes:
        """Return the file's bytes."""
        body = self.text.encode()
        return _sha256(body).encode() + b"\n" + body

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Return entries by path in the table."""
        parts = (line.split(" ", 3) for line in self.text.splitlines())
        return {path: Entry(int(size), digest, synced == "s") for digest, size, synced, path in parts}

    @cached_property
    def manifests(self) -> dict[int, str]:
        """Return paths of the recorded manifests by version."""
        return {version_of(m[0]): m[0] for m in _MANIFEST.finditer(self.text)}

    @cached_property
    def newest(self) -> int:
        """Return the newest recorded version; 0 without any."""
        return max(self.manifests, default=0)

    def entry(self, path: str) -> Entry:
        """Return one entry, without taking the others apart."""
        if path not in self._found:
            line = re.search(rf"^(\S+) (\d+) (\S) {re.escape(path)}$", self.text, re.MULTILINE)
            if line is None:
                raise KeyError(path)
            self._found[path] = Entry(int(line[2]), line[1], line[3] == "s")
        return self._found[path]


def version_of(path: str) -> int:
    """Return the version that a manifest is of.

    Example:
        >>> version_of("_versions/18446744073709551612.manifest"), version_of("_versions/3.manifest")
        (3, 3)
    """
    digits = path.rpartition("/")[2].removesuffix(".manifest")
    return (1 << 64) - 1 - int(digits) if len(digits) == _COUNTED_DOWN else int(digits)


def is_manifest(path: str) -> bool:
    """Tell whether a path in a table is that of a version's manifest."""
    return _MANIFEST.fullmatch(path) is not None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def stored(location: Location) -> tuple[list[str], list[str]]:
    """Return names of all tables that lie in a lake, and folders of it that are closed to this user."""
    closed = [room for room in _ROOMS if _is_closed(location, room)]
    names = [f"{r}/{name}".lstrip("/") for r in _ROOMS if r not in closed for name in location.folders(r)]
    return [*names, *(() if CLOSED in closed else location.enclosed())], closed


def _is_closed(location: Location, room: str) -> bool:
    folder = location.path / room if location.is_local else None
    return folder is not None and folder.is_dir() and not os.access(folder, os.R_OK | os.X_OK)


def listed(location: Location, *, again: bool = False) -> dict[str, Entry]:
    """Return the tables that were recorded, from memory as ``remembered``.

    Raises:
        StorageError: What was recorded of the lake is damaged.
    """
    ledger = remembered(location, LAKE, again=again)
    return {} if ledger is None else ledger.entries


def is_lost(location: Location, name: str) -> bool:
    """Tell whether a table was recorded and is not any more, as far as this user may look."""
    if name not in listed(location):
        return False
    rooms = {name.rpartition("/")[0], CLOSED if "/" not in name and name not in BASE_TABLES else ""}
    if any(_is_closed(location, room) for room in rooms) or _content(location, name) is not None:
        return False
    return name in listed(location, again=True)  # else it was dropped meanwhile


# -- what is recorded, and what is there ---------------------------------------------------------------------------------


def read(location: Location, name: str) -> Ledger | None:
    """Return what was recorded of a table, or of the lake, if anything was.

    Raises:
        StorageError: It is damaged itself (``E6018``).
    """
    if location.is_memory:
        return None
    content = _content(location, name)
    try:
        return None if content is None else Ledger.parse(content)
    except ValueError as error:
        what = f"digests of table {name!r}" if name else "digests"
        raise StorageError(f"the {what} of {location.uri} are damaged: {error}", code="E6018", hint=HINT) from error


def _place(location: Location, name: str) -> str:
    return f"{location.folder(name)}/{NAME}" if name else NAME


def _content(location: Location, name: str) -> bytes | None:
    try:
        if location.is_local:
            return location.path.joinpath(_place(location, name)).read_bytes()
        system, root = location.filesystem()
        content: bytes = system.cat_file(f"{root}/{_place(location, name)}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    return content


def remembered(location: Location, name: str, *, again: bool = False) -> Ledger | None:
    """Do as ``read`` does, from memory where the file is as it was; of object stores until it is asked for ``again``.

    What is remembered can be older than what is there: versions it does not know are not checked.
    """
    if location.is_memory:
        return None
    place, state = location.table(name), None
    if location.is_local:
        try:
            about = location.path.joinpath(_place(location, name)).stat()
        except OSError:
            return None
        state = (about.st_mtime_ns, about.st_size, about.st_ino)
    known = _remembered.get(place)
    if known is None or known[0] != state or again:
        known = _remembered[place] = (state, read(location, name))
    return known[1]


def files(location: Location, names: Iterable[str]) -> dict[str, dict[str, Entry | None]]:
    """Return the files that lie there, by table and path; of object stores with what the listing tells of them.

    Args:
        location: The lake.
        names: Tables.
    """
    if location.is_memory:
        return {}
    if location.is_local:
        return {name: dict.fromkeys(_listed(str(location.table_path(name)))) for name in names}
    system, root = location.filesystem()
    system.invalidate_cache()
    found: dict[str, dict[str, Entry | None]] = {}
    for name in names:
        folder = f"{root}/{location.folder(name)}"
        inside = {path[len(folder) :].strip("/"): about for path, about in system.find(folder, detail=True).items()}
        found[name] = {path: _told(about) for path, about in inside.items() if _is_part(path)}
    return found


def _listed(folder: str) -> Iterator[str]:
    for part in _PARTS:
        for base, _, inside in os.walk(f"{folder}/{part}"):
            prefix = base[len(folder) + 1 :]
            yield from (f"{prefix}/{file}" for file in inside if _is_part(f"{prefix}/{file}"))


def _is_part(path: str) -> bool:
    """Tell whether a path is that of a file that is written once."""
    folder, _, file = path.rpartition("/")
    if file.startswith(".") or "#" in file:  # somebody is writing it
        return False
    return is_manifest(path) if folder == _VERSIONS else path.partition("/")[0] in _PARTS


def _told(about: Mapping[str, Any]) -> Entry:
    tag = str(about.get("ETag") or about.get("etag") or "").strip('"')
    return Entry(int(about["size"]), f"etag:{tag}" if tag else "-", synced=True)


def measure(location: Location, name: str, path: str) -> Entry:
    """Return the size and digest of a file, read from its first byte to its last.

    Args:
        location: The lake.
        name: The table.
        path: The file's path in the table.

    Raises:
        OSError: It is not there, or cannot be read.
    """
    if location.is_local:
        handle: Any = location.table_path(name).joinpath(path).open("rb")
    else:
        system, root = location.filesystem()
        handle = system.open(f"{root}/{location.folder(name)}/{path}", "rb")
    size, state = 0, hashlib.sha256()
    with handle:
        while block := handle.read(_AT_ONCE):
            size += len(block)
            state.update(block)
    return Entry(size, f"sha256:{state.hexdigest()}")


# -- writing -------------------------------------------------------------------------------------------------------------


def record(location: Location, names: Iterable[str]) -> None:
    """Record the files of some tables that are new; for a durable lake, once they are on the disk.

    Entries of files that are gone stay: whoever removes files says so with ``forget``. Of two that record at the same
    time one may lose what the other wrote; the next one records it.

    Args:
        location: The lake.
        names: Tables that only we write to.

    Raises:
        StorageError: What was recorded is damaged, or cannot be written.
    """
    found = files(location, names)
    for name, there in found.items():
        ledger = remembered(location, name) if location.is_local else read(location, name)
        known = {} if ledger is None else ledger.entries
        new = {p: e for p, e in there.items() if p not in known or (location.durable and not known[p].synced)}
        try:
            if location.durable and location.is_local:
                _sync(location, name, new)
            unread = [path for path, told in new.items() if path not in known and told is None]
            with ThreadPoolExecutor(THREADS) as pool:
                read_now = dict(zip(unread, pool.map(partial(_if_there, location, name), unread), strict=True))
            fresh: dict[str, Entry] = {}
            for path, told in new.items():
                entry = known.get(path) or told or read_now[path]
                if entry is not None:
                    fresh[path] = replace(entry, synced=entry.synced or location.durable)
            if fresh:
                _write(location, name, Ledger.of({**known, **fresh}))
        except OSError as error:
            raise _unwritten(location, f"table {name!r} of ", error) from error
    try:
        enlist(location, found)
    except StorageError:
        raise
    except OSError as error:
        raise _unwritten(location, "tables of ", error) from error


def _unwritten(location: Location, what: str, error: OSError) -> StorageError:
    return StorageError(
        f"cannot record {what}{location.uri}: {error.strerror or error}",
        code="E6003",
        hint=disk_hint(error),
    )


def enlist(location: Location, names: Iterable[str]) -> None:
    """Record that these tables are there, if they have digests.

    Raises:
        OSError: The list of tables cannot be written, or is damaged.
    """
    wanted = set() if location.is_memory else set(names)
    known = listed(location)
    if all(_is_listed(location, known.get(name)) for name in wanted):
        return
    known = listed(location, again=True)
    new = {name for name in wanted - known.keys() if _content(location, name) is not None}
    if new or not all(_is_listed(location, entry) for entry in known.values()):
        _write_list(location, known.keys() | new)


def _is_listed(location: Location, entry: Entry | None) -> bool:
    return entry is not None and (entry.synced or not location.durable)


def _write_list(location: Location, names: Iterable[str]) -> None:
    _write(location, LAKE, Ledger.of(dict.fromkeys(names, Entry(0, "-", synced=location.durable))))


def _if_there(location: Location, name: str, path: str) -> Entry | None:
    try:
        return measure(location, name, path)
    except FileNotFoundError:  # cleaned up since it was listed
        return None


def _write(location: Location, name: str, ledger: Ledger) -> None:
    place = _place(location, name)
    if not location.is_local:
        system, root = location.filesystem()
        system.pipe_file(f"{root}/{place}", ledger.content())
        _remembered[location.table(name)] = (None, ledger)
        return
    target = atomic_write.write(location.path / place, ledger.content(), durable=location.durable)
    if place.startswith(f"{CLOSED}/"):
        target.chmod(0o600)
    if not location.durable:
        return
    atomic_write.sync(target.parent)


def _sync(location: Location, name: str, new: Iterable[str]) -> None:
    """Have new files, those that Lance writes again, and the folders that name them, on the disk."""
    table = location.table_path(name)
    changing = [p for c in _CHANGING for p in ([table / c] if (table / c).is_file() else (table / c).rglob("*.json"))]
    paths = [*(table / p for p in new), *changing]
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # cleaned up since it was listed
            atomic_write.sync(path)
    sync_names(location, paths)


def sync_names(location: Location, paths: Iterable[Path]) -> None:
    """Have names that came or went on the disk: the folders of these paths up to the one that the lake lies in."""
    folders = {f for path in paths for f in path.parents if f.is_relative_to(location.path.parent)}
    for folder in sorted(folders, reverse=True):
        with contextlib.suppress(FileNotFoundError):
            atomic_write.sync(folder)


def forget(location: Location, name: str, gone: Iterable[str] | None = None) -> None:
    """Forget files that we removed, for a durable lake on the disk, too; all of them before the table is dropped.

    Args:
        location: The lake.
        name: The table; ``LAKE`` for the list of tables.
        gone: Paths in it; ``None`` for the whole table.
    """
    if location.is_memory:
        return
    ledger = None if gone is None else read(location, name)
    if gone is None:
        known = listed(location, again=True).keys() if name else set()
        if name in known and known - {name}:
            _write_list(location, known - {name})
        elif name in known:
            _remove(location, LAKE)
        _remove(location, name)
    elif ledger is not None:
        gone = set(gone)
        left = {path: entry for path, entry in ledger.entries.items() if path not in gone}
        if len(left) < len(ledger.entries):
            _write(location, name, Ledger.of(left))
    if location.durable and location.is_local:
        sync_names(location, [location.table_path(name) / path for path in gone or ()])


def _remove(location: Location, name: str) -> None:
    _remembered.pop(location.table(name), None)
    if location.is_local:
        location.path.joinpath(_place(location, name)).unlink(missing_ok=True)
        return
    system, root = location.filesystem()
    place = f"{root}/{_place(location, name)}"
    if system.exists(place):
        system.rm_file(place)


# -- checking ------------------------------------------------------------------------------------------------------------


def check(
    location: Location, name: str, dataset: lance.LanceDataset | None, known: Ledger | None, *, newest: bool
) -> None:
    """Compare a table that was opened with what was recorded of it before.

    Args:
        location: The lake.
        name: The table.
        dataset: The version that was opened; ``None`` when there is no table.
        known: What ``remembered`` told *before* it was opened.
        newest: The newest version was asked for.

    Raises:
        StorageError: A newer version was recorded, or another manifest of this one, or a data file is gone or has another
            size, or the table is gone (``E6018``).
    """
    if dataset is None and is_lost(location, name):
        told = f"table {name!r} of {location.uri} is gone: it was written, and nothing of it is there"
        raise StorageError(told, code="E6018", hint=HINT)
    if known is None or not known.manifests:
        return
    version = None if dataset is None else int(dataset.version)
    if version is None or (newest and version < known.newest):
        known = remembered(location, name, again=True)  # it may have been dropped, and made anew
        if known is None or not known.manifests or (version is not None and version >= known.newest):
            return
        is_what = f"{version} is the newest that is there" if version is not None else "no version is there"
        raise StorageError(
            f"table {name!r} of {location.uri} was reverted: version {known.newest} was written, and {is_what}",
            code="E6018",
            hint=HINT,
        )
    if dataset is not None and location.is_local and version in known.manifests:
        _check_manifest(location, name, dataset, known)


def cut_file(location: Location, name: str, dataset: lance.LanceDataset) -> str:
    """Return the first data or deletion file of a version that is gone or has not the size that its manifest tells.

    Args:
        location: A lake on a disk.
        name: The table.
        dataset: The version.

    Returns:
        Its path in the table; empty when every file is as large as it should be.
    """
    for fragment in dataset.get_fragments():
        deleted = fragment.deletion_file()
        parts = [(f"data/{f.path}", f.file_size_bytes) for f in fragment.data_files()]
        for path, size in [*parts, *([(deleted, None)] if deleted else [])]:
            try:
                held = location.table_path(name).joinpath(path).stat().st_size
            except FileNotFoundError:
                held = 0
            if not held or (size and size != held):
                return path
    return ""


def _check_manifest(location: Location, name: str, dataset: lance.LanceDataset, known: Ledger) -> None:
    version = int(dataset.version)
    path = known.manifests[version]
    try:
        about = location.table_path(name).joinpath(path).stat()
        state = (path, about.st_mtime_ns, about.st_size, about.st_ino)
        expected = known.entry(path)
        if _sound.get(location.table(name)) == (state, expected.digest):
            return
        found = measure(location, name, path)
    except FileNotFoundError:  # it was cleaned up since
        return
    if not expected.fits(found):
        raise StorageError(
            f"table {name!r} of {location.uri} is damaged: {path} of version {version} is not what was written",
            code="E6018",
            hint=HINT,
        )
    cut = cut_file(location, name, dataset)
    if cut and location.table_path(name).joinpath(path).exists():  # else a clean-up took the whole version meanwhile
        raise StorageError(
            f"table {name!r} of {location.uri} is damaged: {cut} of version {version} is gone or cut",
            code="E6018",
            hint=HINT,
        )
    _sound[location.table(name)] = (state, expected.digest)
