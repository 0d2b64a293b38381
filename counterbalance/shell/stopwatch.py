"""Measure how long work takes, without the waits for whoever reads its results."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Stopwatch:
    """Seconds of work: a pager or a slow pipe that makes us wait does not count."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._idle = 0.0
        self._paused_at: float | None = None

    @property
    def seconds(self) -> float:
        """Return seconds since the start, waits left out."""
        paused_at = self._paused_at
        until = time.monotonic() if paused_at is None else paused_at
        return until - self._started - self._idle

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count what happens inside."""
        self._paused_at = began = time.monotonic()
        try:
            yield
        finally:
            self._idle += time.monotonic() - began
            self._paused_at = None
