"""Exports as the engine knows them: where the targets are found, and what is told about one that was written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import NotFoundError, did_you_mean
from counterbalance.engine.plugins import by_name, called

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP: Final = "counterbalance.exports"
"""Entry points: name of a target to a function ``export(lake, what, folder, **options) -> Exported``."""


@dataclass(frozen=True, slots=True)
class Exported:
    """An export that was written.

    Args:
        folder: Where.
        to: The target, such as ``webdataset``.
        rows: Rows that are there.
        skipped: Rows that were left out, for want of a picture.
        shards: Files or folders of rows, each whole.
        bytes: Bytes of all shards.
        seconds: How long it took.
        notes: What the reader must know.
        pushed: Address that it was uploaded to, where that was asked for.
    """

    folder: str
    to: str
    rows: int
    skipped: int
    shards: int
    bytes: int
    seconds: float
    notes: list[str] = field(default_factory=list)
    pushed: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready fields."""
        return {name: getattr(self, name) for name in self.__slots__}


def targets() -> list[str]:
    """Return names of what can be exported to."""
    return sorted(by_name(GROUP))


def target(name: str) -> Callable[..., Exported]:
    """Return the function that exports to a target.

    Raises:
        NotFoundError: There is none of that name.
    """
    known, name = by_name(GROUP), called(name, GROUP)
    if name not in known:
        told = f"nothing exports to {name!r}{did_you_mean(name, targets())}"
        raise NotFoundError(told, code="E1271", hint="targets: " + ", ".join(targets()))
    found: Callable[..., Exported] = known[name].load()
    return found
