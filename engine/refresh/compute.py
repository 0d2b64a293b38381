"""Filling the spool: tasks for the stale rows, an executor that runs them, and doubts when nothing succeeds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import FunctionError
from counterbalance.engine.executors import spool as spools
from counterbalance.engine.executors.protocol import Job, Task
from counterbalance.engine.executors.registry import executor
from counterbalance.engine.schema import STAMP_SUFFIX
from counterbalance.engine.store import pictures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.engine.refresh.column_state import Column
    from counterbalance.engine.refresh.context import Context
    from counterbalance.engine.refresh.model import Stage

_TASK_ROWS: Final = 131_072
_GROUP_ROWS: Final = 1 << 22
_GROUP_BYTES: Final = 1 << 32
"""Values of a group of fragments that is published before the next one is computed."""
_SUSPICIOUS: Final = 20
"""So many failures without a success: is it the data, or is the function broken?"""
_CONTROLS: Final = 4


@dataclass
class Groups:
    """Remember which fragments of a large table a refresh has published: the next group begins behind them.

    Args:
        done: Numbers of these fragments.
        left: Rows to compute behind them.
        is_last: The group at hand goes to the end of the table.
    """

    done: set[int] = field(default_factory=set)
    left: int = 0
    is_last: bool = True


class Computing:
    """Computes what the spool lacks.

    Args:
        context: The refresh.
        stage: Its stage.
        column: What to compute.
        spool: Where results go.
        groups: What was published before, and comes after.
        whole: Every row, not only stale ones.
    """

    def __init__(
        self, context: Context, stage: Stage, column: Column, spool: spools.Spool, groups: Groups, *, whole: bool
    ) -> None:
        self._context, self._stage, self._column, self._spool = context, stage, column, spool
        self._groups, self._earlier = groups, stage.rows
        values_go = whole and column.has_values()  # readers see all of the old ones, or of the new ones
        self._most = None if values_go else max(_TASK_ROWS, min(_GROUP_ROWS, _GROUP_BYTES // _bytes(column.type)))
        self._where = column.to_compute(whole=whole)
        self._before = set(spool.files())
        self._good = self._bad = self._blank = 0
        self._streak, self._patience = 0, _SUSPICIOUS

    def run(self, total: int) -> int:
        """Compute the rows of a group of fragments that the spool lacks; returns how many rows these have.

        Args:
            total: Rows to compute in all.

        Raises:
            FunctionError: It cannot run, or it fails for everything.
        """
        tasks = list(self._tasks())
        if not tasks:
            return 0
        message = self._events(tasks, total)
        if message is None and self._bad and not self._good and total > 1 and not self._works_on_known_rows():
            message = self._first_message()
        if message is not None:
            self._stop(message)
        if self._blank:
            told = f"{self._blank:,} of {self._good + self._bad:,} rows have no picture: {pictures.HELP}"
            self._context.notes.append(told)
        return sum(task.rows for task in tasks)

    def _events(self, tasks: list[Task], total: int) -> str | None:
        """Run the tasks; returns the failure that nothing succeeded after, if it came to that."""
        target, options = self._column.definition.target, self._context.options
        runner = executor(options.executor, workers=options.workers, device=options.device)
        self._context.tell(target, self._earlier, total)
        events = runner.run(self._job(self._spool.folder, self._where), tasks)
        try:
            for event in events:
                good = event.rows - event.errors
                self._good += good
                self._bad += event.errors
                self._blank += event.blank
                self._streak = 0 if good else self._streak + event.errors
                self._stage.rows += event.rows
                if event.note:
                    self._context.notes.append(f"{target}: {event.note}")
                self._context.tell(target, self._earlier + self._good + self._bad, total, self._bad)
                if event.message and self._streak >= self._patience:
                    if not self._works_on_known_rows():
                        return event.message
                    self._patience = 4 * self._streak
        finally:
            close = getattr(events, "close", None)
            if close is not None:
                close()
        return None

    def _job(self, folder: str, where: str | None) -> Job:
        column, options = self._column, self._context.options
        location = self._context.location
        return Job(
            uri=location.uri,
            storage_options=dict(location.storage_options),
            table=column.table,
            version=int(column.dataset.version),
            sql=column.definition.sql,
            type=column.definition.type,
            key=column.key,
            stamps=tuple(u + STAMP_SUFFIX for u in column.upstream),
            stale=where,
            spool=folder,
            batch_size=options.batch_size,
            device=options.device,
            udfs=options.files,
            closed=column.is_closed,
            images=column.images,
        )

    def _tasks(self) -> Iterator[Task]:
        number, rows, groups = 0, 0, self._groups
        groups.is_last = True
        for fragment in self._column.dataset.get_fragments():
            if fragment.fragment_id in groups.done:
                continue
            if self._most is not None and rows >= self._most:
                groups.is_last = False
                return
            groups.done.add(fragment.fragment_id)
            scanner = self._column.dataset.scanner(
                columns=[], filter=self._where, fragments=[fragment], with_row_id=True
            )
            ids = np.sort(scanner.to_table()["_rowid"].to_numpy().astype(np.int64))
            for start in range(0, len(ids), _TASK_ROWS):
                part = ids[start : start + _TASK_ROWS]
                yield Task(number, fragment.fragment_id, int(part[0]), int(part[-1]), len(part))
                number += 1
            rows += len(ids)

    def _stop(self, message: str) -> None:
        """Forget what failed and keep what succeeded before: a broken function must not look like bad data.

        Raises:
            FunctionError: Always.
        """
        self._spool.forget_failures([f for f in self._spool.files() if f not in self._before])
        which = f"the last {self._streak:,} rows" if self._good else f"each of the first {self._bad:,} rows"
        raise FunctionError(
            f"{self._column.definition.target}: the function failed for {which}: {message}",
            code="E8005",
            hint=f"{self._published()} published; repair the function or its inputs, then refresh again",
        )

    def _published(self) -> str:
        rows = self._stage.updated
        return f"only {rows:,} rows that were computed before are" if rows else "nothing was"

    def _works_on_known_rows(self) -> bool:
        """Tell whether it still computes rows that it once computed, of the table or of this round; no, if there are none."""
        ids = self._known_rows()
        if not ids:
            return False
        rows = self._column.dataset.scanner(
            columns=[],
            filter=f"_rowid IN ({', '.join(map(str, ids))})",
            with_row_id=True,
            with_row_address=True,
        ).to_table()
        places = zip(rows["_rowid"].to_pylist(), rows["_rowaddr"].to_pylist(), strict=True)
        tasks = [Task(i, address >> 32, row, row) for i, (row, address) in enumerate(places)]
        target, closed = self._column.definition.target, self._column.is_closed
        trial = spools.fresh(self._context.location, target, "control", closed=closed)
        runner = executor("inline", workers=1, device=self._context.options.device)
        try:
            events = list(runner.run(self._job(trial.folder, None), tasks))
        finally:
            trial.remove()
        return sum(e.rows for e in events) > sum(e.errors for e in events)

    def _known_rows(self) -> list[int]:
        column = self._column
        if column.is_current:
            where = f"`{column.stamp}` IS NOT NULL AND `{column.name}` IS NOT NULL AND NOT ({column.stale})"
            scanner = column.dataset.scanner(columns=[], filter=where, with_row_id=True, limit=_CONTROLS)
            known: list[int] = scanner.to_table()["_rowid"].to_pylist()
            if known:
                return known
        found: list[int] = []
        for file in self._spool.files():
            for batch in self._spool.read(file):
                good = batch.filter(
                    pc.and_(pc.is_null(batch.column(spools.CODE)), pc.is_valid(batch.column(spools.VALUE)))
                )
                found += good.column(spools.ROW).slice(0, _CONTROLS).to_pylist()
                if len(found) >= _CONTROLS:
                    return found[:_CONTROLS]
        return found

    def _first_message(self) -> str:
        for file in self._spool.files():
            for batch in self._spool.read(file):
                told = batch.column(spools.MESSAGE).drop_null()
                if len(told):
                    return str(told[0].as_py())
        return "no reason was given"


def _bytes(kind: pa.DataType) -> int:
    """Return the bytes of a value, at least; those of texts and lists of any length are not known."""
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * _bytes(kind.value_type)
    return max(int(kind.bit_width) // 8, 1) if pa.types.is_primitive(kind) else 16
