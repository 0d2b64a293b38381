"""A lake at one snapshot, as a session reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterbalance.engine.catalog import definitions, snapshot
from counterbalance.engine.store.pins import Pin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterbalance.engine.catalog.snapshot import Snapshot
    from counterbalance.engine.store.location import Location


@dataclass(frozen=True, slots=True)
class Pinned:
    """Versions that nothing removes while they are read, dictionaries of codes, and what is declared."""

    pin: Pin
    location: Location
    snapshot: Snapshot
    codes: Mapping[tuple[str, str], list[str | None]]
    declared: definitions.Definitions


def pin(location: Location, at: str | None) -> Pinned:
    """The lake now, at a tag or at a moment."""
    kept = Pin(location)
    taken = snapshot.take(location, at)
    kept.keep(taken.versions)
    return Pinned(kept, location, taken, snapshot.codes(location), definitions.load(location))
