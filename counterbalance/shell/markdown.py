"""Tables in GitHub's Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from counterbalance.shell.arrow_values import display, is_number
from counterbalance.shell.output import Written
from counterbalance.shell.text import escape

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from counterbalance.shell.output import Sink

_MARKS: Final = re.compile(r"[\\|`*\[]")


def write(reader: pa.RecordBatchReader, sink: Sink) -> Written:
    """Write a table, a batch at a time; cells are not padded, NULL is empty."""
    written = Written()
    rules = ["---:" if is_number(f.type) else "---" for f in reader.schema]
    head = _line(_cell(escape(n)) for n in reader.schema.names) + _line(rules)
    for batch in reader:
        rows = zip(*(display(c) for c in batch.columns), strict=True)
        sink.stream.write(head + b"".join(_line("" if v is None else _cell(v) for v in row) for row in rows))
        written.rows += batch.num_rows
        head = b""
    sink.stream.write(head)
    sink.stream.flush()
    return written


def _line(cells: Iterable[str]) -> bytes:
    return f"| {' | '.join(cells)} |\n".encode()


def _cell(text: str) -> str:
    """Return a cell that stays one cell: no bars, and nothing that a page would read as HTML, emphasis or a link."""
    return _MARKS.sub(r"\\\g<0>", text).replace("<", "&lt;")
