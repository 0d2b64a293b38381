"""Columns beside a table's rows: declared as NULL without touching data, filled fragment by fragment, dropped.

A fill writes one new data file that holds the column for every physical row of the fragment, and commits the fragment
with that file in the place of the older one. Row ids, deletions and the rows' own versions stay as they are, so that
nothing else looks changed (``add_columns`` with data, and ``DataReplacement``, mark every row as updated).
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import StorageError, disk_hint, first_line
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.store.location import Location

_GONE = -2
"""What Lance writes in the place of a field whose data in this file counts no more."""
_FILE_VERSION = "2.2"
_SLICE_ROWS = 65_536
_SLICE_BYTES = 64 << 20
_TRIES = 10


@dataclass(frozen=True)
class Fill:
    """Which values go into a fragment: value number ``rows[i]`` into its physical row ``places[i]``."""

    fragment: lance.LanceFragment
    places: NDArray[np.int64]
    rows: NDArray[np.int64]


def declare(location: Location, table: str, fields: Sequence[pa.Field]) -> int:
    """Add columns that are NULL everywhere, in the place of columns of those names; returns the number of commits.

    Raises:
        StorageError: The table is gone, or others write to it all the time.
    """
    commits = drop(location, table, [f.name for f in fields])
    _again(location, table, lambda dataset: dataset.add_columns(pa.schema([f.with_nullable(True) for f in fields])))
    return commits + 1


def drop(location: Location, table: str, names: Iterable[str]) -> int:
    """Drop the columns that are there; returns the number of commits."""
    there = set(tables.existing(location, table).schema.names)
    known = [n for n in names if n in there]
    if known:
        _again(location, table, lambda dataset: dataset.drop_columns(known))
    return 1 if known else 0


def _again(location: Location, table: str, change: Callable[[lance.LanceDataset], Any]) -> None:
    """Change the columns of a table; such a commit loses to every other one that comes first, and is made again."""
    for left in reversed(range(_TRIES)):
        try:
            change(tables.existing(location, table))
        except (OSError, RuntimeError) as error:  # a lost commit is of either kind
            if "conflict" not in str(error).lower():
                raise
            if not left:
                raise StorageError(
                    f"cannot write table {table!r} of {location.uri}: others write to it all the time",
                    code="E6015",
                    hint="refresh again when they are done",
                ) from error
        else:
            return


def fill(
    location: Location,
    table: str,
    dataset: lance.LanceDataset,
    values: pa.Table,
    fills: Sequence[Fill],
) -> bool:
    """Set columns of some rows of some fragments, in one commit.

    Args:
        location: The lake.
        table: The table's name.
        dataset: The version the fragments were read at.
        values: The columns to set; which of its rows go where is said by ``fills``.
        fills: The fragments.

    Returns:
        Whether it was committed; ``False`` when somebody else changed one of these fragments meanwhile: read again.

    Raises:
        StorageError: It could not be written.
    """
    import lance
    from lance.commit import CommitConflictError

    names = values.column_names
    step = _slice_rows(values)
    try:
        fragments = [_filled(location, table, dataset, values, one, step) for one in fills]
        operation = lance.LanceOperation.Update(
            updated_fragments=fragments, fields_modified=[i for n in names for i in field_ids(_field(dataset, n))]
        )
        lance.LanceDataset.commit(
            dataset, operation, read_version=dataset.version, storage_options=location.lance_options() or None
        )
    except CommitConflictError:
        return False
    except OSError as error:
        if "conflict" in str(error).lower():
            return False
        told = f"cannot write table {table!r} of {location.uri}: {first_line(error)[:300]}"
        raise StorageError(told, code="E6003", hint=disk_hint(error)) from error
    return True


def _filled(
    location: Location,
    table: str,
    dataset: lance.LanceDataset,
    values: pa.Table,
    one: Fill,
    step: int,
) -> Any:
    import lance

    fragment = one.fragment
    if location.is_memory:
        return _updated(fragment, one.places, values.take(pa.array(one.rows)))
    whole = _whole(one, values, step)
    path = f"{uuid.uuid4().hex}.lance"
    uri = f"{location.table(table)}/data/{path}"
    size = _write_file(uri, whole, values.schema, location)
    fields = [i for n in values.column_names for i in _leaves(_field(dataset, n))]
    body = fragment.metadata.to_json()
    old = [{**f, "fields": [_GONE if i in fields else i for i in f["fields"]]} for f in body["files"]]
    kept = [f for f in old if any(i != _GONE for i in f["fields"])]
    new = {**old[0], "path": path, "fields": fields, "column_indices": list(range(len(fields)))}
    new |= {"file_size_bytes": size, "base_id": None}
    return lance.FragmentMetadata.from_json(json.dumps({**body, "files": [*kept, new]}))


def _updated(fragment: lance.LanceFragment, places: NDArray[np.int64], values: pa.Table) -> Any:
    """Update by Lance's own join, several times slower; files of a lake in memory cannot be written on their own."""
    rows = fragment.scanner(columns=[], with_row_id=True, with_row_address=True).to_table()
    physical = places_of(rows)
    order = np.argsort(physical)
    at = order[np.searchsorted(physical, places, sorter=order)]
    metadata, _ = fragment.update_columns(values.append_column("_rowid", rows["_rowid"].take(pa.array(at))))
    return metadata


def places_of(rows: pa.Table) -> NDArray[np.int64]:
    """Return where rows of a fragment lie in it, deleted ones counted: the lower half of their addresses."""
    places: NDArray[np.int64] = rows["_rowaddr"].to_numpy().view(np.int64) & 0xFFFFFFFF
    return places


def _slice_rows(rows: pa.Table) -> int:
    """Return how many rows are written at once."""
    width = int(rows.nbytes) // max(1, len(rows))
    return max(1, min(_SLICE_ROWS, _SLICE_BYTES // max(1, width)))


def _whole(one: Fill, values: pa.Table, step: int) -> Iterator[pa.RecordBatch]:
    """Yield the columns for every physical row: the new values, the stored ones elsewhere, NULL in deleted rows."""
    count = int(one.fragment.physical_rows)
    source = np.full(count, -1, np.int64)
    source[one.places] = one.rows
    parts = values
    if len(one.places) < count - one.fragment.num_deletions:
        stored = one.fragment.scanner(columns=values.column_names, with_row_address=True).to_table()
        old = np.full(count, -1, np.int64)
        old[places_of(stored)] = len(values) + np.arange(len(stored))
        source = np.where(source < 0, old, source)
        parts = pa.concat_tables([values, stored.select(values.column_names).cast(values.schema)])
        step = _slice_rows(parts)
    batches = parts.to_batches()
    starts = np.cumsum([0, *(len(b) for b in batches)])
    for start in range(0, count, step):
        rows = source[start : start + step]
        first, last = int(rows.min(initial=len(parts), where=rows >= 0)), int(rows.max())
        if first > last or last - first >= 2 * len(rows):
            yield _gathered(batches, starts, rows, values.schema)
            continue
        near = parts.slice(first, last - first + 1).combine_chunks().to_batches()[0]
        run = rows[0] >= 0 and (np.diff(rows) == 1).all()
        yield near if run else near.take(pa.array(rows - first, mask=rows < 0))


def _gathered(
    batches: Sequence[pa.RecordBatch], starts: NDArray[np.int64], source: NDArray[np.int64], schema: pa.Schema
) -> pa.RecordBatch:
    """Return rows by their number in all batches together, NULL for a negative one; copies these rows and no others."""
    chunk = np.searchsorted(starts, source, side="right") - 1
    chunk[source < 0] = -1
    parts, order = [], []
    for number in np.unique(chunk).tolist():
        at = np.flatnonzero(chunk == number)
        rows = pa.array(source[at] - starts[number] if number >= 0 else np.zeros(len(at), np.int64), mask=chunk[at] < 0)
        batch = batches[number] if number >= 0 else _nothing(schema)
        parts.append(batch.take(rows))
        order.append(at)
    joined = pa.concat_batches(parts) if len(parts) > 1 else parts[0]
    back = np.argsort(np.concatenate(order), kind="stable")
    return joined if len(parts) == 1 else joined.take(pa.array(back))


def _nothing(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.nulls(1, f.type) for f in schema], schema=schema)


def _write_file(uri: str, rows: Iterable[pa.RecordBatch], schema: pa.Schema, location: Location) -> int | None:
    from pathlib import Path

    from lance.file import LanceFileWriter

    options = location.lance_options() or None
    with LanceFileWriter(uri, schema, version=_FILE_VERSION, storage_options=options) as writer:
        for batch in rows:
            writer.write_batch(batch)
    return Path(uri).stat().st_size if location.is_local else None


def _field(dataset: lance.LanceDataset, name: str) -> Any:
    return next(f for f in dataset.lance_schema.fields() if f.name() == name)


def field_ids(field: Any) -> list[int]:
    """Return the ids of a field of Lance and of all within it."""
    return [field.id(), *(i for child in field.children() for i in field_ids(child))]


def _leaves(field: Any) -> list[int]:
    children = field.children()
    return [field.id()] if not children else [i for child in children for i in _leaves(child)]
