"""What can be given back: results nobody will go on with, tables of dropped views, old versions, deleted rows.

A dry run only looks. Applying holds the locks of writers and of the refresh, so that nobody's half-written file is taken
for a leftover. What a tag names, an open reader is on, or an unfinished run started from stays.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.catalog import access, closed, definitions, file_statistics, meta, runs, snapshot
from counterbalance.engine.catalog.planning import Catalog, queries_over
from counterbalance.engine.errors import CounterbalanceError, RequestError
from counterbalance.engine.executors import spool as spools
from counterbalance.engine.refresh.fingerprint import Fingerprints
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.store import cleaning, enclosing, lock, pins, tables
from counterbalance.engine.store.location import CLOSED
from counterbalance.engine.write.journal import require_lake, settle, writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from counterbalance.engine.store.location import Location

DEFAULT_AGE: Final = dt.timedelta(days=7)
_PATIENCE: Final = 10.0
"""Seconds to wait for readers that have not chosen their versions yet."""
_META: Final = (
    *(meta.stored(name) for name in meta.SCHEMAS),
    *(meta.stored(name, closed=True) for name in meta.CLOSED_PARTS),
)
_LOG: Final = (access.STORED, access.ENDS)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that can go.

    Args:
        kind: ``spool``, ``view`` (the table of a dropped one), ``table`` or ``reader``.
        name: Which.
        what: What of it, and why.
        bytes: How much it frees; of a dry run, nearly. ``None`` of what is closed, for nobody stated a purpose.
    """

    kind: str
    name: str
    what: str
    bytes: int | None


@dataclass(frozen=True, slots=True)
class GcReport:
    """What can go, or went.

    Args:
        findings: In order of kind and name; closed tables, and the journal beside them, are cleaned without a word, since how many
            versions they have answers guesses.
        applied: Whether it went.
        notes: What stays though it is old, and why.
    """

    findings: tuple[Finding, ...]
    applied: bool = False
    notes: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Return all of it that is told."""
        return sum(f.bytes or 0 for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready fields."""
        found = [asdict(f) for f in self.findings]
        return {"applied": self.applied, "bytes": self.bytes, "findings": found, "notes": list(self.notes)}


def gc(
    location: Location,
    *,
    older_than: dt.timedelta = DEFAULT_AGE,
    apply: bool = False,
    wait: float = 1.0,
    results_older_than: dt.timedelta | None = None,
) -> GcReport:
    """Find what nobody needs and, if told so, remove it.

    Args:
        location: The lake.
        older_than: What is younger stays: versions, tables of dropped views, results of a refresh that was killed.
        apply: Remove it.
        wait: Seconds to wait for a writer.
        results_older_than: The same for results of a refresh that was killed, where it is another age.

    Raises:
        BusyError: A refresh or another writer is at work.
        NotFoundError: No lake is there.
        RequestError: A negative age.
    """
    if older_than < dt.timedelta(0):
        raise RequestError("older_than must not be negative", code="E3081", hint="such as 7d, 12h or 0")
    require_lake(location)
    if tables.open_table(location, "meta/runs") is None:
        return GcReport((), applied=apply, notes=("nothing was ever written to it from here",))
    if not apply:
        return GcReport(_told(_Collection(location, older_than).findings()))
    with lock.writer_lock(location, "gc", wait=0.0, name=lock.REFRESH):
        settle(location, wait=wait)
        with lock.writer_lock(location, "gc", wait=wait):
            closed.enclose(location)
        work = _Collection(location, older_than, results_older_than)
        planned = list(work.findings())
        if not planned:
            return GcReport((), applied=True)
        return work.apply(planned, wait)


def _told(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings without tables whose versions are not told."""
    return tuple(f for f in findings if f.kind != "table" or f.bytes is not None)


class _Collection:
    """One look at a lake.

    Args:
        location: The lake.
        age: What is younger stays.
        results: The same for results of a refresh that was killed.
    """

    def __init__(self, location: Location, age: dt.timedelta, results: dt.timedelta | None = None) -> None:
        self._location, self._age = location, age
        self._before = meta.now() - age
        self._results_before = self._before if results is None else meta.now() - results
        self._declared = definitions.load(location)
        self._closed = closed.ever(location) | location.enclosed()
        self._holds_labels = tables.open_table(location, snapshot.SENSITIVE_LABELS) is not None

    def findings(self) -> Iterator[Finding]:
        """Yield everything that can go."""
        for spool, why in self._spools():
            yield self._found("spool", "/".join(spool.folder.split("/")[-2:]), why, self._spool_size(spool))
        keep = self._kept()
        dropped = self._dropped(keep)
        for name, at in dropped.items():
            yield self._found("view", name, f"dropped on {at:%Y-%m-%d}", _all_bytes(self._location, name))
        for name in self._tables():
            if name not in dropped and (found := self._of_table(name, keep.get(name, set()))) is not None:
                yield found
        dead = pins.dead(self._location)
        if dead:
            yield Finding("reader", pins.FOLDER, f"{dead:,} ended without saying so", 0)

    def _found(self, kind: str, name: str, what: str, size: int) -> Finding:
        return Finding(kind, name, what, None if self._is_closed(name) else size)

    def _is_closed(self, name: str) -> bool:
        """Tell whether it is, was made of, or keeps a journal of what needs a purpose: sizes tell how many rows there are."""
        if name.startswith("meta/"):  # a refresh that changed nothing writes less
            return bool(self._closed) or self._holds_labels
        return name.startswith(f"{CLOSED}/") or not self._closed.isdisjoint((name, name.partition("/")[0]))

    # -- spools ------------------------------------------------------------------------------------------------------

    def _spools(self) -> Iterator[tuple[spools.Spool, str]]:
        names = spools.targets(self._location)
        current = self._fingerprints() if names else {}
        for target in names:
            for spool in spools.rounds(self._location, target):
                why = self._why(target, spool, current)
                if why is not None:
                    yield spool, why

    def _why(self, target: str, spool: spools.Spool, current: Mapping[str, str | None]) -> str | None:
        """Return why a spool can go; ``None`` while the next refresh will go on with it."""
        if target not in current:
            return "results of a column that is not declared"
        fingerprint = current[target]
        if fingerprint is not None and not spool.is_of(fingerprint):
            return "results of another definition"
        return "results of a refresh that ended long ago" if self._newest(spool) < self._results_before else None

    def _fingerprints(self) -> dict[str, str | None]:
        """Return the fingerprint of every declared column; ``None`` where a function is missing here."""
        found: dict[str, str | None] = {}
        with queries_over(Catalog(self._location), knows_all=True) as engine:
            known = Fingerprints(self._location, self._declared, engine.expand)
            for target, definition in self._declared.by_target.items():
                try:
                    found[target] = known.of(definition)
                except CounterbalanceError:
                    found[target] = None
        return found

    def _files(self, spool: spools.Spool) -> list[str]:
        system, root = self._location.files()
        return [str(f) for f in system.find(f"{root}/{spool.folder}")]

    def _newest(self, spool: spools.Spool) -> dt.datetime:
        """Return when something was last added to it; the beginning of time for an empty one."""
        system, _ = self._location.files()
        times = [system.modified(f) for f in self._files(spool)]
        aware = (t if t.tzinfo is not None else t.replace(tzinfo=dt.UTC) for t in times)
        return max(aware, default=dt.datetime.min.replace(tzinfo=dt.UTC))

    def _spool_size(self, spool: spools.Spool) -> int:
        system, _ = self._location.files()
        return sum(int(system.size(f) or 0) for f in self._files(spool))

    # -- tables ------------------------------------------------------------------------------------------------------

    def _tables(self) -> list[str]:
        names = {*snapshot.known_tables(self._location), *self._declared.views(), *_META, *_LOG}
        return [n for n in sorted(names) if tables.open_table(self._location, n) is not None]

    def _kept(self) -> dict[str, set[int]]:
        """Return the versions that tags, readers or an unfinished run need, by table."""
        keep = spared(self._location)
        for name, version in snapshot.take(self._location).versions.items():
            keep.setdefault(name, set()).add(version)
        return keep

    def _dropped(self, keep: Mapping[str, set[int]]) -> dict[str, dt.datetime]:
        """Return the tables that dropped views left behind, with the moment they were dropped."""
        newest: dict[str, dict[str, Any]] = {}
        for row in meta.read(self._location, "definitions").to_pylist():
            newest[row["target"]] = row
        found: dict[str, dt.datetime] = {}
        for name, row in sorted(newest.items()):
            if row["kind"] != "view" or row["state"] != "dropped" or name in BASE_TABLES or row["at"] >= self._before:
                continue
            dataset = tables.open_table(self._location, name)
            if dataset is None or cleaning.tagged(dataset) or keep.get(name, set()) - {int(dataset.version)}:
                continue
            if cleaning.moment(dataset.versions()[-1]) <= row["at"]:
                found[name] = row["at"]
        return found

    def _ours(self, name: str) -> bool:
        """Tell whether nobody else writes to a table, so that the locks mean something."""
        return "/" in name or name in BASE_TABLES or name in self._declared.views()

    def _of_table(self, name: str, keep: set[int]) -> Finding | None:
        dataset: Any = tables.open_table(self._location, name)
        with tables.reading(self._location, name):
            old = cleaning.old_versions(dataset, self._before, keep)
        rows = cleaning.deleted_rows(dataset) if self._compacts(name, dataset) else 0
        said = [f"{len(old):,} old version{'s' * (len(old) != 1)}"] if old else []
        if rows:
            said.append("deleted rows" if self._is_closed(name) else f"{rows:,} deleted row{'s' * (rows != 1)}")
        freed = cleaning.removable(dataset, old, alone=self._ours(name))
        if freed and not old:
            said.append("files of writes that failed")
        if rows:
            size = sum(cleaning.sizes(self._location, name, dataset).values())
            freed += size * rows // max(rows + dataset.count_rows(), 1)
        return self._found("table", name, ", ".join(said), freed) if said else None

    def _compacts(self, name: str, dataset: Any) -> bool:
        return name not in _LOG and self._ours(name) and cleaning.wants_compaction(dataset, small=name in _META)

    # -- removing ----------------------------------------------------------------------------------------------------

    def apply(self, planned: list[Finding], wait: float) -> GcReport:
        """Remove what was found; under the refresh lock."""
        notes: list[str] = []
        removed = {f.name: f for f in planned if f.kind != "table"}
        for spool, _ in list(self._spools()):
            spool.remove()
        written = self._compact(planned, wait, notes)
        with contextlib.ExitStack() as held:
            for name in (lock.NAME, lock.TAGS, access.LOCK):
                held.enter_context(lock.writer_lock(self._location, "gc", wait=max(wait, _PATIENCE), name=name))
            if self._readers_have_chosen():
                findings = self._clean(planned, removed, written)
            else:
                findings = [f for f in removed.values() if f.kind == "spool"]
                notes.append("a reader is just opening the lake: old versions were left for the next time")
            runs.record_digests(self._location)
        pins.forget_dead(self._location)
        enclosing.seal(self._location)
        return GcReport(_told(findings), applied=True, notes=tuple(notes))

    def _compact(self, planned: list[Finding], wait: float, notes: list[str]) -> dict[str, int]:
        """Write what has deleted rows again; returns the bytes written, by table."""
        names = [
            f.name
            for f in planned
            if f.kind == "table" and self._compacts(f.name, tables.open_table(self._location, f.name))
        ]
        data = [n for n in names if n not in _META]
        written: dict[str, int] = {}
        if data and snapshot.take(self._location).unfinished is not None:
            notes.append("an ingest waits to be completed: deleted rows stay until then")
            data = []
        details = f"{len(_told(planned)):,} findings"
        if data:
            named = ", ".join(name for name in data if not self._is_closed(name))
            with writing(self._location, "gc", named, wait=wait) as work:
                for name in data:
                    work.committed(name, self._compact_one(name, written))
                work.finish("incremental", {}, details)
        else:
            runs.Run(self._location, "gc", "").note("incremental", counts={}, details=details)
        with lock.writer_lock(self._location, "gc", wait=wait):
            for name in _META:
                dataset = tables.open_table(self._location, name)
                if dataset is not None and self._compacts(name, dataset):
                    self._compact_one(name, written)
        return written

    def _compact_one(self, name: str, written: dict[str, int]) -> int:
        before = cleaning.sizes(self._location, name, tables.existing(self._location, name))
        commits = cleaning.compact(self._location, name, small=name in _META)
        if name in BASE_TABLES:
            file_statistics.keep(self._location, name)
        after = cleaning.sizes(self._location, name, tables.existing(self._location, name))
        written[name] = sum(size for path, size in after.items() if path not in before)
        return commits

    def _readers_have_chosen(self) -> bool:
        deadline = time.monotonic() + _PATIENCE
        while pins.pinned(self._location)[1]:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.05)
        return True

    def _clean(self, planned: list[Finding], removed: dict[str, Finding], written: Mapping[str, int]) -> list[Finding]:
        self._before = meta.now() - self._age  # the versions that were just left behind count too
        keep = self._kept()
        dropped = self._dropped(keep)
        for name in dropped:
            tables.drop(self._location, name)
        findings = [f for f in removed.values() if f.kind != "view" or f.name in dropped]
        said = {f.name: f.what for f in planned if f.kind == "table"}
        for name in self._tables():
            dataset = tables.existing(self._location, name)
            with tables.reading(self._location, name):
                old = cleaning.old_versions(dataset, self._before, keep.get(name, set()))
            freed = cleaning.remove(self._location, name, dataset, old, alone=self._ours(name))
            if name in said:
                findings.append(self._found("table", name, said[name], max(0, freed - written.get(name, 0))))
        return findings


def spared(location: Location) -> dict[str, set[int]]:
    """Return the versions by table that tags name or living readers are on."""
    keep, _ = pins.pinned(location)
    for tag in meta.read(location, "tags").to_pylist():
        for name, version in runs.by_table(tag["versions"]).items():
            keep.setdefault(name, set()).add(version)
    return keep


def _all_bytes(location: Location, name: str) -> int:
    """Return the bytes of a table with all its versions."""
    if location.is_memory:
        dataset = tables.open_table(location, name)
        return 0 if dataset is None else sum(cleaning.sizes(location, name, dataset).values())
    system, root = location.filesystem()
    return int(sum(about["size"] for about in system.find(f"{root}/{location.folder(name)}", detail=True).values()))
