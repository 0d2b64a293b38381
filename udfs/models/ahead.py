"""Pictures are decoded and resized ahead of the device: in processes while a GPU computes, in place on a CPU.

What a call needs is prepared while the device works at the batch before, and where it is known which call comes next
(``Ahead.expect``), the beginning of that one, too.

On a CPU the model has every core already, and what ran beside it would only slow it down.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from counterbalance.engine.images import ImageError, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Executor, Future

    import pyarrow as pa

    Prepared = tuple[list[int], Any, dict[int, str]]
    Work = tuple[Sequence[int], Sequence[tuple[Any, ...]]]

T = TypeVar("T")
R = TypeVar("R")
_FEW: Final = 128
"""Fewer pictures are not worth starting processes for."""
_MOST_PROCESSES: Final = 16
_TASK: Final = 16
"""Pictures at most that a process is given at once: few, so that every process works at the next batch."""
_DEPTH: Final = 2
"""Tasks a process that are under way at most, beside those of one batch."""


class Ahead:
    """Prepares batches of pictures. Close it in the end.

    Args:
        prepare: Turns a decoded picture, and what else there is of its row, into an array (into anything, if they are not
            stacked); an ``ImageError`` is one of the row. Importable by name from another process (a function of a module,
            a ``functools.partial`` or an instance of a class of one).
        device: Where the model runs; processes are used when it is a GPU.
        processes: How many; ``None`` for one a core but one.
        stack: The arrays have one shape, and come as one.
    """

    def __init__(
        self,
        prepare: Callable[..., Any],
        device: str,
        processes: int | None = None,
        *,
        stack: bool = True,
    ) -> None:
        self._stack = stack
        self._of = partial(_prepared, prepare=prepare, stack=stack)
        cores = min(
            _MOST_PROCESSES, (os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()) or 1
        )
        self._count = (cores - 1 if device.startswith("cuda") else 0) if processes is None else processes
        self._pool: ProcessPoolExecutor | None = None
        self._coming: _Order | None = None
        self._begun: _Order | None = None
        self._under_way: deque[Future[Prepared]] = deque()
        self._waiting: Iterator[Work] = iter(())
        self._left = 0

    def expect(self, images: pa.Array, rows: int, *others: pa.Array) -> None:
        """Return what ``batches`` will be given the time after next: begun while the last batch before it is computed."""
        self._coming = _Order((images, *others), rows, self._count) if self._count else None

    def batches(self, images: pa.Array, rows: int, *others: pa.Array) -> Iterator[Prepared]:
        """Yield prepared pictures in order.

        Args:
            images: Encoded pictures, binary.
            rows: Pictures of a batch.
            others: What else ``prepare`` is given of each row; rows with a NULL anywhere are passed over.

        Yields:
            Row numbers, their arrays (stacked, ``None`` where not one could be read; or a list), and the reason by row number
            of those that could not.
        """
        order, self._begun = self._begun, None
        if order is None or self._left or not order.is_of((images, *others), rows):
            order = _Order((images, *others), rows, self._count)
            self._stop()
            if not self._count or (self._pool is None and order.pictures < _FEW):
                self._coming = None
                yield from map(self._of, order.batches())
                return
            self._waiting = chain(order.tasks(), self._following())
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._count, mp_context=get_context("spawn"))
        self._left = sum(order.parts)
        for parts in order.parts:
            yield self._joined([self._next(order.most) for _ in range(parts)])

    def _next(self, most: int) -> Prepared:
        """Return the next task that is done, while others are under way."""
        assert self._pool is not None  # noqa: S101 - made before it is asked
        while len(self._under_way) < most and (task := next(self._waiting, None)) is not None:
            self._under_way.append(self._pool.submit(self._of, task))
        done = self._under_way.popleft().result()
        self._left -= 1
        return done

    def _following(self) -> Iterator[Work]:
        """Yield the tasks of what is expected, one call after the other."""
        while self._coming is not None:
            self._begun, self._coming = self._coming, None
            yield from self._begun.tasks()

    def _stop(self) -> None:
        """Forget what was begun for a call that did not come."""
        for future in self._under_way:
            future.cancel()
        self._under_way.clear()
        self._waiting, self._left = iter(()), 0

    def _joined(self, parts: Sequence[Prepared]) -> Prepared:
        """Return one batch of the tasks that it was cut into."""
        found = [row for rows, _, _ in parts for row in rows]
        errors = {row: reason for _, _, errors in parts for row, reason in errors.items()}
        arrays = [part for _, part, _ in parts if part is not None]
        if not self._stack:
            return found, list(chain.from_iterable(arrays)), errors
        return found, np.concatenate(arrays) if arrays else None, errors

    def close(self) -> None:
        """End the processes."""
        self._stop()
        self._begun = self._coming = None
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


class _Order:
    """Pictures of a call, cut into the device's batches, and these into tasks of processes.

    Attributes:
        pictures: How many there are to decode.
        parts: Tasks of each batch.
        most: Tasks that are under way at most.
    """

    def __init__(self, columns: tuple[pa.Array, ...], rows: int, processes: int) -> None:
        self._columns, self._rows = columns, rows
        valid = np.all([column.is_valid().to_numpy(zero_copy_only=False) for column in columns], axis=0)
        there = np.flatnonzero(valid).tolist()
        self._batches = _cut(there, rows)
        size = max(1, min(_TASK, rows // max(1, processes)))
        self._tasks = [_cut(batch, size) for batch in self._batches]
        self.pictures, self.parts = len(there), [len(tasks) for tasks in self._tasks]
        self.most = (self.parts or [1])[0] + _DEPTH * processes

    def is_of(self, columns: tuple[pa.Array, ...], rows: int) -> bool:
        """Return whether it is the order that these make."""
        same = rows == self._rows and len(columns) == len(self._columns)
        return same and all(one.equals(two) for one, two in zip(columns, self._columns, strict=True))

    def batches(self) -> Iterator[Work]:
        """Return the work of each batch."""
        return map(self._work, self._batches)

    def tasks(self) -> Iterator[Work]:
        """Return the work of each task."""
        return map(self._work, chain.from_iterable(self._tasks))

    def _work(self, rows: list[int]) -> Work:
        return rows, [tuple(column[row].as_py() for column in self._columns) for row in rows]


def in_order(pool: Executor, call: Callable[[T], R], work: Iterable[T], most: int) -> Iterator[R]:
    """Yield the results of a call in the order of the work, of which at most so many are under way.

    Args:
        pool: Where it runs.
        call: What is done to each.
        work: Read no further ahead than ``most``.
        most: Calls that are running, or done and not yet taken.
    """
    under_way: deque[Future[R]] = deque()
    for one in work:
        under_way.append(pool.submit(call, one))
        if len(under_way) >= most:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()


def _cut(rows: list[int], size: int) -> list[list[int]]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _prepared(chunk: Work, *, prepare: Callable[..., Any], stack: bool) -> Prepared:
    found: list[int] = []
    arrays: list[Any] = []
    errors: dict[int, str] = {}
    for row, (image, *others) in zip(*chunk, strict=True):
        try:
            arrays.append(prepare(decode(image), *others))
        except ImageError as error:
            errors[row] = str(error)
        else:
            found.append(row)
    if not stack:
        return found, arrays, errors
    return found, np.stack(arrays) if arrays else None, errors
