"""JSON: a list of objects, or an object a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterbalance.shell.arrow_values import is_binary
from counterbalance.shell.fields import lines, objects
from counterbalance.shell.output import Written
from counterbalance.shell.text import escape

if TYPE_CHECKING:
    import pyarrow as pa

    from counterbalance.shell.output import Sink


_RAW: Final = (
    r"[\x7f-\x{9f}\x{61c}\x{200b}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2060}-\x{2069}\x{feff}\x{e0000}-\x{e007f}]"
)


def write(reader: pa.RecordBatchReader, sink: Sink) -> Written:
    """Write rows as objects; numbers stay numbers, NaN is null, times are ISO 8601 in UTC, bytes are left out."""
    listed = sink.options.format == "json"
    between = ",\n" if listed else "\n"
    names = [f.name for f in reader.schema if not is_binary(f.type)]
    written = Written(notes=left_out(reader.schema, sink.options.format))
    for batch in reader:
        if batch.num_rows:
            text = _written_out(_objects(batch, names))
            opening = between if written.rows else "[" if listed else ""
            sink.stream.write(opening.encode())
            sink.stream.write(lines(text, between)[: -len(between)])
            written.rows += batch.num_rows
    closing = "]\n" if listed else "\n" if written.rows else ""
    sink.stream.write(("" if written.rows or not listed else "[").encode() + closing.encode())
    sink.stream.flush()
    return written


def left_out(schema: pa.Schema, format_: str) -> list[str]:
    """Return a note for every column of bytes, which text formats leave out."""
    names = [f.name for f in schema if is_binary(f.type)]
    kept = "parquet and arrow keep it, and export writes pictures as files"
    return [f"column {n!r} holds bytes and is left out of {format_}; {kept}" for n in names]


def _objects(batch: pa.RecordBatch, names: list[str]) -> pa.Array:
    import pyarrow as pa

    if not names:
        return pa.array(["{}"] * batch.num_rows, pa.large_string())
    columns = [c for f, c in zip(batch.schema, batch.columns, strict=True) if not is_binary(f.type)]
    return objects(names, columns)


def _written_out(text: pa.Array) -> pa.Array:
    """Return JSON that means the same, without the control, escape and reordering characters that it may leave raw."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring_regex(text, _RAW)).as_py():
        return text
    return pa.array(
        ["".join(c if escape(c) == c else _units(c) for c in t) for t in text.to_pylist()], pa.large_string()
    )


def _units(char: str) -> str:
    raw = char.encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(raw[i : i + 2]):04x}" for i in range(0, len(raw), 2))
