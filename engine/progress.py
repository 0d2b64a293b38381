"""Tell how far long work is, to whoever listens: an ingest, a refresh, or a function that learns inside of a query."""

from __future__ import annotations

import contextlib
import threading
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
_asked = threading.local()
"""The event that stops what this thread does, ``stop``."""


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


@contextlib.contextmanager
def stopped_by(stop: threading.Event) -> Iterator[None]:
    """Let work in this thread end at ``tell`` once the event is set: Ctrl-C reaches the main thread only.

    Example:
        >>> stop = threading.Event()
        >>> stop.set()
        >>> with contextlib.suppress(KeyboardInterrupt), stopped_by(stop):
        ...     tell(Progress("learning", 1, 5, "epochs", 200))
        ...     print("it goes on")
    """
    before, _asked.stop = getattr(_asked, "stop", None), stop
    try:
        yield
    finally:
        _asked.stop = before


def tell(progress: Progress) -> None:
    """Tell how far work is; without a listener nothing happens.

    Raises:
        KeyboardInterrupt: The work was asked to stop (``stopped_by``).
    """
    stop = getattr(_asked, "stop", None)
    if stop is not None and stop.is_set():
        raise KeyboardInterrupt
    for listener in tuple(_listeners):
        listener(progress)
