"""Read ``name=value`` words."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable


def pairs(words: Iterable[str], what: str = "name=value") -> dict[str, str]:
    """Return words of the form ``name=value`` as a dict.

    Raises:
        click.UsageError: A word has no ``=``, or a name comes twice.

    Example:
        >>> pairs(["a=1", "b=x=y"])
        {'a': '1', 'b': 'x=y'}
    """
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"{word!r} is not of the form {what}")
        if name.strip() in found:
            raise click.UsageError(f"{name.strip()!r} is given twice")
        found[name.strip()] = value
    return found


def age(text: str) -> dt.timedelta:
    """Return a length of time: a number with ``s``, ``m``, ``h``, ``d`` or ``w``; 0 needs none.

    Raises:
        ValueError: It is none.

    Example:
        >>> age("7d").days, age("1.5h").seconds, age("0").days
        (7, 5400, 0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw]?)", text.strip().lower())
    if found is None or (not found[2] and float(found[1])):
        raise ValueError(text)
    units = {"": "seconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    try:
        return dt.timedelta(**{units[found[2]]: float(found[1])})
    except OverflowError:
        raise ValueError(text) from None
