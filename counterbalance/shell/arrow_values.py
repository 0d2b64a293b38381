"""Turn Arrow values into text and JSON: times in UTC, hostile characters made visible, bytes never shown."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine import images
from counterbalance.shell.text import escape

if TYPE_CHECKING:
    from collections.abc import Callable

_SECOND_FRACTION: Final = r"\.0+Z$"


def is_binary(kind: pa.DataType) -> bool:
    """Return whether values are bytes."""
    types = pa.types
    return bool(
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_binary_view(kind)
    )


def is_number(kind: pa.DataType) -> bool:
    """Return whether values are numbers, which tables align on the right."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def is_moment(kind: pa.DataType) -> bool:
    """Return whether values are dates with a time."""
    return bool(pa.types.is_timestamp(kind))


def is_text(kind: pa.DataType) -> bool:
    """Return whether values are text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def utc_text(times: pa.Array) -> pa.Array:
    """Return timestamps as ISO 8601 in UTC; one without a zone is taken as UTC, as everything in a lake is.

    Example:
        >>> utc_text(pa.array([dt.datetime(2026, 1, 2, 3)], pa.timestamp("us"))).to_pylist()
        ['2026-01-02T03:00:00Z']
    """
    text = times.cast(pa.timestamp("us"), safe=False) if times.type.tz is None else times
    text = text.cast(pa.timestamp("us", tz="UTC"), safe=False).cast(pa.string())
    text = pc.replace_substring(text, pattern=" ", replacement="T", max_replacements=1)
    return pc.replace_substring_regex(text, pattern=_SECOND_FRACTION, replacement="Z")


def to_python(column: pa.Array) -> list[Any]:
    """Return a column as Python values that JSON can carry: timestamps as text in UTC, everything else as Arrow gives it."""
    if pa.types.is_timestamp(column.type):
        return list(utc_text(column).to_pylist())
    if column.type == pa.month_day_nano_interval():
        return [None if v is None else interval_text(*v) for v in column.to_pylist()]
    try:
        return list(column.to_pylist(maps_as_pydicts="lossy"))
    except (ValueError, OverflowError):  # a date that Python's calendar does not hold
        return list(column.cast(pa.string()).to_pylist())


def interval_text(months: int, days: int, nanoseconds: int) -> str:
    """Return an interval as ISO 8601 writes it.

    Example:
        >>> interval_text(14, 3, 1_500_000_000), interval_text(0, 0, 0)
        ('P14M3DT1.5S', 'PT0S')
    """
    seconds = f"T{nanoseconds / 1e9:.9f}".rstrip("0").rstrip(".") + "S" if nanoseconds else ""
    return (
        "P"
        + (f"{months}M" if months else "")
        + (f"{days}D" if days else "")
        + (seconds or ("" if months or days else "T0S"))
    )


def to_json_default(value: Any) -> Any:
    """Return what ``orjson`` asks for a value it does not know.

    Raises:
        TypeError: Never for a value that came from Arrow.
    """
    import orjson

    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f").encode()) if value.is_finite() else None
    if isinstance(value, bytes | memoryview):
        return None
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    return str(value)


def to_json(value: Any) -> bytes:
    """Return compact JSON: NaN and infinities as null, times in UTC, decimals as exact numbers, bytes as null.

    Example:
        >>> to_json({"x": float("nan"), "d": Decimal("1.50")})
        b'{"x":null,"d":1.50}'
    """
    import orjson

    flags = orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(value, default=to_json_default, option=flags)


def format_float(value: float) -> str:
    """Return a float for human eyes: six significant digits, always recognisable as a float.

    Example:
        >>> [format_float(x) for x in (3.0, 0.2187654321, 1234567.5, 1e-9)]
        ['3.0', '0.218765', '1234567.5', '1e-09']
    """
    if not math.isfinite(value):
        return str(value)
    if 1e6 <= abs(value) < 1e15:
        return f"{value:.1f}"
    text = f"{value:.6g}"
    return text if "." in text or "e" in text else text + ".0"


def display(column: pa.Array) -> list[str | None]:
    """Return a column as cells of a table for people; NULL stays ``None``.

    Example:
        >>> display(pa.array([[1, None], None])), display(pa.array([True])), display(pa.array([b"abc"]))
        (['[1,null]', None], ['true'], ['<3 bytes>'])
    """
    text_of = _displays(column.type)
    return [None if v is None else text_of(v) for v in to_python(column)]


def _displays(kind: pa.DataType) -> Callable[[Any], str]:
    if pa.types.is_floating(kind):
        return format_float
    if pa.types.is_integer(kind):
        return str
    if pa.types.is_decimal(kind):
        return lambda value: format(value, "f")
    if pa.types.is_boolean(kind):
        return lambda value: "true" if value else "false"
    if is_binary(kind):
        return lambda value: images.described(bytes(value))
    return _display_text


def _display_text(value: Any) -> str:
    if isinstance(value, list | dict | tuple):
        value = to_json(value).decode()
    text = str(value)
    return text if text.isprintable() else escape(text)
