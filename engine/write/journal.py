"""Writing that readers see at once or not at all: the writer lock, the journal, and what a killed run left behind."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.catalog import definitions, meta, snapshot
from counterbalance.engine.errors import NotFoundError
from counterbalance.engine.store import tables
from counterbalance.engine.store.lock import writer_lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterbalance.engine.store.location import Location

INGEST: Final = "ingest"


@dataclass
class Writing:
    """One journaled run under the writer lock.

    Args:
        location: The lake.
        run: Its row in ``meta.runs``.
        seen: What readers see while it writes.
        own: Commits made, by table; they tell whether the codes of a table still hold.
    """

    location: Location
    run: meta.Run
    seen: snapshot.Snapshot
    own: dict[str, int] = field(default_factory=dict)
    outcome: dict[str, Any] = field(default_factory=dict)

    def committed(self, table: str, count: int = 1) -> None:
        """Say that commits of ours were made on a table; none of them changes a coded column."""
        self.own[table] = self.own.get(table, 0) + count

    def finish(self, mode: str, counts: Mapping[str, int], details: str = "", **more: Any) -> None:
        """What the journal says when the run ends; the last call counts."""
        self.outcome = {"mode": mode, "counts": counts, "details": details, **more}

    def coded(self, versions: Mapping[str, int]) -> set[str]:
        """Tables whose codes hold: those whose versions are the seen ones plus our own commits."""
        before = self.seen.versions
        return {t for t in self.seen.coded if t in versions and versions[t] == before[t] + self.own.get(t, 0)}


@contextlib.contextmanager
def writing(location: Location, kind: str, target: str, *, wait: float = 1.0) -> Iterator[Writing]:
    """Write under the lock; readers stay on what they see until it ends, and go back there when it fails.

    While an ingest that was killed waits to be completed, readers stay on the versions before it.

    Args:
        location: The lake.
        kind: Kind of run, for the journal.
        target: What it is about.
        wait: Seconds to wait for another writer.

    Raises:
        BusyError: Somebody else is writing.
        NotFoundError: There is no lake.
    """
    with writer_lock(location, f"{kind} of {target}", wait=wait):
        recover(location)
        seen = snapshot.take(location)
        work = Writing(location, meta.Run(location, kind, target), seen)
        if seen.unfinished is None:
            work.run.open(seen.versions, seen.coded)
        physical = snapshot.newest(location)
        try:
            yield work
        except BaseException:
            _roll_back(work, physical)
            raise
        outcome = work.outcome or {"mode": "incremental", "counts": {}}
        if seen.unfinished is None:
            versions = snapshot.newest(location)
            work.run.close("finished", versions, work.coded(versions), **outcome)
        else:
            work.run.note(**outcome)


def _roll_back(work: Writing, physical: Mapping[str, int]) -> None:
    for table, commits in work.own.items():
        before = physical.get(table)
        if before is None or tables.latest_version(work.location, table) == before + commits:
            tables.restore(work.location, table, before)
    if work.seen.unfinished is None:
        versions = snapshot.newest(work.location)
        same = {t for t in work.seen.coded if versions.get(t) == work.seen.versions[t]}
        work.run.close("rolled_back", versions, same, mode="rolled_back", counts={})


def recover(location: Location) -> None:
    """After a run that was killed, other than an ingest: its half of a view goes, its rows of columns stay.

    Every row of a generated column that was published is right by itself, whatever came after it; a view is one whole.
    """
    runs = [r for r in meta.read(location, "runs").to_pylist() if r["versions"] is not None]
    if not runs or runs[-1]["state"] != "running" or runs[-1]["kind"] == INGEST:
        return
    last = runs[-1]
    before = {v["table"]: v["version"] for v in last["versions"]}
    for name in definitions.load(location).views():
        found = tables.latest_version(location, name)
        if name == last["target"] and found is not None and found != before.get(name):
            tables.restore(location, name, before.get(name))
    run = meta.Run(location, last["kind"], last["target"], run_id=last["run_id"], started=last["started"])
    versions = snapshot.newest(location)
    coded = {v["table"] for v in last["versions"] if v["coded"] and versions.get(v["table"]) == v["version"]}
    run.close("rolled_back", versions, coded, mode="rolled_back", counts={}, details="it was killed")


def require_lake(location: Location) -> None:
    """Raise unless a lake is there."""
    if tables.open_table(location, "meta/runs") is None and not snapshot.newest(location):
        raise NotFoundError.lake(location.uri)
