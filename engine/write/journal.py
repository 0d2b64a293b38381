"""Writing that readers see at once or not at all: the writer lock, the journal, and what a killed run left behind."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.catalog import closed, definitions, runs, snapshot
from counterbalance.engine.errors import NotFoundError
from counterbalance.engine.schema import STAMP_SUFFIX
from counterbalance.engine.store import enclosing, history, tables
from counterbalance.engine.store.lock import writer_lock
from counterbalance.engine.write import removal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterbalance.engine.store.location import Location

INGEST: Final = "ingest"
REFRESH: Final = "refresh"
DELETE: Final = "delete"
"""A run that takes images out: one that was cut short is finished by the next writer, not undone."""


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
    run: runs.Run
    seen: snapshot.Snapshot
    own: dict[str, int] = field(default_factory=dict)
    outcome: dict[str, Any] = field(default_factory=dict)

    def committed(self, table: str, count: int = 1) -> None:
        """Say that commits of ours were made on a table; none of them changes a coded column."""
        self.own[table] = self.own.get(table, 0) + count

    def finish(self, mode: str, counts: Mapping[str, int], details: str = "", **more: Any) -> None:
        """Set what the journal says when the run ends; the last call counts."""
        self.outcome = {"mode": mode, "counts": counts, "details": details, **more}

    def coded(self, versions: Mapping[str, int]) -> set[str]:
        """Return tables whose codes hold: those whose versions are the seen ones plus our own commits."""
        before = self.seen.versions
        return {t for t in self.seen.coded if t in versions and versions[t] == before[t] + self.own.get(t, 0)}


@contextlib.contextmanager
def writing(
    location: Location, kind: str, target: str, *, wait: float = 1.0, run: runs.Run | None = None
) -> Iterator[Writing]:
    """Write under the lock; readers stay on what they see until it ends, and go back there when it fails.

    A deletion that fails stays open in the journal, and the next writer finishes it (``recover``).

    While an ingest that was killed waits to be completed, readers stay on the versions before it.

    Args:
        location: The lake.
        kind: Kind of run, for the journal.
        target: What it is about.
        wait: Seconds to wait for another writer.
        run: A run that may write several times, and stays one in the journal.

    Raises:
        BusyError: Somebody else is writing.
        NotFoundError: There is no lake.
    """
    with writer_lock(location, f"{kind} of {target}", wait=wait):
        recover(location)
        closed.enclose(location)
        seen = snapshot.take(location)
        physical = snapshot.newest(location)
        work = Writing(location, run or runs.Run(location, kind, target), seen)
        work.run.opened = False
        work.run.open(seen.versions, seen.coded, physical)
        try:
            yield work
        except BaseException:
            if kind != DELETE:
                _roll_back(work, physical)
            raise
        finally:
            enclosing.seal(location)
        outcome = work.outcome or {"mode": "incremental", "counts": {}}
        if seen.unfinished is None:
            versions = snapshot.newest(location)
            work.run.close("finished", versions, work.coded(versions), **outcome)
        else:
            work.run.note(**outcome)
            wait_again(location, seen)


def wait_again(location: Location, seen: snapshot.Snapshot) -> None:
    """Let readers go on waiting for the ingest that was killed."""
    runs.Run(location, INGEST, str(seen.unfinished)).open(seen.versions, seen.coded)


def _roll_back(work: Writing, physical: Mapping[str, int]) -> None:
    """Take back what we committed, where nobody else committed; of a view whatever came after it."""
    restored = {_undo(work.location, work.run.target, physical)} if work.run.kind == REFRESH else set()
    for table, commits in work.own.items():
        before = physical.get(table)
        alone = tables.latest_version(work.location, table) == (before or 0) + commits
        if before is None or alone:
            tables.restore(work.location, table, before)
            restored.add(table)
    if work.seen.unfinished is not None:
        work.run.note("rolled_back", counts={}, state="rolled_back")
        wait_again(work.location, work.seen)
        return
    versions = snapshot.newest(work.location)
    seen = work.seen.versions
    same = {t for t in work.seen.coded if versions.get(t) == seen[t] or (t in restored and physical.get(t) == seen[t])}
    work.run.close("rolled_back", versions, same, mode="rolled_back", counts={})


def settle(location: Location, *, wait: float) -> None:
    """Tidy up after a refresh that was killed, if one was."""
    if _killed(runs.visible(location)):
        with writer_lock(location, "recovery", wait=wait):
            recover(location)


def _killed(newest: Sequence[Mapping[str, Any]]) -> bool:
    return bool(newest) and newest[-1]["state"] == "running" and newest[-1]["kind"] != INGEST


def recover(location: Location) -> None:
    """Take back the half of a run that was killed, other than an ingest, so that readers never see it. Under the lock.

    A deletion is finished: which images it takes out was written down before the first of them went.

    What a refresh has computed of a column lies in its spool, and is published again. Where others have written to its
    table since, its rows stay: each is right by itself.
    """
    newest = runs.visible(location, 2)
    if not _killed(newest):
        return
    last = newest[-1]
    before = runs.by_table(last["versions_out"] or last["versions"])
    restored = _undo(location, last["target"], before) if last["kind"] == REFRESH else None
    removed = removal.finish(location, last["run_id"]) if last["kind"] == DELETE else {}
    run = runs.Run(location, last["kind"], last["target"], run_id=last["run_id"], started=last["started"])
    before_it = newest[0] if len(newest) > 1 else None
    waiting = before_it if before_it and before_it["state"] == "running" and before_it["kind"] == INGEST else None
    seen = runs.by_table(last["versions"])
    coded = {v["table"] for v in last["versions"] if v["coded"]}
    if waiting is not None:
        run.note("rolled_back", counts={}, details="it was killed", state="rolled_back")
        wait_again(location, snapshot.Snapshot(seen, frozenset(coded), waiting["target"]))
        return
    versions = snapshot.newest(location)
    same = {t for t in coded if versions.get(t) == seen[t] or (t == restored and before.get(t) == seen[t])}
    if removed:
        same |= {t for t in coded if t in versions and history.only_deletes(location, t, seen[t], versions[t])}
        run.close("finished", versions, same, mode="incremental", counts={}, details=removal.said(removed))
        return
    run.close("rolled_back", versions, same, mode="rolled_back", counts={}, details="it was killed")


def _undo(location: Location, target: str, before: Mapping[str, int]) -> str | None:
    """Take back what a killed refresh has committed; returns the table that was restored."""
    definition = definitions.load(location).by_target.get(target)
    if definition is None or definition.kind == "index":
        return None
    table, version = definition.table, before.get(definition.table)
    latest = tables.latest_version(location, table)
    if latest is None or latest == version:
        return None
    own = {definition.name, definition.name + STAMP_SUFFIX}
    if definition.kind == "column" and not history.only_columns(location, table, version, latest, own):
        return None
    tables.restore(location, table, version)
    return table


def require_lake(location: Location) -> None:
    """Raise unless a lake is there."""
    if tables.open_table(location, "meta/runs") is None and not snapshot.newest(location):
        raise NotFoundError.lake(location.uri)
