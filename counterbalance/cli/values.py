"""Read ``name=value`` words, and complete them."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterbalance.engine.sql.query_model import QueryParameter

_ROWS = frozenset({"table", "view", "materialized view"})


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


def completed(
    parameters: Sequence[QueryParameter], incomplete: str, before: Sequence[str] = (), lake: str | None = None
) -> list[CompletionItem]:
    """Return what completes a word ``name=value``: names of parameters, then values of one of them.

    Args:
        parameters: Those that there are.
        incomplete: The word so far; of ``k=5`` bash gives ``5``, after the words ``k`` and ``=``.
        before: The words before it.
        lake: Where relations are looked up.

    Example:
        >>> from counterbalance.engine.sql.query_model import QueryParameter
        >>> unit = QueryParameter("unit", "varchar", "'image'", choices=("image", "person"))
        >>> [c.value for before, word in [((), "un"), ((), "unit=p"), (("unit", "="), "p"), (("x", "=", "unit"), "u")] for c in completed([unit], word, before)]
        ['unit=', 'unit=person', 'person', 'unit=']
    """
    by_name = {p.name: p for p in parameters}
    name, equals, start = incomplete.partition("=")
    front = name + equals
    if not equals:
        *others, last = "", "", *(before[:-1] if before[-1:] == ("=",) else before)
        if last in by_name and others[-1] != "=":  # else it is a value that is called as a parameter is
            name, start, front = last, incomplete, ""
        else:
            return [CompletionItem(f"{p.name}=", help=p.doc) for p in parameters if p.name.startswith(incomplete)]
    found = _values(by_name[name], lake) if name in by_name else []
    return [CompletionItem(front + value) for value in found if value.startswith(start)]


def _values(parameter: QueryParameter, lake: str | None) -> list[str]:
    """Return values that a parameter takes, as far as they can be listed."""
    if parameter.choices:
        return [*parameter.choices]
    if parameter.type == "boolean":
        return ["true", "false"]
    if not parameter.is_relation or lake is None:
        return []
    import counterbalance
    from counterbalance.engine.errors import CounterbalanceError

    try:
        with counterbalance.connect(lake).session() as session:
            return [r.name for r in session.relations() if r.schema is None and r.kind in _ROWS]
    except CounterbalanceError:  # who completes a word wants no error in the middle of a line
        return []


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
