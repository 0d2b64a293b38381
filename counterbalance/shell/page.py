"""A table as a page of HTML that needs no other file, and runs nothing."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

from counterbalance.engine.result import picture_in_html
from counterbalance.shell.arrow_values import display, is_binary, is_number
from counterbalance.shell.output import Written
from counterbalance.shell.text import escape

if TYPE_CHECKING:
    import pyarrow as pa

    from counterbalance.shell.output import Sink

_HEAD: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="generator" content="counterbalance">
<title>{title}</title>
<style>
body {{ font: 15px/1.4 system-ui, sans-serif; margin: 1.5rem; }}
table {{ border-collapse: collapse; }}
th, td {{ border-bottom: 1px solid #8886; padding: .3rem .8rem; text-align: left; vertical-align: top; }}
th {{ background: Canvas; position: sticky; top: 0; }}
.number {{ font-variant-numeric: tabular-nums; text-align: right; }}
.null {{ opacity: .5; }}
</style>
</head>
<body>
<table>
<thead><tr>{names}</tr></thead>
<tbody>
"""
_END: Final = "</tbody>\n</table>\n</body>\n</html>\n"


def write(reader: pa.RecordBatchReader, sink: Sink) -> Written:
    """Write a page, a batch at a time; pictures are small ones in the page itself."""
    written = Written()
    path = sink.options.path
    marks = [' class="number"' if is_number(f.type) else "" for f in reader.schema]
    named = zip(marks, reader.schema.names, strict=True)
    names = "".join(f"<th{mark}>{html.escape(escape(name))}</th>" for mark, name in named)
    title = "counterbalance" if path is None else html.escape(escape(path.stem))
    sink.stream.write(_HEAD.format(title=title, names=names).encode())
    for batch in reader:
        columns = [_cells(column, mark) for column, mark in zip(batch.columns, marks, strict=True)]
        sink.stream.write("".join(f"<tr>{''.join(row)}</tr>\n" for row in zip(*columns, strict=True)).encode())
        written.rows += batch.num_rows
    sink.stream.write(_END.encode())
    sink.stream.flush()
    return written


def _cells(column: pa.Array, mark: str) -> list[str]:
    texts = display(column)
    held = column.to_pylist() if is_binary(column.type) else [b""] * len(texts)
    return [
        '<td class="null">NULL</td>'
        if text is None
        else f"<td{mark}>{(data and picture_in_html(data)) or html.escape(text)}</td>"
        for text, data in zip(texts, held, strict=True)
    ]
