"""JSON objects that hold a name twice: readers keep the last value without a word, so such a value is told from others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable


class Repeated(str):
    """Stand for a JSON value in which some object holds this name twice."""

    __slots__ = ()

    @property
    def message(self) -> str:
        """Tell why the value is not taken."""
        return f"the name {self[:100]!r} stands in one object twice"


def may_repeat(text: bytes, value: Any) -> bool:
    """Return whether an object of a JSON text may hold a name twice, at the cost of writing its value.

    Every name has a colon, so a value that lost one writes fewer of them than its text has; only texts that escape colons
    are suspected without reason.

    Args:
        text: UTF-8, without what stands around the value.
        value: What ``orjson`` read from it.
    """
    if b"\\u003a" in text or b"\\u003A" in text:
        return True
    try:
        return text.count(b":") != orjson.dumps(value).count(b":")
    except orjson.JSONEncodeError:  # nested more deeply than it writes
        return True


def repeated(text: bytes, value: Any) -> Repeated | None:
    """Return the first name that an object of a JSON text holds twice, or ``None``.

    Args:
        text: UTF-8.
        value: What ``orjson`` read from it.

    Example:
        >>> repeated(b'{"a": {"b": 1, "b": 2}}', {"a": {"b": 2}}), repeated(b'{"a": 1}', {"a": 1})
        ('b', None)
    """
    if not may_repeat(text, value):
        return None
    found: list[str] = []
    try:
        json.loads(text, object_pairs_hook=noting(found))
    except (ValueError, RecursionError):  # thousands of digits or brackets
        return None
    return Repeated(found[0]) if found else None


def noting(found: list[str]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Return an ``object_pairs_hook`` that adds the names that an object holds twice to a list."""

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            names = [name for name, _ in pairs]
            found.append(next(n for i, n in enumerate(names) if n in names[:i]))
        return value

    return made
