"""What the journal says, read no further back than the question needs: it grows with every scheduled refresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog import meta
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    import lance

    from counterbalance.engine.store.location import Location

_TABLE: Final = "meta/runs"
WROTE: Final = ("rebuild", "incremental")
"""Modes of a refresh that wrote."""
_WINDOW: Final = 4
"""So many rows at the end are looked at first; each may lie in a file of its own."""


def exist(location: Location) -> bool:
    """Whether anything was ever run."""
    dataset = tables.open_table(location, _TABLE)
    return dataset is not None and dataset.count_rows() > 0


def visible(location: Location, count: int = 1) -> list[dict[str, Any]]:
    """The newest rows that say what readers see, at most ``count``, the newest last."""
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
    found: list[int] = []
    while end and len(found) < count:
        start = max(0, end - window)
        versions = dataset.take(range(start, end), columns=["versions"])["versions"]
        found = [start + n for n in pc.indices_nonzero(pc.is_valid(versions)).to_pylist()] + found
        end, window = start, window * 16
    return dataset.take(found[-count:]) if found else dataset.schema.empty_table()


def visible_at(location: Location, moment: dt.datetime) -> dict[str, Any] | None:
    """The row that says what readers saw at a moment, if anything was there."""
    rows = meta.read(location, "runs", columns=("state", "at", "versions"))
    past = pc.and_(
        pc.not_equal(rows["state"], "running"), pc.less_equal(rows["at"], pa.scalar(moment, rows["at"].type))
    )
    found = rows.filter(pc.and_(past, pc.is_valid(rows["versions"])))
    last: dict[str, Any] | None = found.slice(len(found) - 1).to_pylist()[0] if len(found) else None
    return last


def began(location: Location) -> dt.datetime:
    """When the first run ended."""
    rows = meta.read(location, "runs", columns=("state", "at"), where="state <> 'running'")
    first: dt.datetime = pc.min(rows["at"]).as_py()
    return first


def refreshes(
    location: Location, columns: Sequence[str], where: str = "TRUE", *, modes: Sequence[str] = ()
) -> dict[str, dict[str, Any]]:
    """The newest finished refresh of every target, the newest last.

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
    """The newest refresh of every target that tells what it was computed from: its fingerprint, and versions in and out."""
    told = ("run_id", "at", "fingerprint", "versions_in", "versions_out")
    return refreshes(location, told, "fingerprint IS NOT NULL")
