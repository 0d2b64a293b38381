"""What an executor is given and what it tells: jobs, tasks and events, all of them plain data.

An executor is a class with one method, ``run(job, tasks)``, that yields events until every task is done. It calls
``work.Worker(job).run(task, …)`` wherever it likes; a task that was lost with its worker is simply run again, because what a
task has computed lies in the spool and is not computed twice.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from counterbalance.engine.errors import (
    CounterbalanceError,
    FunctionError,
    LimitError,
    NotFoundError,
    RefusedError,
    RequestError,
    SensitiveError,
    SourceError,
    SqlError,
    StorageError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_KINDS: Final = (
    NotFoundError,
    RequestError,
    SqlError,
    RefusedError,
    SensitiveError,
    SourceError,
    LimitError,
    StorageError,
    FunctionError,
)


@dataclass(frozen=True, slots=True)
class Job:
    """One column to compute.

    Args:
        uri: The lake.
        storage_options: For its object store.
        table: Table of the column.
        version: Version of the table to read.
        sql: The column's expression.
        type: SQL type it was declared with, if any.
        key: Key columns of the table, for naming rows that fail.
        stamps: Stamp columns of the generated columns that the expression reads.
        stale: Lance filter that selects the rows to compute.
        spool: Folder of results, relative to the lake.
        batch_size: Rows at once, or ``None`` for what the functions like.
        device: ``"cpu"``, ``"cuda"``, ``"cuda:0"`` …
        udfs: Files of the user's own functions.
        closed: Its values are closed: errors tell no text that may hold some.
        images: Version of ``images`` whose pictures are read by key, where the expression needs them.
    """

    uri: str
    storage_options: Mapping[str, str]
    table: str
    version: int
    sql: str
    type: str | None
    key: tuple[str, ...]
    stamps: tuple[str, ...]
    stale: str | None
    spool: str
    batch_size: int | None
    device: str
    udfs: tuple[str, ...]
    closed: bool = False
    images: int | None = None

    def to_json(self) -> str:
        """Write it for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Read it as another process wrote it."""
        body = json.loads(text)
        for name in ("key", "stamps", "udfs"):
            body[name] = tuple(body[name])
        return cls(**body)


@dataclass(frozen=True, slots=True)
class Task:
    """Rows of one fragment, by row id from ``low`` to ``high`` inclusive; ``count`` of them are stale, if that is known."""

    number: int
    fragment: int
    low: int
    high: int
    count: int | None = None

    @property
    def rows(self) -> int:
        """Return how many rows it has at most."""
        return self.high - self.low + 1 if self.count is None else self.count


@dataclass(frozen=True, slots=True)
class Event:
    """What happened in a task.

    Rows are told after they are safe in the spool, so those of a worker that died in between are never told: what was
    computed is what the spool holds.

    Args:
        task: Its number.
        rows: Rows computed just now.
        errors: How many of them failed.
        message: The first failure among them, if any.
        done: The task is finished.
        note: Something a person should know, such as a smaller batch size.
        blank: How many of them have no stored picture, where the column reads pictures.
    """

    task: int
    rows: int = 0
    errors: int = 0
    message: str | None = None
    done: bool = False
    note: str | None = None
    blank: int = 0

    def to_json(self) -> str:
        """Write it for another process."""
        return json.dumps(asdict(self))


class Executor(Protocol):
    """Runs the tasks of a job somewhere. Closing the iterator stops all of it."""

    def run(self, job: Job, tasks: Sequence[Task]) -> Iterator[Event]:
        """Run all tasks; yields events in any order, a done one for each task.

        Raises:
            CounterbalanceError: The function cannot be loaded, must not fail (``on_error = "raise"``), or its worker
                died again and again.
        """


def as_error(body: Mapping[str, Any]) -> CounterbalanceError:
    """Return an error that another process told as ``CounterbalanceError.to_dict``, of the class that its code belongs to.

    Example:
        >>> as_error({"code": "E6011", "message": "the disk is full", "hint": None})
        StorageError('the disk is full')
    """
    code = str(body["code"])
    kind = max(
        (k for k in _KINDS if code.startswith(k.family)), key=lambda k: len(k.family), default=CounterbalanceError
    )
    error = kind(str(body["message"]), code=code, hint=body.get("hint"))
    error.sql, error.line, error.column = body.get("sql"), body.get("line"), body.get("column")
    return error
