"""What its schedule says is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterbalance.engine.catalog import meta, runs
from counterbalance.engine.schedule import last_due

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.catalog.definitions import Definition, Definitions
    from counterbalance.engine.store.location import Location


def only_due(
    location: Location, definitions: Definitions, wanted: Sequence[Definition], *, due: bool
) -> list[Definition]:
    """Return those whose schedule had a time since they were last refreshed, with what they read; all of them unless ``due``.

    One that failed stays due: the next call tries it again, and fails again where nothing was mended.
    """
    if not due:
        return list(wanted)
    done, now = last_done(location), meta.now()
    targets = definitions.with_upstream(d for d in wanted if is_due(d, done, now))
    return [d for d in wanted if d.target in targets]


def is_due(definition: Definition, done: Mapping[str, dt.datetime], now: dt.datetime) -> bool:
    """Tell whether a scheduled time lies between its last refresh that did not fail and now."""
    if definition.schedule is None:
        return False
    last = done.get(definition.target)
    return last is None or last < last_due(definition.schedule, now)


def last_tried(location: Location) -> dict[str, dt.datetime]:
    """Return when a refresh of each target last ended, whatever came of it."""
    return {target: row["at"] for target, row in runs.refreshes(location, ["at"]).items()}


def last_done(location: Location) -> dict[str, dt.datetime]:
    """Return when a refresh of each target last ended that did not fail."""
    return {target: row["at"] for target, row in runs.refreshes(location, ["at"], "mode <> 'failed'").items()}
