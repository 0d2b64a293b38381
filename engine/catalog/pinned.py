"""A lake at one snapshot, as a session reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterbalance.engine.catalog import closed, definitions, meta, snapshot
from counterbalance.engine.store.pins import Pin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterbalance.engine.catalog.snapshot import Snapshot
    from counterbalance.engine.store.location import Location


@dataclass(frozen=True, slots=True)
class Pinned:
    """Versions that nothing removes while they are read, dictionaries of codes, what is declared, and what is closed."""

    pin: Pin
    location: Location
    snapshot: Snapshot
    codes: Mapping[tuple[str, str], list[str | None]]
    declared: definitions.Definitions
    closed: closed.Closed


def pin(location: Location, at: str | None) -> Pinned:
    """Return the lake now, at a tag or at a moment."""
    kept, begun = Pin(location), meta.now()
    taken = snapshot.take(location, at)
    kept.keep(taken.versions)
    history, codes = definitions.history(location), snapshot.codes(location)
    untold = taken.coded - {table for table, _ in codes}
    snapshot.require_codes(location, {t: v for t, v in taken.versions.items() if t in untold}, codes)
    hidden = closed.load(location, taken.versions, taken.moment or begun, history)
    return Pinned(kept, location, taken, codes, definitions.declared(history), hidden)
