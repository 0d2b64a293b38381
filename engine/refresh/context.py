"""What all stages of one refresh share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from counterbalance.engine.catalog import closed as closing
from counterbalance.engine.catalog import definitions, runs
from counterbalance.engine.catalog.closed import Closed
from counterbalance.engine.errors import RequestError
from counterbalance.engine.progress import Progress
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.engine.catalog.definitions import Definition, Definitions
    from counterbalance.engine.refresh.fingerprint import Fingerprints
    from counterbalance.engine.refresh.model import Options, Stage
    from counterbalance.engine.store.location import Location

_SELDOM: Final = 1.0
"""Seconds between two calls that tell of something closed how far it is."""


@dataclass
class Context:
    """One refresh of one lake.

    Args:
        location: The lake.
        definitions: What is declared.
        fingerprints: Of all of it.
        options: What was asked for.
        progress: Called as rows are done.
        notes: What a person should know.
        closed: What is closed.
        run: The present stage in the journal.
        sensitive: A purpose is stated: numbers of closed rows are told.
    """

    location: Location
    definitions: Definitions
    fingerprints: Fingerprints
    options: Options
    progress: Callable[[Progress], None] | None = None
    notes: list[str] = field(default_factory=list)
    closed: Closed = field(default_factory=Closed)
    run: runs.Run | None = None
    sensitive: bool = False
    _told_at: dict[str, float] = field(default_factory=dict)

    def tell(self, target: str, done: int, total: int | None, errors: int = 0) -> None:
        """Tell the progress of a stage in rows; of something closed without what its table or the journal would not tell either."""
        if self.progress is None:
            return
        definition = self.definitions.by_target[target]
        if not self.sensitive and definition.table in self.closed.views:
            if time.monotonic() - self._told_at.get(target, -_SELDOM) < _SELDOM:
                return  # calls are counted: there may be one a row
            self._told_at[target] = time.monotonic()
            done, total = 0, None
        errors = errors if self.tells(definition) else 0
        self.progress(Progress(target, done, total, "rows", done, errors))

    def told(self, stage: Stage, *, is_due: bool) -> Stage:
        """Return a stage as it leaves the refresh: of closed rows neither numbers nor whether any are new, without a purpose."""
        if self.sensitive:
            return stage
        definition = self.definitions.by_target[stage.target]
        if self.tells(definition):
            return replace(stage, versions_in=closing.told(stage.versions_in, closing.ever(self.location)))
        return stage.untold(self._closed_above(definition), is_due=is_due)

    def is_due(self, definition: Definition) -> bool:
        """Tell whether something closed that it is made of was refreshed since it was: what the journal says of all rows alike."""
        above = self._closed_above(definition)
        if not above:
            return False
        wrote, done = (runs.refreshes(self.location, ("at",), modes=m) for m in (runs.WROTE, (*runs.WROTE, "no_op")))
        own = done.get(definition.target)
        return own is None or any(wrote[name]["at"] > own["at"] for name in above if name in wrote)

    def _closed_above(self, definition: Definition) -> list[str]:
        """Return the closed views and columns that something closed is made of."""
        if not self.closed.holds(definition):
            return []
        return sorted(d.target for d in self.definitions.upstream(definition) if self.closed.holds(d))

    def tells(self, definition: Definition) -> bool:
        """Tell whether numbers of rows and bytes of something are told."""
        return self.sensitive or not self.closed.holds(definition)

    def check_current(self, definition: Definition) -> None:
        """Refuse to publish what was computed of a definition that is not there any more. Under the writer lock.

        Raises:
            RequestError: It was dropped or declared anew meanwhile: its rows may be closed where those of the new one are not.
        """
        now = definitions.load(self.location).by_target.get(definition.target)
        if now is None or replace(now, schedule=None) != replace(definition, schedule=None):
            raise RequestError(
                f"{definition.target} was dropped or declared anew while it was computed",
                code="E3428",
                hint="what was computed of it meanwhile is not published; refresh again",
            )

    def versions(self, relations: set[str]) -> dict[str, int]:
        """Return the newest version of these tables."""
        found = {r: tables.latest_version(self.location, r) for r in sorted(relations)}
        return {r: v for r, v in found.items() if v is not None}
