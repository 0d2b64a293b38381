"""Expand what a user may write for several files: comma lists, and brace lists and ranges as in a shell."""

from __future__ import annotations

import re
from typing import Final

from counterbalance.engine.errors import SourceError

MOST: Final = 1_000_000
_RANGE: Final = re.compile(r"(\d+)\.\.(\d+)")


def is_glob(text: str) -> bool:
    """Return whether a path holds a wildcard.

    Example:
        >>> is_glob("shards/*.tar"), is_glob("shards/0.tar")
        (True, False)
    """
    return any(c in text for c in "*?[")


def split_commas(text: str) -> list[str]:
    """Return parts between the commas that stand outside braces, blanks around them dropped.

    Example:
        >>> split_commas("a.json, b_{x,y}.json")
        ['a.json', 'b_{x,y}.json']
    """
    parts, depth = [""], 0
    for c in text:
        depth += (c == "{") - (c == "}")
        if c == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


def split_braces(text: str) -> list[str]:
    """Return all texts that the braces of a text stand for; ranges keep their leading zeros; braces nest.

    Raises:
        SourceError: If there are more than ``MOST`` (``E4003``).

    Example:
        >>> split_braces("{08..10}-{a,b}.tar")
        ['08-a.tar', '08-b.tar', '09-a.tar', '09-b.tar', '10-a.tar', '10-b.tar']
        >>> split_braces("{x}.tar")
        ['{x}.tar']
    """
    return _braces(text, text)


def _braces(text: str, whole: str) -> list[str]:
    span = _first_group(text)
    if span is None:
        return [text]
    start, end = span
    choices = _choices(text[start + 1 : end], whole)
    rest = _braces(text[end + 1 :], whole)
    _check(len(choices) * len(rest), whole)
    return [text[:start] + choice + r for choice in choices for r in rest]


def _first_group(text: str) -> tuple[int, int] | None:
    """Return where the first brace pair begins and ends that holds a list or a range."""
    start = text.find("{")
    while start >= 0:
        depth = 0
        for i in range(start, len(text)):
            depth += (text[i] == "{") - (text[i] == "}")
            if not depth:
                inner = text[start + 1 : i]
                if "," in inner or _RANGE.fullmatch(inner):
                    return start, i
                break
        start = text.find("{", start + 1)
    return None


def _choices(inner: str, whole: str) -> list[str]:
    """Return what stands between two braces, one by one."""
    numbers = _RANGE.fullmatch(inner)
    if not numbers:
        parts = _split_list(inner)
        return [c for part in parts for c in _braces(part, whole)]
    first, last = int(numbers[1]), int(numbers[2])
    _check(abs(last - first) + 1, whole)
    padded = any(len(n) > 1 and n[0] == "0" for n in numbers.groups())
    width = max(len(numbers[1]), len(numbers[2])) if padded else 0
    step = 1 if last >= first else -1
    return [f"{n:0{width}d}" for n in range(first, last + step, step)]


def _split_list(inner: str) -> list[str]:
    """Return parts between commas of the outermost level, empty ones kept."""
    parts, depth = [""], 0
    for c in inner:
        depth += (c == "{") - (c == "}")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def _check(count: int, whole: str) -> None:
    if count > MOST:
        raise SourceError(
            f"the braces in {whole[:200]!r} stand for {count:,} names; at most {MOST:,} are taken", code="E4003"
        )
