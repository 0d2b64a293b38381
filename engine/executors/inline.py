"""Tasks in this process, one after the other: no isolation, no start-up, and functions that live nowhere else."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from counterbalance.engine.executors import devices
from counterbalance.engine.executors.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterbalance.engine.executors.protocol import Event, Job, Task


class Inline:
    """Runs a worker in this process.

    Args:
        workers: Ignored: there is one.
        device: Where models go; ``"auto"`` is the first GPU if the column's functions can use one.
    """

    def __init__(self, workers: int | None = None, device: str = "auto") -> None:
        del workers
        self._device = device

    def run(self, job: Job, tasks: Sequence[Task]) -> Iterator[Event]:
        """Run all tasks in their order."""
        if not tasks:
            return
        wants = devices.wanted(job)
        worker = Worker(replace(job, device=devices.available(self._device, wants=wants)[0]))
        try:
            events = worker.run(*tasks)
            while (event := _quietly(events)) is not None:
                yield event
        finally:
            worker.close()


def _quietly(events: Iterator[Event]) -> Event | None:
    """Return the next event; what a function prints goes to stderr, for stdout holds results."""
    with contextlib.redirect_stdout(sys.stderr):
        return next(events, None)
