"""A generated column: which rows are stale, computing them into the spool, publishing what still holds.

A row is stale while its stamp is missing, or older than the row itself or than the stamp of a generated column it was
computed from. Results wait in the spool until all are there; then they are published under the writer lock, fragment by
fragment, in a run that readers see as a whole. Killed before, the next refresh computes what the spool lacks; killed
while publishing, it publishes again. What changed in between is not published, and is computed in the next pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog.definitions import FINGERPRINT, STAMP_SUFFIX
from counterbalance.engine.errors import FunctionError, StorageError
from counterbalance.engine.executors import spool as spools
from counterbalance.engine.executors.protocol import Job, Task
from counterbalance.engine.executors.registry import executor
from counterbalance.engine.executors.work import input_type
from counterbalance.engine.refresh import failures
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.sql.expression import Evaluator, Expression, analyse
from counterbalance.engine.store import columns, tables
from counterbalance.engine.write.journal import Writing, writing

if TYPE_CHECKING:
    from collections.abc import Iterator

    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.refresh.context import Context
    from counterbalance.engine.refresh.model import Stage

_ROW_VERSION: Final = "_row_last_updated_at_version"
_TASK_ROWS: Final = 131_072
_COMMIT_ROWS: Final = 4_000_000
_PASSES: Final = 5
_SUSPICIOUS: Final = 20
"""So many failures without one success: is it the data, or is the function broken?"""
_CONTROLS: Final = 4


@dataclass(frozen=True)
class Column:
    """A generated column as its table has it now.

    Args:
        definition: The column.
        dataset: The table at its newest version.
        expression: What it computes.
        fingerprint: Of that.
        upstream: Generated columns of the same table that it reads.
    """

    definition: Definition
    dataset: lance.LanceDataset
    expression: Expression
    fingerprint: str
    upstream: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name."""
        return self.definition.name

    @property
    def stamp(self) -> str:
        """Its hidden stamp column."""
        return self.name + STAMP_SUFFIX

    @cached_property
    def type(self) -> pa.DataType:
        """Arrow type of its values."""
        types = {c: input_type(self.dataset.schema.field(c)) for c in self.expression.columns}
        evaluator = Evaluator(self.expression, types)
        evaluator.close()
        return evaluator.type

    @property
    def is_current(self) -> bool:
        """Whether what is stored was made by this fingerprint."""
        schema = self.dataset.schema
        if self.name not in schema.names or self.stamp not in schema.names:
            return False
        field = schema.field(self.name)
        return (field.metadata or {}).get(FINGERPRINT) == self.fingerprint.encode() and field.type == self.type

    @property
    def is_filled(self) -> bool:
        """Whether it holds values at all, of whatever fingerprint."""
        return self.name in self.dataset.schema.names and self.stamp in self.dataset.schema.names

    @property
    def stale(self) -> str | None:
        """Lance filter of the stale rows; ``None`` for all."""
        if not self.is_current:
            return None
        inputs = [f"`{self.stamp}` < `{u}{STAMP_SUFFIX}`" for u in self.upstream]
        return " OR ".join([f"`{self.stamp}` IS NULL", f"`{self.stamp}` < {_ROW_VERSION}", *inputs])

    def stale_rows(self) -> int:
        """How many rows are stale."""
        return int(self.dataset.count_rows(filter=self.stale))


def look(context: Context, definition: Definition) -> Column | None:
    """The column as it is now, or ``None`` when its table has no rows yet."""
    dataset = tables.open_table(context.location, definition.table)
    if dataset is None:
        return None
    generated = context.definitions.columns(definition.table)
    known = [*visible_names(dataset), *(g for g in generated if g not in dataset.schema.names)]
    expression = analyse(definition.sql, definition.table, known, definition.type)
    upstream = tuple(c for c in expression.columns if c in generated)
    view = context.definitions.views().get(definition.table)
    key = view.key if view is not None else (BASE_TABLES[definition.table].key,)
    return Column(definition, dataset, expression, context.fingerprints.of(definition), upstream, key)


def visible_names(dataset: lance.LanceDataset) -> list[str]:
    """Columns an expression may read: all but the hidden ones."""
    from counterbalance.engine.schema import CODE_SUFFIX

    return [n for n in dataset.schema.names if not n.endswith((STAMP_SUFFIX, CODE_SUFFIX))]


def refresh(context: Context, stage: Stage, definition: Definition) -> None:
    """Bring a column up to date; fills in the stage.

    Raises:
        FunctionError: The function cannot be loaded, or fails for everything: nothing was published.
    """
    column = look(context, definition)
    if column is None:
        return
    if context.options.retry_errors and column.is_current:
        _invalidate_failed(context, stage, column)
    for number in range(_PASSES):
        column = look(context, definition)
        if column is None:
            return
        whole = not column.is_current or (context.options.full and number == 0)
        spool = _spool(context, column, fresh=context.options.full and number == 0)
        total = column.dataset.count_rows() if whole else column.stale_rows()
        if number == 0:
            stage.mode = "rebuild" if whole else "incremental" if total else "no_op"
        if not total and not spool.files() and not whole:
            break
        computed = _Computing(context, stage, column, spool, whole=whole).run(total)
        _Publishing(context, stage, column, spool, whole=whole, computed=computed).run()
        spool.remove()
    stage.versions_out = context.versions({definition.table})


def _spool(context: Context, column: Column, *, fresh: bool) -> spools.Spool:
    """The round to go on with, or a new one; rounds of other fingerprints are of no use any more."""
    found = None
    for old in spools.rounds(context.location, column.definition.target):
        if not fresh and found is None and old.folder.rsplit("/", 1)[-1].startswith(column.fingerprint + "-"):
            found = old
        else:
            old.remove()
    return found or spools.fresh(context.location, column.definition.target, column.fingerprint)


def _invalidate_failed(context: Context, stage: Stage, column: Column) -> None:
    """Take the stamps of failed rows away, so that they are stale again."""
    failed = failures.of_column(context.location, column.definition.table, column.name)
    if not len(failed):
        return
    target = column.definition.target
    with writing(context.location, "refresh", target, wait=context.options.wait) as work:
        for _ in range(_PASSES):
            dataset = _newest(context, column)
            rows = failures.row_ids(dataset, column.key, failed["key"].to_pylist())
            ids = np.array(sorted(rows.values()), np.int64)
            values = pa.table({column.stamp: pa.nulls(1, pa.int64())})
            fills = [
                columns.Fill(fragment, places, np.zeros(len(places), np.int64))
                for fragment, found, places in _located(dataset, ids)
                if len(found)
            ]
            if not fills or columns.fill(context.location, column.definition.table, dataset, values, fills):
                work.committed(column.definition.table, 1 if fills else 0)
                break
        work.finish("incremental", stage.counts(), "failed rows to be tried again")


def _located(
    dataset: lance.LanceDataset, ids: NDArray[np.int64]
) -> Iterator[tuple[lance.LanceFragment, NDArray[np.int64], NDArray[np.int64]]]:
    """For every fragment the given row ids that lie in it, and their physical places."""
    for fragment in dataset.get_fragments():
        rows = fragment.scanner(columns=[], with_row_id=True, with_row_address=True).to_table()
        own = rows["_rowid"].to_numpy().astype(np.int64)
        here = np.flatnonzero(np.isin(own, ids))
        yield fragment, own[here], rows["_rowaddr"].to_numpy().astype(np.int64)[here] & 0xFFFFFFFF


def _newest(context: Context, column: Column) -> lance.LanceDataset:
    dataset = tables.open_table(context.location, column.definition.table)
    if dataset is None:
        raise StorageError(f"table {column.definition.table!r} of {context.location.uri} is gone", code="E6008")
    return dataset


class _Computing:
    """Fills the spool."""

    def __init__(
        self, context: Context, stage: Stage, column: Column, spool: spools.Spool, *, whole: bool
    ) -> None:
        self._context, self._stage, self._column, self._spool = context, stage, column, spool
        self._stale = None if whole else column.stale
        self._good = self._bad = 0
        self._trusted = False

    def run(self, total: int) -> int:
        """Compute all stale rows that the spool lacks; returns how many."""
        tasks = list(self._tasks())
        if not tasks:
            return 0
        options = self._context.options
        runner = executor(options.executor, workers=options.workers, device=options.device)
        events = runner.run(self._job(self._spool.folder, self._stale), tasks)
        try:
            for event in events:
                self._good += event.rows - event.errors
                self._bad += event.errors
                self._stage.rows += event.rows
                if event.note:
                    self._context.notes.append(f"{self._column.definition.target}: {event.note}")
                self._context.tell(self._column.definition.target, self._good + self._bad, total, self._bad)
                if event.message and self._bad >= _SUSPICIOUS:
                    self._doubt(event.message)
        finally:
            close = getattr(events, "close", None)
            if close is not None:
                close()
        if self._bad and not self._good and self._bad == total > 1:
            self._doubt(self._first_message())
        return self._good + self._bad

    def _job(self, folder: str, stale: str | None) -> Job:
        column, options = self._column, self._context.options
        location = self._context.location
        return Job(
            uri=location.uri,
            storage_options=dict(location.storage_options),
            table=column.definition.table,
            version=int(column.dataset.version),
            sql=column.definition.sql,
            type=column.definition.type,
            key=column.key,
            stamps=tuple(u + STAMP_SUFFIX for u in column.upstream),
            stale=stale,
            spool=folder,
            batch_size=options.batch_size,
            device=options.device,
            udfs=options.udfs,
        )

    def _tasks(self) -> Iterator[Task]:
        number = 0
        for fragment in self._column.dataset.get_fragments():
            scanner = self._column.dataset.scanner(
                columns=[], filter=self._stale, fragments=[fragment], with_row_id=True
            )
            ids = np.sort(scanner.to_table()["_rowid"].to_numpy().astype(np.int64))
            for start in range(0, len(ids), _TASK_ROWS):
                part = ids[start : start + _TASK_ROWS]
                yield Task(number, fragment.fragment_id, int(part[0]), int(part[-1]))
                number += 1

    def _doubt(self, message: str) -> None:
        """Stop when nothing succeeds, unless the function still works on rows that it once computed.

        Raises:
            FunctionError: It does not: a broken function must not look like bad data.
        """
        if self._good or self._trusted:
            return
        if self._works_on_known_rows():
            self._trusted = True
            return
        self._spool.remove()
        raise FunctionError(
            f"{self._column.definition.target}: the function failed for each of the first {self._bad} rows: {message}",
            code="E8005",
            hint="nothing was published; repair the function or its inputs, then refresh again",
        )

    def _works_on_known_rows(self) -> bool:
        column = self._column
        if not column.is_current:
            return False
        where = f"`{column.stamp}` IS NOT NULL AND `{column.name}` IS NOT NULL AND NOT ({column.stale})"
        tried = 0
        for fragment in column.dataset.get_fragments():
            known = column.dataset.scanner(
                columns=[], filter=where, fragments=[fragment], with_row_id=True, limit=_CONTROLS
            ).to_table()
            tasks = [Task(i, fragment.fragment_id, r, r) for i, r in enumerate(known["_rowid"].to_pylist())]
            if tasks:
                trial = spools.fresh(self._context.location, column.definition.target, "control")
                runner = executor("inline", workers=1, device=self._context.options.device)
                events = list(runner.run(self._job(trial.folder, None), tasks))
                trial.remove()
                tried = sum(e.rows for e in events)
                return tried > sum(e.errors for e in events)
        return False

    def _first_message(self) -> str:
        for file in self._spool.files():
            for batch in self._spool.read(file):
                told = batch.column(spools.MESSAGE).drop_null()
                if len(told):
                    return str(told[0].as_py())
        return "no reason was given"


class _Publishing:
    """Moves what the spool holds into the table, as far as it still holds."""

    def __init__(
        self, context: Context, stage: Stage, column: Column, spool: spools.Spool, *, whole: bool, computed: int
    ) -> None:
        self._context, self._stage, self._column, self._spool = context, stage, column, spool
        self._whole, self._computed = whole, computed
        self._table = column.definition.table
        batches = [b for f in spool.files() for b in spool.read(f)]
        self._rows = pa.Table.from_batches(batches, spools.schema(column.type))
        ids = self._rows[spools.ROW].to_numpy()
        self._order = np.argsort(ids, kind="stable")
        self._ids = ids[self._order]
        self._stamps = self._rows[spools.STAMP].to_numpy()
        self._recomputed: set[int] = set()

    def run(self) -> None:
        context, column = self._context, self._column
        with writing(context.location, "refresh", column.definition.target, wait=context.options.wait) as work:
            if self._whole:
                work.committed(self._table, columns.declare(context.location, self._table, self._fields()))
                failures_before = failures.of_column(context.location, self._table, column.name)
                failures.forget(context.location, failures.earlier(failures_before, self._spool.token))
            self._record(work)
            for _ in range(20):
                if self._pass(work):
                    break
            self._settle()
            self._stage.versions_out = context.versions({self._table})
            work.finish(
                self._stage.mode,
                self._stage.counts(),
                fingerprint=column.fingerprint,
                versions_in={self._table: int(column.dataset.version)},
            )

    def _fields(self) -> list[pa.Field]:
        column = self._column
        made_by = {FINGERPRINT: column.fingerprint.encode()}
        return [pa.field(column.name, column.type, metadata=made_by), pa.field(column.stamp, pa.int64())]

    def _record(self, work: Writing) -> None:
        """Failures first: after a kill between the two the rows are still stale, and the spool still has them."""
        failed = self._rows.filter(pc.is_valid(self._rows[spools.CODE]))
        told = zip(*(failed[c].to_pylist() for c in (spools.KEY, spools.CODE, spools.MESSAGE)), strict=True)
        column = self._column
        self._stage.errors += failures.record(
            self._context.location,
            work.run.run_id,
            self._table,
            column.name,
            column.fingerprint,
            self._spool.token,
            told,
        )

    def _pass(self, work: Writing) -> bool:
        """Publish on the newest version; whether nobody came in between."""
        dataset = _newest(self._context, self._column)
        values: pa.Table | None = None
        group: list[columns.Fill] = []
        count = 0
        undisturbed = True

        def commit() -> None:
            nonlocal group, count, undisturbed
            if group and values is not None:
                done = columns.fill(self._context.location, self._table, dataset, values, group)
                work.committed(self._table, int(done))
                undisturbed &= done
                if done:
                    self._stage.updated += count
            group, count = [], 0

        for fragment in dataset.get_fragments():
            places, rows = self._matching(dataset, fragment)
            if len(places):
                if values is None:
                    values = self._values(int(dataset.version))
                group.append(columns.Fill(fragment, places, rows))
                count += len(places)
                if count >= _COMMIT_ROWS:
                    commit()
        commit()
        return undisturbed

    def _values(self, version: int) -> pa.Table:
        stamps = pa.chunked_array(
            [pa.array(np.full(len(c), version, np.int64)) for c in self._rows[spools.VALUE].chunks], pa.int64()
        )
        return pa.table({self._column.name: self._rows[spools.VALUE], self._column.stamp: stamps})

    def _matching(
        self, dataset: lance.LanceDataset, fragment: lance.LanceFragment
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Physical places of the fragment's stale rows whose result is at hand, and the numbers of the results."""
        column = self._column
        inputs = [u + STAMP_SUFFIX for u in column.upstream]
        stored = dataset.scanner(
            columns=[column.stamp, *inputs, _ROW_VERSION],
            fragments=[fragment],
            with_row_id=True,
            with_row_address=True,
        ).to_table()
        nothing = np.empty(0, np.int64)
        if not len(stored) or not len(self._ids):
            return nothing, nothing
        now = _numbers(stored[_ROW_VERSION])
        for name in inputs:
            now = np.maximum(now, _numbers(stored[name]))
        ids = _numbers(stored["_rowid"])
        at = np.searchsorted(self._ids, ids, side="right") - 1
        at[at < 0] = 0
        rows = self._order[at]
        holds = (self._ids[at] == ids) & (self._stamps[rows] == now)
        self._recomputed.update(ids[holds].tolist() if self._has_failures else ())
        wanted = holds & (_numbers(stored[column.stamp]) < now)
        places = _numbers(stored["_rowaddr"]) & 0xFFFFFFFF
        return places[wanted], rows[wanted]

    @cached_property
    def _has_failures(self) -> bool:
        return len(failures.of_column(self._context.location, self._table, self._column.name)) > 0

    def _settle(self) -> None:
        """Failures of earlier rounds go when their row was computed again, or is gone."""
        location, column = self._context.location, self._column
        old = failures.earlier(failures.of_column(location, self._table, column.name), self._spool.token)
        if not len(old):
            return
        there = failures.row_ids(_newest(self._context, column), column.key, old["key"].to_pylist())
        over = [key not in there or there[key] in self._recomputed for key in old["key"].to_pylist()]
        failures.forget(location, old.filter(pa.array(over)))


def _numbers(values: Any) -> NDArray[np.int64]:
    """Integers, NULL as -1."""
    numbers: NDArray[np.int64] = pc.fill_null(values.cast(pa.int64()), -1).to_numpy().astype(np.int64)
    return numbers
