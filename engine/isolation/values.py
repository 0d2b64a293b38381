"""Values of parameters as JSON and back: what DuckDB takes, with the types that JSON does not know."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import uuid
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

_TYPES: Final[dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "datetime": (dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
    "time": (dt.time, dt.time.isoformat, dt.time.fromisoformat),
    "span": (
        dt.timedelta,
        lambda v: [v.days, v.seconds, v.microseconds],
        lambda v: dt.timedelta(days=v[0], seconds=v[1], microseconds=v[2]),
    ),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "uuid": (uuid.UUID, str, uuid.UUID),
    "bytes": (bytes, lambda v: base64.b64encode(v).decode(), base64.b64decode),
    "bytearray": (bytearray, lambda v: base64.b64encode(v).decode(), lambda v: bytearray(base64.b64decode(v))),
    "path": (str, str, str),
}


def encoded(value: Any, name: str) -> Any:
    """Return a value as JSON can hold it.

    Args:
        value: Of a parameter.
        name: Of the parameter, for the error.

    Raises:
        RequestError: It is of a type that a worker process cannot be given (E3049).

    Example:
        >>> encoded([1, dt.date(2026, 1, 2)], "x")
        [1, {'date': '2026-01-02'}]
        >>> decoded(encoded({"a": decimal.Decimal("1.50")}, "x"))
        {'a': Decimal('1.50')}
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [encoded(item, name) for item in value]
    if isinstance(value, dict):
        return {"dict": [[encoded(key, name), encoded(item, name)] for key, item in value.items()]}
    for tag, (kind, to_json, _) in _TYPES.items():
        if isinstance(value, kind):
            return {tag: to_json(value)}
    if hasattr(value, "__fspath__"):
        return {"path": str(value)}
    raise RequestError(
        f"{name} is a {type(value).__module__}.{type(value).__qualname__}, which a worker process cannot be given",
        code="E3049",
        hint="give a number, text, date, list, dict or table; or isolated=False",
    )


def decoded(value: Any) -> Any:
    """Return the value that ``encoded`` was given."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if isinstance(value, dict):
        ((tag, body),) = value.items()
        return {decoded(k): decoded(v) for k, v in body} if tag == "dict" else _TYPES[tag][2](body)
    return value
