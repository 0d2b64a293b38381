"""Read every file of a lake, and tell which is not what was written, or not there any more."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.catalog import access, meta
from counterbalance.engine.catalog import closed as closing
from counterbalance.engine.errors import StorageError
from counterbalance.engine.executors import spool as spools
from counterbalance.engine.progress import Progress
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.store import cleaning, digests, history, tables
from counterbalance.engine.store.location import CLOSED
from counterbalance.engine.store.lock import writer_lock
from counterbalance.engine.write.journal import require_lake

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from counterbalance.engine.store.digests import Entry, Ledger
    from counterbalance.engine.store.location import Location

    _Tag = tuple[int, dt.datetime]

DAMAGED: Final = "damaged"
LOST: Final = "lost"
REVERTED: Final = "reverted"
UNFINISHED: Final = "unfinished"
UNRECORDED: Final = "unrecorded"
_TAGS: Final = "_refs/tags/"
_LOG: Final = "meta.access"


@dataclass(frozen=True, slots=True)
class Finding:
    """A file that is not as it was recorded, or files that were not recorded.

    Args:
        kind: ``damaged``, ``lost``, ``reverted`` (the newest version is lost), ``unfinished`` (a version that no run of
            ours completed, and that cannot be read: power was lost), or ``unrecorded``, which is not damage.
        table: The table.
        version: Versions that need the file, such as ``3-7``; empty where that cannot be told.
        file: Its path in the table; empty for several.
        problem: What is wrong, in words.
    """

    kind: str
    table: str
    version: str
    file: str
    problem: str


@dataclass(slots=True)
class Verified:
    """What ``verify`` found.

    Args:
        findings: In order of table and file.
        tables: How many tables were looked at.
        files: How many files were read, but for those of closed tables and, beside these, of ``meta``: how many writes there
            were would answer guesses.
        bytes: Their bytes.
        has_closed: Whether there are such tables.
    """

    findings: list[Finding] = field(default_factory=list)
    tables: int = 0
    files: int = 0
    bytes: int = 0
    has_closed: bool = False

    @property
    def sound(self) -> bool:
        """Return whether nothing is damaged or lost."""
        return all(f.kind == UNRECORDED for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready fields."""
        counted = {"tables": self.tables, "files": self.files, "bytes": self.bytes}
        return {"sound": self.sound, **counted, "findings": [asdict(f) for f in self.findings]}


def verify(location: Location, *, progress: Callable[[Progress], None] | None = None) -> Verified:
    """Compare every file of every version of a lake's tables with the digest that was recorded when it was written.

    Nothing is written, and nobody is kept from writing: files never change, and what is cleaned up meanwhile is not damage.

    Results that a refresh has not published yet hold checksums of their own.

    Args:
        location: The lake.
        progress: Called after every file that is counted.

    Raises:
        NotFoundError: No lake is there.
        StorageError: It lies in this process's memory, where nothing is recorded, or a folder cannot be listed.
    """
    if location.is_memory:
        raise StorageError(
            f"{location.uri} lies in memory and has no files", code="E6019", hint="verify a lake on a disk"
        )
    names, closed = digests.stored(location)
    if not names:
        require_lake(location)
    try:
        untold = closing.ever(location)
    except StorageError:  # a finding already; any view may be closed
        untold = frozenset(names) - BASE_TABLES.keys()
    counted = closing.told(dict.fromkeys(names, 0), untold)
    has_closed = bool(untold or closed) or any(name.startswith(f"{CLOSED}/") for name in names)
    found = Verified(tables=len(names), has_closed=has_closed)
    listed, tags = _listed(location, found), _tags(location)
    looks = [
        _Table(location, name, found, listed or set(), tags.get(name, {}), is_counted=name in counted or not has_closed)
        for name in names
    ]
    if listed is None and any(look.is_recorded for look in looks):
        told = "the list of tables is gone: one that is lost is not told"
        found.findings.append(Finding(LOST, digests.LAKE, "", digests.NAME, told))
    total = sum(look.bytes for look in looks if look.is_counted)
    for look in looks:
        for _ in look.verify():
            if progress is not None and look.is_counted:
                progress(Progress("verify", found.bytes, total, "bytes", 0))
    found.findings += [Finding(UNRECORDED, room, "", "", "closed to this user: not looked at") for room in closed]
    found.findings += _unpublished(location, found, closed)
    gone = [name for name in sorted((listed or set()) - set(names)) if digests.is_lost(location, name)]
    found.findings += [Finding(LOST, name, "", "", "the whole table is gone") for name in gone]
    if CLOSED not in closed:
        found.findings += _accesses(location, found)
    return found


def accept(location: Location, found: Verified) -> None:
    """Go on with what is there: versions that nobody completed and damaged results go, damaged tables are recorded as they are.

    Args:
        location: The lake.
        found: What ``verify`` found.

    Raises:
        BusyError: Somebody else is writing.
    """
    with writer_lock(location, "verify"):
        there = set(digests.stored(location)[0])
        for finding in (f for f in found.findings if f.kind == UNFINISHED):
            location.table_path(finding.table).joinpath(finding.file).unlink(missing_ok=True)
        system, root = location.files()
        results = [f for f in found.findings if f.file.endswith(spools.SUFFIX)]
        for finding in results:
            if system.exists(f"{root}/{finding.file}"):
                system.rm_file(f"{root}/{finding.file}")
        wrong = [f for f in found.findings if f.kind not in {UNFINISHED, UNRECORDED} and f not in results]
        for name in sorted({f.table for f in wrong if not f.file.startswith(_TAGS)}):
            digests.forget(location, name)
            digests.record(location, there & {name})
        digests.enlist(location, there)
        for finding in (f for f in wrong if f.file.startswith(_TAGS)):
            name = finding.file.removeprefix(_TAGS).removesuffix(".json")
            tables.tag(location, finding.table, name, int(finding.version), anew=True)


def _listed(location: Location, into: Verified) -> set[str] | None:
    """Return the tables that were recorded; ``None`` without a list of them."""
    try:
        ledger = digests.read(location, digests.LAKE)
    except StorageError:
        told = "the list of tables is damaged: one that is lost is not told"
        into.findings.append(Finding(DAMAGED, digests.LAKE, "", digests.NAME, told))
        return set()
    return None if ledger is None else set(ledger.entries)


def _accesses(location: Location, into: Verified) -> Iterator[Finding]:
    """Yield lines of the access log that are gone or changed: no file tells, where its digests went, too."""
    try:
        broken = len(access.verify(location))
    except StorageError as error:
        if into.sound:  # else a table that it is told by is damaged, which is a finding already
            yield Finding(UNRECORDED, _LOG, "", "", f"the access log cannot be followed: {error.message}")
        return
    if broken:
        lines = f"{broken:,} line{'s' * (broken != 1)} of the access log {'are' if broken != 1 else 'is'}"
        yield Finding(UNRECORDED, _LOG, "", "", f"{lines} gone or changed: history --access tells which")


def _unpublished(location: Location, into: Verified, closed: Sequence[str]) -> Iterator[Finding]:
    """Yield results of refreshes that have not ended: files that are not as they were written."""
    for root in spools.ROOTS:
        if not any(root.startswith(room) for room in closed):
            for target in spools.targets(location, (root,)):
                for spool in spools.rounds(location, target, (root,)):
                    for file in spool.files():
                        into.files += not into.has_closed
                        if problem := _damage(spool, file):
                            yield Finding(DAMAGED, target, "", f"{spool.folder}/{file}", problem)


def _damage(spool: spools.Spool, file: str) -> str:
    """Return what is wrong with a file of results; empty where it is whole, or was published and let go meanwhile."""
    try:
        spool.read(file)
    except StorageError as error:
        return error.message if file in spool.files() else ""
    return ""


def _tags(location: Location) -> dict[str, dict[str, _Tag]]:
    """Return tags of ours by table and name: the version that each names, and since when."""
    found: dict[str, dict[str, _Tag]] = {}
    try:
        rows = meta.read(location, "tags").to_pylist()
    except StorageError:  # a finding already
        return found
    for row in rows:
        for told in row["versions"] or []:
            found.setdefault(told["table"], {})[row["name"]] = (int(told["version"]), row["at"])
    return found


class _Table:
    """One table of a lake, and what was recorded of it.

    Args:
        location: The lake.
        name: The table.
        into: Gets what is found.
        listed: Tables that were recorded.
        tags: Tags of ours.
        is_counted: Whether it is told how many files it has.
    """

    def __init__(
        self,
        location: Location,
        name: str,
        into: Verified,
        listed: AbstractSet[str],
        tags: Mapping[str, _Tag],
        *,
        is_counted: bool,
    ) -> None:
        self.is_counted = is_counted
        self._location, self._name, self._into, self._tags = location, name, into, tags
        self._ledger: Ledger | None = None
        self._is_told = True
        try:
            self._ledger = digests.read(location, name)  # first: what it knows of is listed then
        except StorageError:
            told = "the digests themselves are damaged: no file can be compared"
            into.findings.append(Finding(DAMAGED, name, "", digests.NAME, told))
            self._is_told = False
        self._known: dict[str, Entry] = {} if self._ledger is None else self._ledger.entries
        self._there = digests.files(location, [name])[name]
        if name in listed and digests.is_lost(location, name):
            told = "the digests are gone: no file can be compared" if self._there else "the whole table is gone"
            into.findings.append(Finding(LOST, name, "", digests.NAME if self._there else "", told))
        self.bytes = sum(entry.size for path, entry in self._known.items() if path in self._there)

    @property
    def is_recorded(self) -> bool:
        """Return whether anything was recorded of it."""
        return self._ledger is not None

    def verify(self) -> Iterator[None]:
        """Add what is found; yields after every file."""
        paths = sorted(self._known.keys() & self._there.keys())
        with ThreadPoolExecutor(digests.THREADS) as pool:
            for path, (size, problem) in zip(paths, pool.map(self._compared, paths), strict=True):
                if self.is_counted:
                    self._into.files += 1
                    self._into.bytes += size
                if problem:
                    self._add(DAMAGED, path, problem)
                yield
        if self._ledger is not None:
            self._lost(self._ledger, sorted(self._known.keys() - self._there.keys()))
            self._unfinished(self._ledger.newest)
        self._check_tags()
        unknown = self._there.keys() - self._known.keys() if self._is_told else set()
        if unknown:
            files = f"{len(unknown):,} file{'s' * (len(unknown) != 1)}"
            told = f"{files} of another tool, an earlier release or a run that did not end: no digest was taken"
            self._into.findings.append(Finding(UNRECORDED, self._name, "", "", told))

    def _compared(self, path: str) -> tuple[int, str]:
        """Return the bytes of a file, and what is wrong with it; empty when it is what was written."""
        found, expected = self._there[path], self._known[path]
        try:
            if found is None or (expected.digest.startswith("sha256:") and found.size == expected.size):
                found = digests.measure(self._location, self._name, path)
        except FileNotFoundError:  # cleaned up since it was listed
            return 0, ""
        except OSError as error:
            return 0, f"it cannot be read: {error.strerror or error}"
        if found.size != expected.size:
            return found.size, f"it has {found.size:,} bytes, not {expected.size:,}"
        return found.size, "" if expected.fits(found) else "its bytes are not those that were written"

    def _lost(self, ledger: Ledger, absent: list[str]) -> None:
        """Find files that are gone though a version needs them; what clean-up by another tool took is not a finding."""
        gone = {version: path for version, path in ledger.manifests.items() if path in set(absent)}
        tagged = self._tagged() if gone else set()
        kept = min(self._versions - tagged, default=0)
        for version, path in sorted(gone.items()):
            if version > self._newest and version == ledger.newest:
                older = f"readers would get version {self._newest}" if self._newest else "readers would get no rows"
                self._add(REVERTED, path, f"the newest version is lost: {older}")
            elif version > kept or version in tagged:
                self._add(LOST, path, "the version is lost")
        for path in absent:
            if not digests.is_manifest(path) and self._needed(path) != []:
                self._add(LOST, path, "it is gone")

    def _unfinished(self, recorded: int) -> None:
        """Find versions after the last that was recorded which cannot be read, from the newest to the first that can."""
        after = {digests.version_of(p): p for p in self._there.keys() - self._known.keys() if digests.is_manifest(p)}
        for version in sorted((v for v in after if v > recorded and self._location.is_local), reverse=True):
            if not (problem := self._unusable(version)):
                return
            told = f"no run completed this version, and it cannot be read: {problem}"
            self._into.findings.append(Finding(UNFINISHED, self._name, str(version), after[version], told))

    def _unusable(self, version: int) -> str:
        """Return why a version cannot be read, as far as sizes of files tell; empty when it can."""
        try:
            dataset = tables.open_table(self._location, self._name, version)
        except StorageError:
            return "its manifest is damaged"
        cut = "" if dataset is None else digests.cut_file(self._location, self._name, dataset)
        return f"{cut} is not complete" if cut else ""

    @cached_property
    def _newest(self) -> int:
        return max(self._versions, default=0)

    @cached_property
    def _versions(self) -> set[int]:
        return {digests.version_of(path) for path in self._there if digests.is_manifest(path)}

    def _tagged(self) -> set[int]:
        """Return the versions that have a tag, of ours or of another tool."""
        try:
            others = set() if self._dataset is None else cleaning.tagged(self._dataset)
        except (OSError, ValueError, RuntimeError):
            others = set()
        return {*(version for version, _ in self._tags.values()), *others}

    def _check_tags(self) -> None:
        """Find tags of ours which Lance, whose tags are what other tools spare, has not or has otherwise."""
        if self._dataset is None or not self._tags:
            return
        try:
            with tables.reading(self._location, self._name):
                made = {int(v["version"]): cleaning.moment(v) for v in self._dataset.versions()}
        except StorageError:  # a manifest is damaged, which is a finding already
            return
        for name, (version, at) in sorted(self._tags.items()):
            if version not in made or made[version] > at:  # lost itself, or of another table of that name
                continue
            kind, problem = DAMAGED, ""
            try:
                named = self._dataset.tags.get_version(name)
                problem = "" if named == version else f"the tag names version {named}"
            except ValueError:
                kind, problem = LOST, "the tag is gone: other tools do not spare the version any more"
            except (OSError, RuntimeError):
                problem = "the tag cannot be read"
            if problem:
                self._into.findings.append(Finding(kind, self._name, str(version), f"{_TAGS}{name}.json", problem))

    @cached_property
    def _dataset(self) -> Any:
        try:
            return (
                tables.open_table(self._location, self._name, self._newest, checked=False) if self._versions else None
            )
        except (OSError, ValueError):
            return None

    def _add(self, kind: str, path: str, problem: str) -> None:
        version = str(digests.version_of(path)) if digests.is_manifest(path) else _spans(self._needed(path) or [])
        self._into.findings.append(Finding(kind, self._name, version, path, problem))

    def _needed(self, path: str) -> list[int] | None:
        """Return the versions that need a file; ``None`` where the manifests do not tell."""
        if self._users is None:
            return None
        folder, _, rest = path.partition("/")
        if folder == "_indices":
            path = f"{folder}/{rest.partition('/')[0]}"
        elif folder == "data" and "/" in rest:  # bytes of pictures lie in a folder named like the data file
            path = f"{folder}/{rest.partition('/')[0]}.lance"
        return self._users.get(path, [])

    @cached_property
    def _users(self) -> dict[str, list[int]] | None:
        try:
            return history.users(self._location, self._name, self._newest)
        except (OSError, ValueError):
            return None


def _spans(versions: list[int]) -> str:
    """Return numbers as spans.

    Example:
        >>> _spans([1, 2, 3, 7, 9, 10])
        '1-3, 7, 9-10'
    """
    starts = [v for v in versions if v - 1 not in versions]
    ends = [v for v in versions if v + 1 not in versions]
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))
