"""JSON lines as columns of text; a line that is no JSON object is refused and the others go on."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pyarrow as pa

from counterbalance.ingest.csvtext import BLOCK, Block, Records, in_blocks
from counterbalance.ingest.jsonobjects import repeated
from counterbalance.ingest.rows import Refusal, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterbalance.ingest.csvtext import Stream

_LONG: Final = re.compile(rb"\d{19}")
_EXACT: Final = 1 << 53


def read_values(
    stream: Stream,
    names: Sequence[str],
    *,
    known: frozenset[str],
    matters: Callable[[str], bool],
    block: int = BLOCK,
) -> Iterator[Records]:
    """Return values of the named keys as ``string`` columns: numbers in decimal, lists and objects as JSON text.

    Args:
        stream: At the beginning.
        names: Keys to give, in that order; an object without one has NULL there.
        known: All keys that were looked at when ``names`` was chosen.
        matters: Whether a key that is not among these would have been chosen: an object with one is refused as
            ``unknown_key``, for it would lose something.
        block: Bytes to read at a time.

    Raises:
        CounterbalanceError: As the stream does.
    """
    return in_blocks(stream, lambda b: _cut(b, names, known, matters), block)


def _cut(
    block: Block, names: Sequence[str], known: frozenset[str], matters: Callable[[str], bool]
) -> tuple[Records, int]:
    used = len(block.data) if block.last else block.data.rfind(b"\n") + 1
    columns: list[list[str | None]] = [[] for _ in names]
    lines: list[int] = []
    refused: list[Refusal] = []
    for number, line in enumerate(block.data[:used].split(b"\n"), start=block.line):
        if not line or line.isspace():
            continue
        value = parsed(line)
        if isinstance(value, str):
            refused.append(Refusal(number, "bad_json", value))
            continue
        late = [] if value.keys() <= known else [k for k in value if k not in known and matters(k)]
        if late:
            message = f"key {shorten(late[0])} does not occur at the beginning of the file; name it there"
            refused.append(Refusal(number, "unknown_key", message))
            continue
        lines.append(number)
        for column, name in zip(columns, names, strict=True):
            column.append(as_text(value.get(name)))
    arrays = [pa.array(c, pa.string()) for c in columns]
    return Records(arrays, np.array(lines, dtype=np.int64), refused), used


def parsed(line: bytes) -> dict[str, Any] | str:
    """Return a JSON object, or why it is none; integers of any length are exact, as ids must be.

    Example:
        >>> parsed(b'{"a": 1}'), parsed(b"[1]")
        ({'a': 1}, 'no JSON object')
    """
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return str(error)
    if not isinstance(value, dict):
        return "no JSON object"
    twice = repeated(line, value)
    if twice is not None:
        return twice.message
    return value | _long_integers(line) if _LONG.search(line) else value


def _long_integers(line: bytes) -> dict[str, int]:
    """Return members that are integers, exactly: orjson makes floats of those beyond 64 bits."""
    try:
        return {name: value for name, value in json.loads(line).items() if type(value) is int}
    except (ValueError, RecursionError):  # thousands of digits or brackets
        return {}


def parsed_list(text: str) -> dict[str, Any] | list[Any] | None:
    """Return a JSON list or object in a text cell; ``None`` for anything else, objects that hold a name twice included.

    Example:
        >>> parsed_list("[1]"), parsed_list("[a]"), parsed_list("3")
        ([1], None, None)
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, (dict, list)) and repeated(text.encode(), value) is None else None


def as_text(value: object) -> str | None:
    """Return a JSON value as text; whole floats without a fraction, as those of Parquet: data frames write ids so.

    Example:
        >>> [as_text(v) for v in ("a", 1, 2.5, 139.0, True, None, [1, 2])]
        ['a', '1', '2.5', '139', 'true', None, '[1,2]']
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        value = int(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value)
    return orjson.dumps(value).decode()
