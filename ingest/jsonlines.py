"""JSON lines, or a JSON list of objects, as columns of text; what is no JSON object is refused and the others go on."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import numpy as np
import orjson
import pyarrow as pa

from counterbalance.ingest.csvtext import BLOCK, Block, Records, in_blocks
from counterbalance.ingest.jsonobjects import Repeated, repeated
from counterbalance.ingest.jsonstream import stream_list
from counterbalance.ingest.rows import Refusal, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from counterbalance.ingest.csvtext import Stream

_LONG: Final = re.compile(rb"\d{19}")
_EXACT: Final = 1 << 53
_NOT_FINITE: Final = re.compile(rb'("(?:[^"\\]|\\.)*")|-?\b(?:NaN|Infinity)\b')
"""A string, which is kept, or what Python writes for a number that is none."""


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


def read_list(
    stream: Stream, uri: str, names: Sequence[str], *, known: frozenset[str], matters: Callable[[str], bool]
) -> Iterator[Records]:
    """Return the same of a JSON list of objects, which are counted from 1.

    Args:
        stream: At the beginning.
        uri: Its name in messages.
        names: Keys to give, as for ``read_values``.
        known: All keys that were looked at, as for that.
        matters: Which others refuse an object, as for that.

    Raises:
        SourceError: It is no JSON list, or is cut short (``E4020`` to ``E4022``).
    """
    for piece in stream_list(cast("BinaryIO", stream), uri, "rows"):
        yield _gathered(enumerate(map(_object, piece.items), start=piece.start + 1), names, known, matters)


def _object(value: Any) -> dict[str, Any] | str:
    """Return an element of a list, or why it is not taken."""
    if isinstance(value, Repeated):
        return value.message
    return value if isinstance(value, dict) else "no JSON object"


def _cut(
    block: Block, names: Sequence[str], known: frozenset[str], matters: Callable[[str], bool]
) -> tuple[Records, int]:
    used = len(block.data) if block.last else block.data.rfind(b"\n") + 1
    lines = enumerate(block.data[:used].split(b"\n"), start=block.line)
    objects = ((number, parsed(line)) for number, line in lines if line and not line.isspace())
    return _gathered(objects, names, known, matters), used


def _gathered(
    objects: Iterable[tuple[int, dict[str, Any] | str]],
    names: Sequence[str],
    known: frozenset[str],
    matters: Callable[[str], bool],
) -> Records:
    """Return objects with their numbers as columns; a text in the place of one is why it is refused."""
    columns: list[list[str | None]] = [[] for _ in names]
    numbers: list[int] = []
    refused: list[Refusal] = []
    for number, value in objects:
        if isinstance(value, str):
            refused.append(Refusal(number, "bad_json", value))
            continue
        late = [] if value.keys() <= known else [k for k in value if k not in known and matters(k)]
        if late:
            message = f"key {shorten(late[0])} does not occur at the beginning of the file; name it there"
            refused.append(Refusal(number, "unknown_key", message))
            continue
        numbers.append(number)
        for column, name in zip(columns, names, strict=True):
            column.append(as_text(value.get(name)))
    arrays = [pa.array(c, pa.string()) for c in columns]
    return Records(arrays, np.array(numbers, dtype=np.int64), refused)


def parsed(line: bytes) -> dict[str, Any] | str:
    """Return a JSON object, or why it is none; integers of any length are exact, as ids must be.

    ``NaN`` and ``Infinity`` are no JSON, and null here: Python's ``json`` writes them.

    Example:
        >>> parsed(b'{"a": 1, "b": NaN}'), parsed(b"[1]")
        ({'a': 1, 'b': None}, 'no JSON object')
    """
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        finite = _NOT_FINITE.sub(lambda found: found[1] or b"null", line)
        return parsed(finite) if finite != line else str(error)
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
