"""A generated column: which rows are stale, computing them into the spool, publishing what still holds.

A row is stale while its stamp is missing, or older than the row itself or than the stamp of a generated column it was
computed from. Results wait in the spool until all are there; then they are published under the writer lock, fragment by
fragment, in a run that readers see as a whole. Killed before, the next refresh computes what the spool lacks; killed
while publishing, it publishes again. What changed in between is not published, and is computed in the next pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.catalog.definitions import FINGERPRINT
from counterbalance.engine.errors import RequestError
from counterbalance.engine.executors import spool as spools
from counterbalance.engine.refresh import failures, staleness
from counterbalance.engine.refresh.column_state import Column
from counterbalance.engine.refresh.commit import Publishing
from counterbalance.engine.refresh.compute import Computing, Groups
from counterbalance.engine.schema import BASE_TABLES, CODE_SUFFIX, STAMP_SUFFIX
from counterbalance.engine.sql.expression import analyse
from counterbalance.engine.store import columns, pictures, pins, tables
from counterbalance.engine.write.journal import writing

if TYPE_CHECKING:
    from collections.abc import Iterator

    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.refresh.context import Context
    from counterbalance.engine.refresh.model import Stage

_PASSES: Final = 5


def look(context: Context, definition: Definition) -> Column | None:
    """Return the column as it is now, or ``None`` when its table has no rows yet.

    Raises:
        RequestError: The rows of its table cannot be told apart.
    """
    dataset = tables.open_table(context.location, definition.table)
    if dataset is None:
        return None
    if not dataset.has_stable_row_ids:
        raise RequestError(
            f"table {definition.table!r} was made by another tool, without stable row ids",
            code="E3425",
            hint="its rows cannot be identified after an update; ingest it into a table of this lake",
        )
    generated = context.definitions.columns(definition.table)
    known = pictures.readable([*visible_names(dataset), *(g for g in generated if g not in dataset.schema.names)])
    expression = analyse(definition.sql, definition.table, known, definition.type)
    upstream = tuple(c for c in expression.columns if c in generated)
    view = context.definitions.views().get(definition.table)
    key = view.key if view is not None else (BASE_TABLES[definition.table].key,)
    fingerprint = context.fingerprints.of(definition)
    closed = context.closed.holds(definition)
    reads_by_key = any(c not in dataset.schema.names and c not in generated for c in expression.columns)
    images = int(tables.existing(context.location, "images").version) if reads_by_key else None
    return Column(context.location, definition, dataset, expression, fingerprint, upstream, key, closed, images)


def visible_names(dataset: lance.LanceDataset) -> list[str]:
    """Return columns an expression may read: all but the hidden ones."""
    return [n for n in dataset.schema.names if not n.endswith((STAMP_SUFFIX, CODE_SUFFIX))]


def refresh(context: Context, stage: Stage, definition: Definition) -> None:
    """Bring a column up to date; fills in the stage.

    Raises:
        FunctionError: The function cannot be loaded, or fails for everything: nothing was published.
    """
    column = look(context, definition)
    if column is not None and context.options.retry_errors and column.is_current:
        _invalidate_failed(context, stage, column)
    pin = pins.Pin(context.location)
    try:
        column = _compute(context, stage, definition, pin)
    finally:
        pin.release()
    if column is not None:
        _forget_deleted(column)
    stage.versions_out = context.versions({definition.table})


def _compute(context: Context, stage: Stage, definition: Definition, pin: pins.Pin) -> Column | None:
    """Compute and publish until nothing is stale; returns the column as it was seen last.

    Its table may be at a version that no reader sees, of an ingest that goes on: that is pinned while it is read.
    """
    groups, passes = Groups(), 0
    while passes < _PASSES:
        pin.choose()
        if stage.versions_in:
            context.check_current(definition)
        column = look(context, definition)
        if column is None:
            return None
        pin.keep(column.versions)
        more = _pass(context, stage, column, groups, first=not stage.versions_in)
        if groups.is_last:
            groups.done.clear()
            passes += 1
            if not more:
                return column
    context.notes.append("its table was written to all the time; what changed last is computed by the next refresh")
    return column


def why(context: Context, column: Column, rows: int) -> str:
    """Return why it is stale, with that many rows; empty when it is fresh."""
    if context.options.full:
        return "asked for"
    if not column.is_current:
        return _what_changed(context, column) if column.has_values() else "never computed"
    return f"{rows:,} rows are new or changed" if rows else ""


def _what_changed(context: Context, column: Column) -> str:
    stored = (column.dataset.schema.field(column.name).metadata or {}).get(FINGERPRINT, b"").decode()
    told = staleness.since(context.location, stored, context.fingerprints, column.definition)
    return told or "its definition, function or inputs changed"


def _pass(context: Context, stage: Stage, column: Column, groups: Groups, *, first: bool) -> bool:
    """Compute and publish what is stale now, of a large table of the next fragments; whether there may be more.

    Values that are there are made anew at once, in whatever table: readers see all of the old ones, or of the new ones.
    """
    full = context.options.full and first
    whole = full or not column.is_current
    is_whole_table = not groups.done
    spool = _spool(context, column, fresh=full)
    if is_whole_table:
        groups.left = int(column.dataset.count_rows(filter=column.to_compute(whole=whole)))
    total = groups.left
    if first:
        stage.mode = "rebuild" if whole else "incremental" if total else "no_op"
        stage.reason = stage.reason or why(context, column, total)
        stage.versions_in = column.versions
    if not total and not whole and not spool.files():
        groups.is_last = True
        return not is_whole_table
    found = Computing(context, stage, column, spool, groups, whole=whole).run(stage.rows + total)
    groups.left -= found
    alone = Publishing(context, stage, column, spool, whole=whole).run(found)
    spool.remove()
    return not (alone and is_whole_table and not groups.left)


def _spool(context: Context, column: Column, *, fresh: bool) -> spools.Spool:
    """Return the round to go on with, or a new one; rounds of other fingerprints are of no use any more."""
    found = None
    for old in spools.rounds(context.location, column.definition.target):
        if not fresh and found is None and old.is_of(column.fingerprint):
            found = old
        else:
            old.remove()
    return found or spools.fresh(
        context.location, column.definition.target, column.fingerprint, closed=column.is_closed
    )


def _invalidate_failed(context: Context, stage: Stage, column: Column) -> None:
    """Take the stamps of failed rows away, so that they are stale again."""
    failed = failures.of_column(context.location, column.table, column.name)
    if not len(failed):
        return
    stage.reason = f"{len(failed):,} rows failed"
    target = column.definition.target
    with writing(context.location, "refresh", target, wait=context.options.wait, run=context.run) as work:
        for _ in range(_PASSES):
            dataset = column.newest()
            rows = failures.row_ids(dataset, column.key, failed["key"].to_pylist())
            ids = np.array(sorted(rows.values()), np.int64)
            values = pa.table({column.stamp: pa.nulls(1, pa.int64())})
            fills = [
                columns.Fill(fragment, places, np.zeros(len(places), np.int64))
                for fragment, found, places in _located(dataset, ids)
                if len(found)
            ]
            if not fills or columns.fill(context.location, column.table, dataset, values, fills):
                work.committed(column.table, 1 if fills else 0)
                break
        work.finish("incremental", stage.counts(), "failed rows to be tried again")


def _located(
    dataset: lance.LanceDataset, ids: NDArray[np.int64]
) -> Iterator[tuple[lance.LanceFragment, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield for every fragment the given row ids that lie in it, and their physical places."""
    for fragment in dataset.get_fragments():
        rows = fragment.scanner(columns=[], with_row_id=True, with_row_address=True).to_table()
        own = rows["_rowid"].to_numpy().astype(np.int64)
        here = np.flatnonzero(np.isin(own, ids))
        yield fragment, own[here], columns.places_of(rows)[here]


def _forget_deleted(column: Column) -> None:
    """Remove failures of rows that are gone."""
    known = failures.of_column(column.location, column.table, column.name)
    if len(known):
        failures.forget_gone(column.location, known, column.newest(), column.key)
