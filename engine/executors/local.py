"""Worker processes on this machine, one a device; small jobs, and functions that only this process has, stay in it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.executors import devices
from counterbalance.engine.executors.inline import Inline
from counterbalance.engine.executors.process_pool import Crew
from counterbalance.engine.executors.protocol import Event
from counterbalance.engine.executors.worker_main import Hello
from counterbalance.engine.functions import functions
from counterbalance.engine.store.location import Location

if TYPE_CHECKING:
    import importlib.machinery
    from collections.abc import Iterator, Sequence

    from counterbalance.engine.executors.protocol import Job, Task
    from counterbalance.engine.functions import Function
    from counterbalance.engine.sql.expression import Expression

SMALL: Final = 20_000
"""Up to so many rows, one worker on the CPU is this process: starting another takes as long as the work."""


class Local:
    """Runs workers as processes that are started anew, never forked.

    Args:
        workers: How many; ``None`` for one a device. On the CPU each may use its share of the cores.
        device: ``"auto"`` for every GPU if the column's functions can use one, else the CPU.
    """

    def __init__(self, workers: int | None = None, device: str = "auto") -> None:
        self._workers, self._device = workers, device

    def run(self, job: Job, tasks: Sequence[Task]) -> Iterator[Event]:
        """Run all tasks, each worker one at a time."""
        if not tasks:
            return
        expression = devices.expression(job)
        device = self._device if expression.device == "auto" else "cpu"
        only_here = tied(job, expression)
        if only_here is not None and (self._workers or 1) > 1:
            yield Event(tasks[0].number, note=f"one worker, in this process: {only_here}")
        small = device == "cpu" and (self._workers or 1) == 1 and rows(tasks) <= SMALL
        if small or only_here is not None:
            yield from Inline(device=self._device).run(job, tasks)
            return
        yield from Crew(hello(replace(job, device=device), expression), tasks, self._workers).run()


def rows(tasks: Sequence[Task]) -> int:
    """Return how many rows the tasks have at most."""
    return sum(task.rows for task in tasks)


def hello(job: Job, expression: Expression) -> Hello:
    """Return what a worker elsewhere must know, whatever folder it runs in."""
    used = [functions()[call.function] for call in expression.calls]
    modules = dict.fromkeys(f.call.__module__ for f in used if f.source is None)
    place = Location(job.uri)
    named = [
        *(str(Path(f).expanduser().resolve()) for f in job.udfs),
        *(f.source for f in used if f.source is not None),
    ]
    files = tuple(dict.fromkeys(named))
    there = replace(job, uri=place.root if place.is_local else job.uri, udfs=files)
    return Hello(there, tuple(modules), tuple(p or str(Path.cwd()) for p in sys.path))


def tied(job: Job, expression: Expression) -> str | None:
    """Return why a job can run in this process only, if so."""
    if Location(job.uri).is_memory:
        return "the lake lives in its memory"
    for call in expression.calls:
        function = functions()[call.function]
        if not can_be_imported(function):
            return f"{function.name}() is declared in it; name a file of functions to use more"
    return None


def can_be_imported(function: Function) -> bool:
    """Tell whether another process finds the function: in a file that users name, or by importing its module."""
    if function.source is not None:
        return True
    name = function.call.__module__
    spec = None if name == "__main__" or "<locals>" in function.call.__qualname__ else _spec(name)
    file: Any = getattr(sys.modules.get(name), "__file__", None)
    return spec is not None and spec.origin is not None and file is not None and Path(spec.origin) == Path(file)


def _spec(name: str) -> importlib.machinery.ModuleSpec | None:
    """Return where an import would find a module, whatever is loaded under that name now."""
    path, found = None, None
    for end in (i for i, letter in enumerate(name + ".") if letter == "."):
        found = next((s for f in sys.meta_path if (s := f.find_spec(name[:end], path)) is not None), None)
        if found is None:
            return None
        path = found.submodule_search_locations
    return found
