"""Whole columns as text in Arrow's own loops, for formats with a line a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.shell.arrow_values import is_number, is_text, to_json, to_python, utc_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TEXT: Final = pa.large_string()
_JSON_ESCAPED: Final = r'["\\\x00-\x1f]'
_WHOLE: Final = r"^(-?\d+)$"


def join(*parts: pa.Array | str) -> pa.Array:
    """Return text put together row by row; NULL makes NULL.

    Example:
        >>> join("<", pa.array(["a", None], TEXT), ">").to_pylist()
        ['<a>', None]
    """
    return pc.binary_join_element_wise(*(pa.scalar(p, TEXT) if isinstance(p, str) else p for p in (*parts, "")))


def lines(rows: pa.Array, end: str = "\n") -> memoryview:
    """Return rows of text, each with an end, as bytes: an Arrow text column is one buffer with its values one after the other."""
    ended = join(rows, end)
    starts = memoryview(ended.buffers()[1]).cast("q")
    return memoryview(ended.buffers()[2])[starts[ended.offset] : starts[ended.offset + len(ended)]]


def plain(column: pa.Array) -> pa.Array:
    """Return values as text, unquoted: numbers and truth values as SQL writes them, times in UTC, lists and structs as JSON."""
    simple = _simple(column)
    return _by_value(column, _bare) if simple is None else simple


def _bare(value: Any) -> str:
    return to_json(value).decode() if isinstance(value, list | dict | tuple) else str(value)


def as_json(column: pa.Array) -> pa.Array:
    """Return values as JSON, NULL, NaN and infinities as ``null``."""
    simple = _simple(column)
    if simple is None:
        text = _by_value(column, lambda value: to_json(value).decode())
    elif pa.types.is_floating(column.type):
        text = pc.if_else(pc.is_finite(column), simple, None)
    elif is_number(column.type) or pa.types.is_boolean(column.type):
        text = simple
    else:
        text = _quoted(simple)
    return pc.fill_null(text, pa.scalar("null", TEXT))


def _quoted(text: pa.Array) -> pa.Array:
    odd = pc.match_substring_regex(text, _JSON_ESCAPED)
    if not pc.any(odd).as_py():
        return join('"', text, '"')
    return _by_value(text, lambda value: to_json(value).decode())


def _simple(column: pa.Array) -> pa.Array | None:
    """Return the column cast to text, or ``None`` for what Arrow has no text of its own for."""
    kind = column.type
    if is_text(kind):
        return column.cast(TEXT)
    if pa.types.is_timestamp(kind):
        return utc_text(column).cast(TEXT)
    if pa.types.is_floating(kind):
        return pc.replace_substring_regex(column.cast(TEXT), pattern=_WHOLE, replacement=r"\1.0")
    if is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind):
        return column.cast(TEXT)
    return None


def _by_value(column: pa.Array, text_of: Callable[[Any], str]) -> pa.Array:
    return pa.array((None if v is None else text_of(v) for v in to_python(column)), TEXT)


def objects(names: Sequence[str], columns: Sequence[pa.Array]) -> pa.Array:
    """Return one JSON object per row.

    Example:
        >>> objects(["a", "b"], [pa.array([1, None]), pa.array(["x", "y"])]).to_pylist()
        ['{"a":1,"b":"x"}', '{"a":null,"b":"y"}']
    """
    parts: list[pa.Array | str] = []
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        parts += [("," if number else "{") + to_json(name).decode() + ":", as_json(column)]
    return join(*parts, "}")
