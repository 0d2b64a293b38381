"""What a Python function's type hints say of it in SQL: parameters, result, and a version made of its source."""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import inspect
import types
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

REQUIRED: Final = inspect.Parameter.empty
_HINT: Final = (
    "hint str, int, float, bool, bytes, date, datetime or lists of these for one row, such as (text: str) -> float; \
arrays such as pa.StringArray for a batch; or write "
)


@dataclass(frozen=True, slots=True)
class Hinted:
    """What hints say.

    Args:
        parameters: Arrow type and default by name; ``REQUIRED`` where there is none.
        returns: Arrow type of the result.
        by_row: It is called with the values of one row, and not with arrays.
        optional: Parameters that take ``None``; where any other is NULL the result is.
    """

    parameters: Mapping[str, tuple[pa.DataType, Any]]
    returns: pa.DataType
    by_row: bool
    optional: frozenset[str]


def read(call: Callable[..., Any]) -> Hinted:
    """Read the hints of a function, or of a model's ``__call__``, and ``__init__`` for its constants.

    Raises:
        RequestError: They do not tell every type, or mix rows and arrays (E3065).

    Example:
        >>> def shout(text: str, times: int = 2) -> float: ...
        >>> read(shout).returns, read(shout).by_row, sorted(read(shout).parameters)
        (DataType(double), True, ['text', 'times'])
    """
    is_model = inspect.isclass(call)
    own = vars(call) if is_model else {}
    given, returns = _hints(own.get("__call__", call), call)
    constants = _hints(own["__init__"], call)[0] if "__init__" in own else {}
    read_, kinds = {}, set()
    for name, (hint, default) in given.items():
        kind, is_array = _type(call, name, hint)
        read_[name] = kind, default
        kinds |= {is_array} if default is REQUIRED or is_array else set()
    result, is_array = _type(call, "the result", returns)
    if len(kinds | {is_array}) > 1 or (is_model and not is_array):
        raise _too_little(call, "hints are of one row or of arrays, not of both")
    if all(default is not REQUIRED for _, default in read_.values()):
        raise _too_little(call, "it has no parameter without a default, for a column")
    read_ |= {n: (_type(call, n, hint)[0], default) for n, (hint, default) in constants.items()}
    optional = frozenset(n for n, (hint, _) in given.items() if type(None) in typing.get_args(hint))
    return Hinted(read_, result, not is_array, optional)


def written(call: Callable[..., Any]) -> str:
    """Return how ``@udf`` is told the types of a function, or of a model, without hints.

    Example:
        >>> written(lambda text, times=2: text)
        "@udf(returns=pa.string(), parameters={'text': pa.string()}) with the types of yours"
    """
    own = vars(call).get("__call__", call) if inspect.isclass(call) else call
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [n for n, p in inspect.signature(own).parameters.items() if p.default is REQUIRED and p.kind in plain]
    types_ = ", ".join(f"'{n}': pa.string()" for n in names if n != "self")
    return f"@udf(returns=pa.string(), parameters={{{types_}}}) with the types of yours"


def _too_little(call: Callable[..., Any], told: str) -> RequestError:
    return RequestError(f"{call.__name__}: {told}", code="E3065", hint=_HINT + written(call))


def _hints(own: Callable[..., Any], call: Callable[..., Any]) -> tuple[dict[str, tuple[Any, Any]], Any]:
    """Return the hint and default of every parameter of a function, or of a method of a model, and the hint of the result."""
    try:
        found = typing.get_type_hints(own)
    except (NameError, TypeError, AttributeError) as error:
        raise _too_little(call, f"a hint cannot be read: {error}") from error
    known = {n: p for n, p in inspect.signature(own).parameters.items() if n != "self"}
    if any(p.kind in {p.VAR_POSITIONAL, p.VAR_KEYWORD} for p in known.values()):
        raise _too_little(call, "*args and **kwargs are no parameters of SQL")
    return {n: (found.get(n), p.default) for n, p in known.items()}, found.get("return")


def _type(call: Callable[..., Any], of: str, hint: Any) -> tuple[pa.DataType, bool]:
    """Return the Arrow type of a hint, and whether it is an array's."""
    import pyarrow as pa

    plain = {
        str: pa.string(),
        int: pa.int64(),
        float: pa.float64(),
        bool: pa.bool_(),
        bytes: pa.binary(),
        dt.date: pa.date32(),
        dt.datetime: pa.timestamp("us", "UTC"),
    }
    arrays = {
        pa.StringArray: pa.string(),
        pa.BinaryArray: pa.binary(),
        pa.BooleanArray: pa.bool_(),
        pa.Int32Array: pa.int32(),
        pa.Int64Array: pa.int64(),
        pa.FloatArray: pa.float32(),
        pa.DoubleArray: pa.float64(),
    }
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        rest = [part for part in typing.get_args(hint) if part is not type(None)]
        hint = rest[0] if len(rest) == 1 else hint
    if typing.get_origin(hint) is list and typing.get_args(hint):
        return pa.list_(_type(call, of, typing.get_args(hint)[0])[0]), False
    if hint in plain:
        return plain[hint], False
    if hint in arrays:
        return arrays[hint], True
    said = "has no type hint" if hint is None else f"is hinted {getattr(hint, '__name__', hint)}, which tells no type"
    raise _too_little(call, f"{of} {said}")


def by_row(call: Callable[..., Any], hinted: Hinted) -> Callable[..., tuple[pa.Array, dict[int, str]]]:
    """Return a function over arrays that calls another with the values of each row; and why rows failed, by number."""

    @functools.wraps(call)
    def over_arrays(**given: Any) -> tuple[pa.Array, dict[int, str]]:
        import pyarrow as pa

        columns = {name: v.to_pylist() for name, v in given.items() if isinstance(v, pa.Array | pa.ChunkedArray)}
        constants = {name: v for name, v in given.items() if name not in columns}
        values: list[Any] = []
        errors: dict[int, str] = {}
        for number, row in enumerate(zip(*columns.values(), strict=True)):
            values.append(None)
            if any(v is None and name not in hinted.optional for name, v in zip(columns, row, strict=True)):
                continue
            try:
                values[-1] = call(**dict(zip(columns, row, strict=True)), **constants)
            except Exception as error:  # noqa: BLE001 - a user's function raises whatever it likes, and that is its row's
                errors[number] = f"{type(error).__name__}: {error}"
        return pa.array(values, hinted.returns), errors

    return over_arrays


def version(call: Callable[..., Any]) -> str:
    """Return a version that changes with the source of a function, and not with that of others which it calls.

    Example:
        >>> version(version)[:7]
        'source '
    """
    try:
        text = inspect.getsource(call)
    except (OSError, TypeError):
        code = getattr(call, "__code__", None)
        text = repr((code.co_code, code.co_consts, code.co_names)) if code is not None else repr(call)
    return f"source {hashlib.sha256(text.encode(errors='replace')).hexdigest()[:12]}"
