"""Moving results from the spool into the table, as far as they still hold, and failures into ``meta.errors``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog.definitions import FINGERPRINT
from counterbalance.engine.executors import spool as spools
from counterbalance.engine.refresh import failures
from counterbalance.engine.schema import ROW_VERSION, STAMP_SUFFIX
from counterbalance.engine.store import columns
from counterbalance.engine.write.journal import Writing, writing

if TYPE_CHECKING:
    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.refresh.column_state import Column
    from counterbalance.engine.refresh.context import Context
    from counterbalance.engine.refresh.model import Stage

_COMMIT_ROWS: Final = 4_000_000
_TRIES: Final = 20
_GONE: Final = -1
"""Row id of a row that is not there any more."""
_SAME: Final = 65_536
"""Rows of a column of equal numbers that are held once."""


class Publishing:
    """Publishes one round.

    A result holds while its row has the stamp that it was computed for: the row may have been updated, deleted or moved
    since. Killed at any moment, this is done again from the same spool.

    Args:
        context: The refresh.
        stage: Its stage.
        column: What was computed.
        spool: The results.
        whole: Every row was computed, and whatever is stored goes.
    """

    def __init__(self, context: Context, stage: Stage, column: Column, spool: spools.Spool, *, whole: bool) -> None:
        self._context, self._stage, self._column, self._spool = context, stage, column, spool
        self._whole = whole
        files = spool.files()
        batches = [b for f in files for b in spool.read(f)]
        self._fragments = {spools.fragment_of(f) for f in files}
        if spool.cut:
            context.notes.append(
                f"{column.definition.target}: {len(spool.cut):,} parts of what was computed end in the middle of a batch, "
                "as a kill leaves them; rows of that batch were computed again"
            )
        self._rows = pa.Table.from_batches(batches, spools.schema(column.type))
        codes = self._rows[spools.CODE]
        some = codes.null_count < len(codes)
        self._failed = pc.is_valid(codes).to_numpy() if some else np.zeros(len(codes), bool)
        self._stamps = self._rows[spools.STAMP].to_numpy()
        ids = self._rows[spools.ROW].to_numpy()
        self._order = _order(ids, self._stamps, self._failed)
        self._ids = ids if self._order is None else ids[self._order]
        self._held = np.zeros(len(ids), bool)
        self._different = int((np.diff(self._ids, prepend=-1) != 0).sum())
        self._met = 0

    def run(self, total: int) -> bool:
        """Publish; whether all of ``total`` stale rows are, and nobody has written to the table since they were looked at."""
        context, column, target = self._context, self._column, self._column.definition.target
        before = self._stage.updated
        with writing(context.location, "refresh", target, wait=context.options.wait, run=context.run) as work:
            context.check_current(column.definition)
            if self._whole:
                work.committed(column.table, columns.declare(context.location, column.table, self._fields()))
            for _ in range(_TRIES):
                if self._pass(work):
                    break
            self._settle(work)
            self._stage.versions_out = context.versions({column.table})
            work.finish(**self._stage.outcome())
        own = int(column.dataset.version) + work.own.get(column.table, 0)
        return self._stage.updated - before == total and self._stage.versions_out[column.table] == own

    def _fields(self) -> list[pa.Field]:
        column = self._column
        made_by = {FINGERPRINT: column.fingerprint.encode()}
        return [pa.field(column.name, column.type, metadata=made_by), pa.field(column.stamp, pa.int64())]

    def _pass(self, work: Writing) -> bool:
        """Publish on the newest version; whether nobody came in between."""
        dataset = self._column.newest()
        values = self._values(int(dataset.version))
        group: list[columns.Fill] = []
        self._held[:] = False
        self._met = 0
        undisturbed = True
        for fragment in sorted(dataset.get_fragments(), key=lambda f: f.fragment_id not in self._fragments):
            if self._met == self._different:  # mostly the rows are where they were read from
                break
            places, rows = self._matching(dataset, fragment)
            if len(places):
                group.append(columns.Fill(fragment, places, rows))
            if sum(len(f.places) for f in group) >= _COMMIT_ROWS:
                undisturbed &= self._commit(work, dataset, values, group)
                group = []
        return self._commit(work, dataset, values, group) and undisturbed

    def _commit(self, work: Writing, dataset: lance.LanceDataset, values: pa.Table, group: list[columns.Fill]) -> bool:
        if not group:
            return True
        done = columns.fill(self._context.location, self._column.table, dataset, values, group)
        if done:
            work.committed(self._column.table)
            self._stage.updated += sum(len(f.places) for f in group)
        return done

    def _values(self, version: int) -> pa.Table:
        one = pa.repeat(pa.scalar(version, pa.int64()), min(len(self._rows), _SAME))
        stamps = [one.slice(0, len(self._rows) - start) for start in range(0, len(self._rows), _SAME)]
        return pa.table(
            {self._column.name: self._rows[spools.VALUE], self._column.stamp: pa.chunked_array(stamps, pa.int64())}
        )

    def _matching(
        self, dataset: lance.LanceDataset, fragment: lance.LanceFragment
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the physical places of the fragment's stale rows whose result is at hand, and the numbers of the results."""
        column = self._column
        inputs = [u + STAMP_SUFFIX for u in column.upstream]
        stored = dataset.scanner(
            columns=[column.stamp, *inputs, ROW_VERSION], fragments=[fragment], with_row_id=True, with_row_address=True
        ).to_table()
        if not len(stored):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        now = _numbers(stored[ROW_VERSION])
        for name in inputs:
            now = np.maximum(now, _numbers(stored[name]))
        ids = _numbers(stored["_rowid"])
        at = self._found(ids)
        rows = at if self._order is None else self._order[at]
        is_there = self._ids[at] == ids
        self._met += int(is_there.sum())
        holds = is_there & (self._stamps[rows] == now)
        self._held[rows[holds]] = True
        wanted = holds & (_numbers(stored[column.stamp]) < now)
        return columns.places_of(stored)[wanted], rows[wanted]

    def _found(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the last result of each row would stand among all of them; mostly they are one run in the same order."""
        first = max(int(np.searchsorted(self._ids, ids[0], side="right")) - 1, 0)
        last = int(np.searchsorted(self._ids, ids[-1], side="right"))
        if np.array_equal(self._ids[first:last], ids):
            return np.arange(first, last)
        return np.maximum(np.searchsorted(self._ids, ids, side="right") - 1, 0)

    def _settle(self, work: Writing) -> None:
        """Keep the failures that hold; those of earlier rounds go when their row was computed again, or is gone.

        After a kill the spool is still there, and this is done again.
        """
        location, column = self._context.location, self._column
        known = failures.of_column(location, column.table, column.name)
        failed = self._rows.filter(pa.array(self._held & self._failed))
        self._stage.errors += len(failed)
        if len(failed):
            told = zip(*(failed[c].to_pylist() for c in (spools.KEY, spools.CODE, spools.MESSAGE)), strict=True)
            round_ = failures.Round(
                work.run.run_id, column.table, column.name, column.fingerprint, self._spool.token, column.is_closed
            )
            failures.record(location, round_, known, told)
        if len(known):
            there = failures.row_ids(column.newest(), column.key, known["key"].to_pylist())
            rows = np.array([there.get(key, _GONE) for key in known["key"].to_pylist()], np.int64)
            again = np.isin(rows, self._rows[spools.ROW].to_numpy()[self._held])
            still = np.isin(rows, failed[spools.ROW].to_numpy())
            earlier = pc.fill_null(pc.not_equal(known["position"], self._spool.token), fill_value=True).to_numpy()
            failures.forget(location, known.filter(pa.array((rows == _GONE) | (again & (earlier | ~still)))))


def _order(ids: NDArray[np.int64], stamps: NDArray[np.int64], failed: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    """Return the order by row, ``None`` where they are in it; of a row that was computed twice the newest result comes last, a success after a failure."""
    if (ids[1:] > ids[:-1]).all():
        return None
    order = np.argsort(ids, kind="stable")
    if (np.diff(ids[order]) == 0).any():
        order = np.lexsort((~failed, stamps, ids))
    return order


def _numbers(values: Any) -> NDArray[np.int64]:
    """Return integers of 64 bits, NULL as -1; copied no more often than needed."""
    whole = pc.fill_null(values.cast(pa.int64()), -1) if values.null_count else values
    numbers: NDArray[np.int64] = whole.to_numpy().view(np.int64)
    return numbers
