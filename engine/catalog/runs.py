"""What the journal says, read no further back than the question needs: it grows with every scheduled refresh."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog import definitions, meta
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.store import digests, tables

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import lance

    from counterbalance.engine.store.location import Location

_TABLE: Final = "meta/runs"
WROTE: Final = ("rebuild", "incremental")
"""Modes of a refresh that wrote."""
_WINDOW: Final = 4
"""So many rows at the end are looked at first; each may lie in a file of its own."""


def exist(location: Location) -> bool:
    """Tell whether anything was ever run."""
    dataset = tables.open_table(location, _TABLE)
    return dataset is not None and dataset.count_rows() > 0


def visible(location: Location, count: int = 1) -> list[dict[str, Any]]:
    """Return the newest rows that say what readers see, at most ``count``, the newest last."""
    dataset = tables.open_table(location, _TABLE)
    if dataset is None:
        return []
    try:
        with tables.reading(location, _TABLE):
            found = _visible(dataset, count)
    except OSError:  # clean-up took this version away
        if tables.latest_version(location, _TABLE) == dataset.version:
            raise
        return visible(location, count)
    rows: list[dict[str, Any]] = meta.completed("runs", found).to_pylist()
    return rows


def _visible(dataset: lance.LanceDataset, count: int) -> pa.Table:
    end, window = dataset.count_rows(), _WINDOW
    last = dataset.take(range(max(0, end - window), end)) if end else dataset.schema.empty_table()
    told = last.filter(pc.is_valid(last["versions"]))
    if len(told) >= count:  # mostly, and one read takes half as long as two
        return told.slice(len(told) - count)
    found: list[int] = []
    while end and len(found) < count:
        start = max(0, end - window)
        versions = dataset.take(range(start, end), columns=["versions"])["versions"]
        found = [start + n for n in pc.indices_nonzero(pc.is_valid(versions)).to_pylist()] + found
        end, window = start, window * 16
    return dataset.take(found[-count:]) if found else dataset.schema.empty_table()


def visible_at(location: Location, moment: dt.datetime) -> dict[str, Any] | None:
    """Return the row that says what readers saw at a moment, if anything was there."""
    rows = meta.read(location, "runs", columns=("state", "at", "versions"))
    past = pc.and_(
        pc.not_equal(rows["state"], "running"), pc.less_equal(rows["at"], pa.scalar(moment, rows["at"].type))
    )
    found = rows.filter(pc.and_(past, pc.is_valid(rows["versions"])))
    last: dict[str, Any] | None = found.slice(len(found) - 1).to_pylist()[0] if len(found) else None
    return last


def began(location: Location) -> dt.datetime:
    """Return when the first run ended."""
    rows = meta.read(location, "runs", columns=("state", "at"), where="state <> 'running'")
    first: dt.datetime = pc.min(rows["at"]).as_py()
    return first


def refreshes(
    location: Location, columns: Sequence[str], where: str = "TRUE", *, modes: Sequence[str] = ()
) -> dict[str, dict[str, Any]]:
    """Return the newest finished refresh of every target, the newest last.

    Args:
        location: The lake.
        columns: What to tell of it, columns of ``meta.runs``.
        where: Condition in Lance's SQL; the newest one for which it holds.
        modes: The newest one that came out so; any without them.
    """
    condition = f"kind = 'refresh' AND state = 'finished' AND ({where})"
    if modes:
        condition += f" AND mode IN ({', '.join(map(repr, modes))})"
    rows = meta.read(location, "runs", columns=("target", *columns), where=condition)
    last: dict[str, int] = {}
    for number, target in enumerate(rows["target"].to_pylist()):
        last.pop(target, None)
        last[target] = number
    found = rows.take(pa.array(last.values(), pa.int64())).to_pylist()
    return {row["target"]: row for row in found}


def computed(location: Location) -> dict[str, dict[str, Any]]:
    """Return the newest refresh of every target that tells what it was computed from: its fingerprint, and versions in and out."""
    told = ("run_id", "at", "fingerprint", "versions_in", "versions_out")
    return refreshes(location, told, "fingerprint IS NOT NULL")


def record_digests(location: Location) -> None:
    """Record the digests of all that was written to the lake; for a durable one, once it is on the disk.

    Tables that other tools made are left out: nobody knows who is writing to them.

    Raises:
        StorageError: They cannot be written, or are damaged.
    """
    if location.is_memory:
        return
    names, _ = digests.stored(location)
    is_known = all("/" in name or name in BASE_TABLES for name in names)
    views = {} if is_known else definitions.load(location).views()
    ours = [name for name in names if "/" in name or name in BASE_TABLES or name in views]
    digests.record(location, ours)


def as_versions(versions: Mapping[str, int], coded: Collection[str]) -> list[dict[str, Any]]:
    """Return versions as the journal stores them, sorted by table; ``coded`` names the tables whose codes hold there."""
    return [{"table": t, "version": v, "coded": t in coded} for t, v in sorted(versions.items())]


def by_table(stored: Iterable[Mapping[str, Any]] | None) -> dict[str, int]:
    """Return the versions that ``as_versions`` wrote, by table.

    Example:
        >>> by_table(as_versions({"images": 3}, ())), by_table(None)
        ({'images': 3}, {})
    """
    return {v["table"]: v["version"] for v in stored or ()}


@dataclass
class Run:
    """One run that may write: opens the journal at its first write, and closes it."""

    location: Location
    kind: str
    target: str
    run_id: str = field(default_factory=lambda: secrets.token_hex(6))
    started: dt.datetime = field(default_factory=meta.now)
    opened: bool = False

    def open(self, base: Mapping[str, int], coded: Collection[str], physical: Mapping[str, int] | None = None) -> None:
        """Say that writing begins; readers stay on ``base`` until the run is closed.

        ``physical`` are the newest versions, to go back to after a kill, where readers stay on older ones.
        """
        if not self.opened:
            newest = None if physical is None else as_versions(physical, ())
            self._append("running", base, coded, mode=None, versions_out=newest)
            self.opened = True

    def close(
        self,
        state: str,
        versions: Mapping[str, int] | None,
        coded: Collection[str],
        *,
        mode: str,
        counts: Mapping[str, int],
        details: str = "",
        fingerprint: str | None = None,
        versions_in: Mapping[str, int] | None = None,
        versions_out: Mapping[str, int] | None = None,
    ) -> None:
        """Say that it ended, and with what; readers see ``versions`` from here on, or with ``None`` what they saw."""
        inputs, outputs = (None if v is None else as_versions(v, ()) for v in (versions_in, versions_out))
        more = {"fingerprint": fingerprint, "versions_in": inputs, "versions_out": outputs, **counts}
        self._append(state, versions, coded, mode=mode, details=details, **more)

    def note(self, mode: str, *, state: str = "finished", **told: Any) -> None:
        """Say that it ended without changing what readers see; what is told is that of ``close``."""
        self.close(state, None, (), mode=mode, **told)

    def _append(
        self,
        state: str,
        versions: Mapping[str, int] | None,
        coded: Collection[str],
        *,
        mode: str | None,
        details: str = "",
        **more: Any,
    ) -> None:
        at = meta.now()
        row = {
            "run_id": self.run_id,
            "state": state,
            "at": at,
            "started": self.started,
            "kind": self.kind,
            "target": self.target,
            "mode": mode,
            "seconds": (at - self.started).total_seconds(),
            "details": details,
            "user": meta.user(),
            "versions": None if versions is None else as_versions(versions, coded),
            "access": meta.access_end(self.location),
            **more,
        }
        if state != "running" and mode != "no_op":  # what another run left unfinished is not this one's to record
            record_digests(self.location)
        meta.write(self.location, "runs", [row])
        digests.record(self.location, ["meta/runs"])
