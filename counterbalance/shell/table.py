"""Tables for people: fitted to a terminal, or plain columns when piped."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from counterbalance.shell.arrow_values import display, is_moment, is_number
from counterbalance.shell.output import Written
from counterbalance.shell.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from counterbalance.shell.output import Sink

    Row = Sequence[str | None]

_GAP: Final = 2
_LEAST: Final = 8
_MOMENT: Final = len("2026-11-01T12:00:00…")
_PLAN: Final = ["explain_key", "explain_value"]
"""Columns of what EXPLAIN gives."""
_SAMPLE: Final = 1000
_SAYS_HOW_SURE: Final = ("low", "high", "q")
"""Columns of audits without which an estimate, in the column before ``low``, is not to be read."""
NULL: Final = "NULL"
"""What stands for no value."""


@dataclass(slots=True)
class TableColumn:
    """A column of a table on its way to the screen."""

    index: int
    name: str
    right: bool
    width: int = 0
    least: int = _LEAST


def write(reader: pa.RecordBatchReader, sink: Sink) -> Written:
    """Write a table: on a terminal the first rows, fitted; otherwise all rows, uncut, in plain columns."""
    if reader.schema.names == _PLAN:
        return _plan(reader, sink)
    columns = [
        TableColumn(i, escape(f.name), is_number(f.type), least=_MOMENT if is_moment(f.type) else _LEAST)
        for i, f in enumerate(reader.schema)
    ]
    rows = cells_of(reader)
    written = _terminal(columns, rows, sink) if sink.terminal else _plain(columns, rows, sink)
    if not written.rows:
        written.notes.append("no rows")
    return written


def _plan(reader: pa.RecordBatchReader, sink: Sink) -> Written:
    """Return what EXPLAIN tells, which is a drawing of several lines."""
    written = Written()
    for text in (value for batch in reader for value in batch.column(1).to_pylist()):
        sink.stream.write("".join(escape(line).rstrip() + "\n" for line in str(text).splitlines()).encode())
        written.rows += 1
    sink.stream.flush()
    return written


def cells_of(reader: pa.RecordBatchReader) -> Iterator[Row]:
    """Yield the rows of a result as text, NULL as ``None``."""
    for batch in reader:
        for start in range(0, batch.num_rows, _SAMPLE):
            yield from zip(*(display(c) for c in batch.slice(start, _SAMPLE).columns), strict=True)


def _measure(columns: list[TableColumn], rows: list[Row]) -> None:
    for c in columns:
        c.width = max([length(c.name), *(length(NULL if r[c.index] is None else r[c.index] or "") for r in rows)])


def length(text: str) -> int:
    """Return the width of a text on the screen, in columns."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _plain(columns: list[TableColumn], rows: Iterator[Row], sink: Sink) -> Written:
    """Write all rows; widths come from the first ones, and a longer cell further down pushes its line to the right."""
    head = list(islice(rows, _SAMPLE))
    _measure(columns, head)
    written = Written()
    sink.stream.write(_line([c.name for c in columns], columns))
    sink.stream.write(_line(["-" * c.width for c in columns], columns))
    for piece in _pieces(head, rows):
        sink.stream.write(b"".join(_line(row, columns) for row in piece))
        written.rows += len(piece)
    sink.stream.flush()
    return written


def _pieces(head: list[Row], rows: Iterator[Row]) -> Iterator[list[Row]]:
    while head:
        yield head
        head = list(islice(rows, _SAMPLE))


def _line(cells: Row, columns: list[TableColumn]) -> bytes:
    parts = []
    for cell, column in zip(cells, columns, strict=True):
        text = NULL if cell is None else cell
        pad = " " * max(0, column.width - length(text))
        parts.append(pad + text if column.right else text + pad)
    return ((" " * _GAP).join(parts).rstrip() + "\n").encode()


def _terminal(columns: list[TableColumn], rows: Iterator[Row], sink: Sink) -> Written:
    limit = sink.options.rows
    head = list(islice(rows, limit + 1))
    more, head = len(head) > limit, head[:limit]
    written = Written(rows=len(head), more=more)
    folded = fold(columns, head, sink.options.folded)
    columns = [c for c in columns if c.name not in folded]
    _measure(columns, head)
    columns, empty = _drop_empty(columns, head, sink.width)
    columns, alike = _drop_constant(columns, head, sink.width)
    cut, hidden = fit(columns, sink.width)
    columns = [c for c in columns if c not in hidden]
    sink.stream.write(_draw(columns, head, sink).encode())
    sink.stream.flush()
    written.notes += [f"{name}: {value}" for name, value in folded.items()]
    if more:
        written.notes.append(first_rows(limit))
    if alike:
        told = ", ".join(f"{name} {value}" for name, value in alike.items())
        written.notes.append(f"left out because they are the same in all these rows: {told}")
    if empty:
        written.notes.append(f"left out because they are NULL in all these rows: {', '.join(empty)}")
    if hidden:
        written.notes.append(
            f"{len(hidden)} of {len(columns) + len(hidden)} columns do not fit: {', '.join(c.name for c in hidden)}; --format record (.mode record) shows all"
        )
    if cut:
        written.notes.append("long cells are cut to fit the terminal")
    return written


def first_rows(limit: int) -> str:
    """Return the note that there are more rows than a terminal shows, and where to see them."""
    return f"first {limit:,} rows shown; see all with -o FILE (.once FILE in the shell), piped, or with --format jsonl (.mode)"


def fold(columns: list[TableColumn], rows: list[Row], names: tuple[str, ...]) -> dict[str, str]:
    """Return the columns of these names that hold one value in all rows, which are said once below."""
    folded: dict[str, str] = {}
    for column in columns if len(columns) > 1 else ():
        values = {row[column.index] for row in rows}
        if column.name in names and len(values) == 1:
            folded[column.name] = values.pop() or NULL
    return folded


def _drop_empty(columns: list[TableColumn], rows: list[Row], width: int) -> tuple[list[TableColumn], list[str]]:
    """Return the columns that are shown, and the names of those that hold nothing, which give way when all do not fit."""
    if sum(c.width for c in columns) + _GAP * (len(columns) - 1) <= width:
        return columns, []
    told = [c for c in columns if any(row[c.index] is not None for row in rows)] or columns
    return told, [c.name for c in columns if c not in told]


def _drop_constant(columns: list[TableColumn], rows: list[Row], width: int) -> tuple[list[TableColumn], dict[str, str]]:
    """Return the columns that are shown, and those that hold one number in all rows, which give way before others would be dropped."""
    alike: dict[str, str] = {}
    for column in columns if len(rows) > 1 else ():
        if len(columns) > 1 and column.right and sum(_least(c) + _GAP for c in columns) - _GAP > width:
            values = {row[column.index] for row in rows}
            if len(values) == 1:
                alike[column.name] = values.pop() or NULL
                columns = [c for c in columns if c is not column]
    return columns, alike


def fit(columns: list[TableColumn], width: int) -> tuple[bool, list[TableColumn]]:
    """Give columns widths that fit; numbers stay whole, the widest texts give way first, then columns are dropped.

    They are dropped from the last one on: first those that are neither an estimate, its interval nor q, then these; the first
    column and its number stay.

    Args:
        columns: With their natural widths; changed in place.
        width: Columns of the terminal.

    Returns:
        Whether some column became narrower than its cells, and the dropped ones.
    """
    kept = list(columns)
    while len(kept) > 1 and sum(_least(c) + _GAP for c in kept) - _GAP > width:
        kept.pop(_next_to_go(kept))
    room = width - _GAP * (len(kept) - 1)
    cut = False
    while sum(c.width for c in kept) > room:
        widest = max(kept, key=lambda c: c.width - _least(c))
        if widest.width <= _least(widest):
            widest.width = max(1, room)
            return True, [c for c in columns if c not in kept]
        over = sum(c.width for c in kept) - room
        rest = sorted((c.width for c in kept if c is not widest), reverse=True)
        widest.width = max(_least(widest), widest.width - over, min(widest.width - 1, rest[0] if rest else 0))
        cut = True
    return cut, [c for c in columns if c not in kept]


def _next_to_go(columns: Sequence[TableColumn]) -> int:
    """Return the place of the column that is dropped first where not all fit."""
    names = [c.name for c in columns]
    first = next((i for i, c in enumerate(columns) if c.right), 0)
    sure = {i for i, name in enumerate(names) if name in _SAYS_HOW_SURE}
    sure |= {names.index("low") - 1} if "low" in names else set()
    return max((i for i in range(first + 1, len(columns)) if i not in sure), default=len(columns) - 1)


def _least(column: TableColumn) -> int:
    return column.width if column.right else min(column.width, column.least)


def _draw(columns: list[TableColumn], rows: list[Row], sink: Sink) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=max(sink.width, 1), highlight=False, markup=False, emoji=False)
    table = Table(
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), collapse_padding=True, header_style="bold"
    )
    for c in columns:
        align = "right" if c.right else "left"
        table.add_column(Text(c.name), justify=align, width=c.width, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(NULL, "dim") if row[c.index] is None else Text(row[c.index] or "") for c in columns))
    with console.capture() as captured:
        console.print(table)
    return captured.get()
