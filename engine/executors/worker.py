"""What a worker does with a task: read the stale rows, compute them batch by batch, keep every batch in the spool."""

from __future__ import annotations

import json
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.batch_backoff import Halving, out_of_memory
from counterbalance.engine.errors import UNFORESEEN, UNTOLD, FunctionError, StorageError, disk_hint, kind_of, typed_line
from counterbalance.engine.executors import spool as spools
from counterbalance.engine.executors.protocol import Event
from counterbalance.engine.functions import load_file
from counterbalance.engine.schema import PICTURES, ROW_VERSION
from counterbalance.engine.sql.expression import Evaluator, analyse
from counterbalance.engine.store import pictures, tables
from counterbalance.engine.store.location import Location

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from counterbalance.engine.executors.protocol import Job, Task
    from counterbalance.engine.images import ImageError

    _Block = tuple[pa.RecordBatch, Any, Any]
    _Part = tuple[Task, _Block | None]
    _Computed = tuple[pa.Array, dict[int, tuple[str, str]]]

_BLOCK_ROWS: Final = 65_536
_FATAL: Final = (FunctionError, ImportError, SystemExit)


class Worker:
    """Runs tasks of one job, one after the other. The function is loaded at the first row; close the worker in the end.

    Args:
        job: What to compute.
        guard: Held while a batch is appended to the spool.
    """

    def __init__(self, job: Job, guard: AbstractContextManager[Any] | None = None) -> None:
        for file in job.udfs:
            load_file(file)
        self._job, self._guard = job, guard or nullcontext()
        self._location = Location(job.uri, dict(job.storage_options))
        self._dataset = dataset = tables.existing(self._location, job.table, job.version)
        self._spool = spools.Spool(self._location, job.spool)
        expression = analyse(job.sql, job.table, pictures.readable(dataset.schema.names), job.type)
        self._columns = list(expression.columns)
        types = input_types(dataset.schema, self._columns)
        self._by_key: pictures.ByKey | None = None
        if job.images is not None:
            self._by_key = pictures.ByKey(tables.existing(self._location, "images", job.images))
        self._pictures = [c for c in self._columns if c in PICTURES and pa.types.is_binary(types[c])]
        self._evaluator = Evaluator(expression, types)
        self._must_not_fail = expression.must_not_fail
        size = job.batch_size or expression.batch_size
        self._halving: Halving[_Computed] = Halving(size, lambda e: not isinstance(e, _FATAL), self._failed)
        self._large = any(pa.types.is_binary(t) or pa.types.is_nested(t) for t in types.values())
        self._block_rows = size if self._large else max(size, _BLOCK_ROWS // size * size)
        self._schema = spools.schema(self._evaluator.type)
        self._no_failure = pa.nulls(min(size, _BLOCK_ROWS), pa.string())
        self._unread: dict[int, ImageError] = {}
        self._opened = False
        self._files = frozenset(self._spool.files())
        self._done = spools.Done([b for f in sorted(self._files) for b in self._spool.read(f)])

    def close(self) -> None:
        """Let the function go."""
        self._evaluator.close()

    def run(self, *tasks: Task) -> Iterator[Event]:
        """Compute tasks, one after the other; what lies in the spool already is not computed again.

        Raises:
            FunctionError: The function cannot run at all, or must not fail and did.
            StorageError: The table cannot be read, or the spool not be written.
        """
        parts = self._parts(tasks) if self._large else _ahead(self._parts(tasks))
        with self._storage_errors(), closing(parts), closing(_Writers(self._spool)) as writers:
            for (task, block), following in self._with_next(parts):
                if block is None:
                    writers.close()
                    yield Event(task.number, done=True)
                else:
                    yield from self._block(task, writers.of(task), *block, following)

    def _parts(self, tasks: Iterable[Task]) -> Generator[_Part]:
        """Yield blocks of stale rows, task after task, without those that the spool holds; nothing where a task ends."""
        for task in tasks:
            self._look_up_pictures(task)
            since, read = self._done_since(task), 0
            for rows, ids, stamps in self._stale(task):
                read += len(ids)
                held = self._done.has(ids, stamps) | since.has(ids, stamps)
                if not held.any():
                    yield task, (self._with_pictures(rows, ids), ids, stamps)
                elif not held.all():
                    keep = np.flatnonzero(~held)
                    yield task, (self._with_pictures(rows.take(pa.array(keep)), ids[keep]), ids[keep], stamps[keep])
            if task.count is not None and read != task.count:  # the version is fixed, so that it never may
                raise StorageError(
                    f"{read:,} rows of fragment {task.fragment} of {self._job.table} were read, and it has {task.count:,} "
                    "to compute",
                    code="E6047",
                    hint="refresh again: what was computed is kept; counterbalance verify LAKE shows what is damaged",
                )
            yield task, None

    def _with_next(self, parts: Iterator[_Part]) -> Iterator[tuple[_Part, pa.RecordBatch | None]]:
        """Yield parts, each with the rows of the one behind it, where the function wants to know them."""
        part = next(parts, None)
        while part is not None:
            following = next(parts, None) if self._evaluator.expects else None
            yield part, None if following is None or following[1] is None else following[1][0]
            part = following if self._evaluator.expects else next(parts, None)

    def _block(
        self,
        task: Task,
        writer: spools.Writer,
        rows: pa.RecordBatch,
        ids: Any,
        stamps: Any,
        following: pa.RecordBatch | None,
    ) -> Iterator[Event]:
        """Yield batch after batch of the size that the function likes at the moment."""
        if not self._opened:
            self._evaluator.open(self._job.device)
            self._opened = True
        ids, stamps = pa.array(ids), pa.array(stamps)
        start = 0
        while start < len(ids):
            size = self._halving.size
            coming = rows.slice(start + size, size) if start + size < len(ids) else following
            if coming is not None and self._evaluator.expects:
                self._evaluator.expect(coming.slice(0, size))
            yield self._batch(task, writer, rows.slice(start, size), ids.slice(start, size), stamps.slice(start, size))
            start += size

    @contextmanager
    def _storage_errors(self) -> Iterator[None]:
        """Raise what Lance and file systems raise as an error of this package; functions' own errors belong to their rows."""
        try:
            yield
        except StorageError:
            raise
        except OSError as error:
            told = f"cannot compute {self._job.sql}: {said(error)}"
            raise StorageError(told, code="E6011", hint=disk_hint(error)) from error

    def _done_since(self, task: Task) -> spools.Done:
        """Return what a worker that was lost has left of this task since this one looked at the spool."""
        own = spools.file_name(task.fragment, task.low) + "-"
        files = [f for f in self._spool.files() if f.startswith(own) and f not in self._files]
        return spools.Done([b for f in files for b in self._spool.read(f)])

    def _stale(self, task: Task) -> Iterator[_Block]:
        """Yield blocks of rows to compute, with their row ids and stamps; a block is a few batches, of pictures one."""
        job = self._job
        fragment = self._dataset.get_fragment(task.fragment)
        if fragment is None:
            return
        where = f"_rowid >= {task.low} AND _rowid <= {task.high}"
        told = pictures.columns(self._columns, self._dataset.schema.names)
        names = [*self._columns, *told, *(k for k in job.key if k not in self._columns), *job.stamps, ROW_VERSION]
        if self._by_key is not None:
            names = [*(n for n in names if n in self._dataset.schema.names or n == ROW_VERSION), *self._by_key.columns]
        scanner = self._dataset.scanner(
            columns=list(dict.fromkeys(names)),
            filter=where if job.stale is None else f"({job.stale}) AND {where}",
            fragments=[fragment],
            with_row_id=True,
            batch_size=max(self._block_rows, 256),
            blob_handling="all_binary",
            scan_in_order=True,
        )
        for batch in _sized(scanner.to_batches(), self._block_rows):
            stamps = batch.column(ROW_VERSION).to_numpy().view(np.int64)
            for name in job.stamps:
                own = pc.fill_null(batch.column(name), 0).to_numpy(zero_copy_only=False).astype(np.int64)
                stamps = np.maximum(stamps, own)
            yield batch, batch.column("_rowid").to_numpy().view(np.int64), stamps

    def _look_up_pictures(self, task: Task) -> None:
        """Find where the pictures of a task lie that are read by key, for all of its rows at once."""
        fragment = self._dataset.get_fragment(task.fragment)
        if self._by_key is not None and fragment is not None:
            within = f"_rowid >= {task.low} AND _rowid <= {task.high}"
            where = within if self._job.stale is None else f"({self._job.stale}) AND {within}"
            rows = self._dataset.scanner(columns=["image_id"], filter=where, fragments=[fragment]).to_table()
            self._by_key.expect(rows["image_id"])

    def _batch(self, task: Task, writer: spools.Writer, rows: pa.RecordBatch, ids: pa.Array, stamps: pa.Array) -> Event:
        values, errors = self._computed(rows)
        if self._unread:
            values, errors = self._without_unread(values, errors, ids)
        if errors and self._must_not_fail:
            row, (_, message) = min(errors.items())
            where = self._job.table if self._job.closed else f"{self._job.table} {key_text(rows, self._job.key, row)}"
            raise FunctionError(f"{self._job.sql} failed for {where}: {message}", code="E8004")
        told = self._failures(rows, errors)
        with self._guard:
            writer.append(pa.RecordBatch.from_arrays([ids, stamps, values, *told], schema=self._schema))
        first = errors[min(errors)][1] if errors else None
        blank = max((rows.column(c).null_count for c in self._pictures), default=0)
        return Event(
            task.number, rows=len(ids), errors=len(errors), message=first, note=self._halving.note, blank=blank
        )

    def _with_pictures(self, rows: pa.RecordBatch, ids: NDArray[np.int64]) -> pa.RecordBatch:
        """Return the rows with pictures that lie elsewhere; those that cannot be read are remembered by row id."""
        if not self._pictures:
            return rows
        filled, errors = pictures.fill(rows) if self._by_key is None else self._by_key.fill(rows)
        self._unread |= {int(ids[row]): error for row, error in errors.items()}
        return filled

    def _without_unread(self, values: pa.Array, errors: Mapping[int, tuple[str, str]], ids: pa.Array) -> _Computed:
        """Return values and errors, those of rows whose picture could not be read being NULL and that."""
        found = ((row, self._unread.pop(row_id, None)) for row, row_id in enumerate(ids.to_pylist()))
        own = {r: (e.code, UNTOLD if self._job.closed else str(e)) for r, e in found if e is not None}
        kept = [None if row in own else row for row in range(len(values))]
        return values.take(pa.array(kept, pa.int64())), {**errors, **own}

    def _failures(self, rows: pa.RecordBatch, errors: Mapping[int, tuple[str, str]]) -> list[pa.Array]:
        """Return key, code and message of the rows that failed, NULL in the others."""
        count = rows.num_rows
        if not errors:
            return [
                self._no_failure.slice(0, count) if count <= len(self._no_failure) else pa.nulls(count, pa.string())
            ] * 3
        key = self._job.key
        told = [(key_text(rows, key, i), *errors[i]) if i in errors else (None,) * 3 for i in range(count)]
        return [pa.array(column, pa.string()) for column in zip(*told, strict=True)]

    def _computed(self, rows: pa.RecordBatch) -> tuple[pa.Array, dict[int, tuple[str, str]]]:
        """Return values of all rows, and (code, message) of those that failed; a batch that fails is halved."""

        def call(start: int, count: int) -> _Computed:
            found = self._evaluator(rows.slice(start, count))
            told = found.errors if not self._job.closed else dict.fromkeys(found.errors, f"failed ({UNTOLD})")
            return found.values, {row: ("failed", message) for row, message in told.items()}

        try:
            parts = self._halving(0, rows.num_rows, call)
        except _FATAL as error:
            raise _unloadable(error, self._job) from error
        return parts[0] if len(parts) == 1 else _joined(parts)

    def _failed(self, error: Exception) -> _Computed:
        """Return a row that failed by itself."""
        code = "out_of_memory" if out_of_memory(error) else type(error).__name__
        return pa.nulls(1, self._evaluator.type), {0: (code, kind_of(error) if self._job.closed else said(error))}


def _joined(parts: Sequence[_Computed]) -> _Computed:
    errors: dict[int, tuple[str, str]] = {}
    start = 0
    for values, found in parts:
        errors |= {start + row: what for row, what in found.items()}
        start += len(values)
    return pa.concat_arrays([values for values, _ in parts]), errors


class _Writers:
    """The file of the task that is computed; opened with its first batch.

    Args:
        spool: Where it is.
    """

    def __init__(self, spool: spools.Spool) -> None:
        self._spool = spool
        self._writer: spools.Writer | None = None

    def of(self, task: Task) -> spools.Writer:
        """Return the file of a task, until ``close``."""
        if self._writer is None:
            self._writer = self._spool.writer(spools.file_name(task.fragment, task.low))
        return self._writer

    def close(self) -> None:
        """Take note that nothing more comes to it."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _ahead(parts: Iterator[_Part]) -> Generator[_Part]:
    """Yield the same parts; what follows one, and the first block of the task behind it, is read while it is computed."""
    with ThreadPoolExecutor(1, "counterbalance-read") as reader:
        coming = deque(reader.submit(next, parts, None) for _ in range(2))
        while (part := coming.popleft().result()) is not None:
            coming.append(reader.submit(next, parts, None))
            yield part


def _sized(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of exactly ``size``, the last one shorter: filters leave Lance's own batches ragged."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        rest = batch
        while count + rest.num_rows >= size:
            take = size - count
            held.append(rest.slice(0, take))
            yield held[0] if len(held) == 1 else pa.concat_batches(held)
            rest, held, count = rest.slice(take), [], 0
        if rest.num_rows:
            held.append(rest)
            count += rest.num_rows
    if held:
        yield held[0] if len(held) == 1 else pa.concat_batches(held)


def input_type(field: pa.Field) -> pa.DataType:
    """Return the Arrow type of a stored column as functions get it; pictures as bytes."""
    extension = str(getattr(field.type, "extension_name", ""))
    marked = field.metadata is not None and field.metadata.get(b"lance-encoding:blob") == b"true"
    return pa.binary() if extension.startswith("lance.blob") or marked else field.type


def input_types(schema: pa.Schema, columns: Iterable[str]) -> dict[str, pa.DataType]:
    """Return the Arrow types of some columns as functions get them; one that is not stored is a picture that is read by key."""
    return {c: input_type(schema.field(c)) if c in schema.names else pa.binary() for c in columns}


def key_text(rows: pa.RecordBatch, key: tuple[str, ...], row: int) -> str:
    """Return the key of a row as text: the value itself, or JSON of several."""
    values = [rows.column(k)[row].as_py() for k in key]
    return str(values[0]) if len(values) == 1 else json.dumps(values, default=str)


def said(error: BaseException) -> str:
    """Return an exception as one short line."""
    return typed_line(error)[:500]


def _unloadable(error: BaseException, job: Job) -> FunctionError:
    if isinstance(error, FunctionError) and not (job.closed and error.code == UNFORESEEN):
        return error
    told = kind_of(error) if job.closed and not isinstance(error, ImportError) else said(error)
    return FunctionError(
        f"{job.sql} cannot run: {told}", code="E8002", hint="install what it imports; no row was recorded"
    )
