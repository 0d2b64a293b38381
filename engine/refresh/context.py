"""What all stages of one refresh share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from counterbalance.engine.catalog import definitions
from counterbalance.engine.catalog.closed import Closed
from counterbalance.engine.errors import RequestError
from counterbalance.engine.store import tables
from counterbalance.engine.write.ingest import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.engine.catalog import meta
    from counterbalance.engine.catalog.definitions import Definition, Definitions
    from counterbalance.engine.refresh.fingerprint import Fingerprints
    from counterbalance.engine.refresh.model import Options
    from counterbalance.engine.store.location import Location


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
    """

    location: Location
    definitions: Definitions
    fingerprints: Fingerprints
    options: Options
    progress: Callable[[Progress], None] | None = None
    notes: list[str] = field(default_factory=list)
    closed: Closed = field(default_factory=Closed)
    run: meta.Run | None = None

    def tell(self, target: str, done: int, total: int | None, errors: int = 0) -> None:
        """Progress of a stage in rows."""
        if self.progress is not None:
            self.progress(Progress(target, done, total, "rows", done, errors))

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
                hint="nothing of it was published; refresh again",
            )

    def versions(self, relations: set[str]) -> dict[str, int]:
        """Newest version of these tables."""
        found = {r: tables.latest_version(self.location, r) for r in sorted(relations)}
        return {r: v for r, v in found.items() if v is not None}
