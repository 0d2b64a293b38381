"""Rows one below the other, a line for each column: for rows that are wider than a terminal."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from counterbalance.shell.output import Written
from counterbalance.shell.table import NULL, TableColumn, cells_of, first_rows, fold, length
from counterbalance.shell.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from counterbalance.shell.output import Sink
    from counterbalance.shell.table import Row

_RULE: Final = 40


def write(reader: pa.RecordBatchReader, sink: Sink) -> Written:
    """Write rows as blocks of ``name  value``; on a terminal the first rows, as a table shows them."""
    columns = [TableColumn(i, escape(name), right=False) for i, name in enumerate(reader.schema.names)]
    rows = cells_of(reader)
    written = Written()
    if sink.terminal:
        head = list(islice(rows, sink.options.rows))
        written.more = next(rows, None) is not None
        folded = fold(columns, head, sink.options.folded)
        columns = [c for c in columns if c.name not in folded]
        written.notes += [f"{name}: {value}" for name, value in folded.items()]
        rows = iter(head)
    for block in _blocks(columns, rows):
        sink.stream.write(block.encode())
        written.rows += 1
    sink.stream.flush()
    if written.more:
        written.notes.append(first_rows(written.rows))
    if not written.rows:
        written.notes.append("no rows")
    return written


def _blocks(columns: list[TableColumn], rows: Iterable[Row]) -> Iterator[str]:
    widest = max((length(c.name) for c in columns), default=0)
    heads = [(c.name + " " * (widest - length(c.name)), c.index) for c in columns]
    for number, row in enumerate(rows, start=1):
        lines = [f"{head}  {NULL if row[i] is None else row[i]}" for head, i in heads]
        yield "\n".join([f"-[ {number} ]".ljust(_RULE, "-"), *lines]) + "\n"
