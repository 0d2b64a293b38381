"""Write a result and what is to be said about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterbalance.shell import errors, output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from counterbalance.engine.result import Result
    from counterbalance.shell.output import OutputOptions, Written
    from counterbalance.shell.stopwatch import Stopwatch


def result(
    found: Result,
    options: OutputOptions,
    watch: Stopwatch | None = None,
    *,
    before: Callable[[], object] = lambda: None,
) -> Written:
    """Write a result's rows and, on stderr, its notes.

    Args:
        found: What the engine returned; its notes are known once it is read.
        options: Where and how.
        watch: See ``output.write``.
        before: Called when the first rows are there: a bar that still stood would be written over.
    """
    written = output.write(_when_there(found.to_batches(), before), options, watch=watch)
    written.said = list(found.notes)
    for text in dict.fromkeys([*written.notes, *found.notes]):
        errors.note(text)
    return written


def _when_there(rows: pa.RecordBatchReader, before: Callable[[], object]) -> pa.RecordBatchReader:
    """Call a function between the first batch's being computed and its being written."""
    import pyarrow as pa

    def batches() -> Iterator[pa.RecordBatch]:
        first = next(rows, None)
        before()
        if first is not None:
            yield first
            yield from rows

    return pa.RecordBatchReader.from_batches(rows.schema, batches())


def facts(found: Sequence[Mapping[str, str | int | None]]) -> None:
    """Write rows as a table for eyes: numbers with separators on the right, nothing where there is none."""
    import pyarrow as pa

    columns: dict[str, list[str]] = {}
    for name in found[0]:
        values = [row[name] for row in found]
        cells = [f"{v:,}" if isinstance(v, int) else v or "" for v in values]
        if any(isinstance(v, int) for v in values):
            width = max(map(len, [name, *cells]))
            columns[name.rjust(width)] = [c.rjust(width) for c in cells]
        else:
            columns[name] = cells
    schema = pa.schema([(name, pa.string()) for name in columns])
    table(pa.table(list(columns.values()), schema=schema), output.OutputOptions())


def rows(found: Sequence[dict[str, Any]], schema: pa.Schema, options: OutputOptions) -> None:
    """Write rows that did not come from a query."""
    import pyarrow as pa

    table(pa.Table.from_pylist(list(found), schema=schema), options)


def table(found: pa.Table, options: OutputOptions) -> None:
    """Write a table that did not come from a query."""
    for text in output.write(found.to_reader(), options).notes:
        errors.note(text)
