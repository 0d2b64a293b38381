"""Tasks whose worker died: given to a fresh one a few times, then an error that says how and where."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import FunctionError

if TYPE_CHECKING:
    from counterbalance.engine.executors.protocol import Job, Task

AGAIN: Final = 3
"""How often a task is given to a fresh worker."""


class Lost:
    """Counts the workers that died at each task of a job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._times: Counter[int] = Counter()

    def count(self, task: Task, how: str) -> None:
        """Count one more.

        Args:
            task: What it was at.
            how: Such as ``"was ended by SIGSEGV"``.

        Raises:
            FunctionError: It was one too many.
        """
        self._times[task.number] += 1
        if self._times[task.number] > AGAIN:
            hint = "its batch may be too large: a smaller batch size or fewer workers"
            raise FunctionError(
                f"{self._job.sql} of {self._job.table}: the worker {how}, {self._times[task.number]} times, "
                f"in fragment {task.fragment}, _rowid {task.low} to {task.high}",
                code="E8010",
                hint=f"{hint} take less memory"
                if "SIGKILL" in how
                else "what was computed is kept; look at these rows",
            )
