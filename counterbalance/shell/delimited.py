r"""CSV and TSV, a batch at a time.

NULL is an empty field and an empty text is ``""``. Captions are written by strangers: a text that starts like a formula of
a spreadsheet, also behind blanks or in full width, gets an apostrophe in front, and characters that control or reorder
text are written out (``\x1b``) but for tabs and ends of lines. Parquet, arrow and JSON keep every text as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.shell.arrow_values import is_binary, is_number
from counterbalance.shell.fields import TEXT, join, lines, plain
from counterbalance.shell.jsonlines import left_out
from counterbalance.shell.output import Written
from counterbalance.shell.text import escape, escape_controls

if TYPE_CHECKING:
    from counterbalance.shell.output import Sink

_FORMULA: Final = (
    r"^(?:[\t\r]|[\pZ\pC]*[=+\-@\x{2212}\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}\x{fe66}\x{fe62}\x{fe63}\x{fe6b}])"
)
_CONTROLS: Final = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}\x{2028}-\x{202e}\x{2066}-\x{2069}]"
_DELIMITERS: Final = {"csv": ",", "tsv": "\t"}


def write(reader: pa.RecordBatchReader, sink: Sink) -> Written:
    """Write a header and the rows; bytes are left out with a note."""
    delimiter = _DELIMITERS[sink.options.format]
    shown = [i for i, f in enumerate(reader.schema) if not is_binary(f.type)]
    written = Written(notes=left_out(reader.schema, sink.options.format))
    names = _field(pa.array([reader.schema.names[i] for i in shown], TEXT), delimiter, terminal=sink.terminal)
    head = (delimiter.join(names.to_pylist()) + "\n").encode()
    for batch in reader:
        written.rows += batch.num_rows
        if batch.num_rows and shown:
            fields = [_field(batch.column(i), delimiter, terminal=sink.terminal) for i in shown]
            sink.stream.write(head)
            sink.stream.write(lines(_rows(fields, delimiter)))
            head = b""
    sink.stream.write(head)
    sink.stream.flush()
    return written


def _rows(fields: list[pa.Array], delimiter: str) -> pa.Array:
    separator = pa.scalar(delimiter, TEXT)
    return pc.binary_join_element_wise(*fields, separator, null_handling="replace", null_replacement="")


def _field(column: pa.Array, delimiter: str, *, terminal: bool) -> pa.Array:
    text = plain(column)
    if is_number(column.type):
        return text
    text = pc.if_else(pc.match_substring_regex(text, _FORMULA), join("'", text), text)
    if terminal or pc.any(pc.match_substring_regex(text, _CONTROLS)).as_py():
        written = escape if terminal else escape_controls
        text = pa.array([None if v is None else written(v) for v in text.to_pylist()], TEXT)
    needs = pc.match_substring_regex(text, f'["\r\n{delimiter}]|^$')
    if not pc.any(needs).as_py():
        return text
    return pc.if_else(needs, join('"', pc.replace_substring(text, pattern='"', replacement='""'), '"'), text)
