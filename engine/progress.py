"""Tell how far long work is, to whoever listens: an ingest, a refresh, or a function that learns inside of a query."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Progress:
    """Hold how far a run is.

    Args:
        stage: What is being done.
        done: Units done.
        total: Units in all, when known.
        unit: ``"bytes"``, ``"rows"``, or what else is counted.
        rows: Rows, or what else is counted, so far: what a rate is of.
        errors: Rows that failed so far.
    """

    stage: str
    done: int
    total: int | None
    unit: str
    rows: int
    errors: int = 0


_listeners: list[Callable[[Progress], None]] = []


@contextlib.contextmanager
def heard_by(listener: Callable[[Progress], None]) -> Iterator[None]:
    """Let a function hear what ``tell`` is told in this process: a function in a query knows no session.

    Example:
        >>> heard = []
        >>> with heard_by(heard.append):
        ...     tell(Progress("learning", 1, 5, "epochs", 200))
        >>> heard[0].total
        5
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell(progress: Progress) -> None:
    """Tell how far work is; without a listener nothing happens."""
    for listener in tuple(_listeners):
        listener(progress)
