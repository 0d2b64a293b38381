"""Values of ``$names`` and of parameters, as they are typed."""

from __future__ import annotations

import json
from typing import Any


def value_of(text: str) -> Any:
    """Return a value of no declared type: what reads as a JSON number, truth value, null, list or quoted text, else the text.

    Example:
        >>> [value_of(t) for t in ("3", "0.5", "true", "[1, 2]", '"3"', "man")]
        [3, 0.5, True, [1, 2], '3', 'man']
    """
    try:
        return json.loads(text, parse_constant=_no_constant)
    except ValueError:
        return text


def argument(text: str) -> Any:
    """Return a value for a parameter whose type the engine knows: null, a JSON list, or the text as it is.

    Example:
        >>> argument("5,10"), argument('["a, b"]'), argument("null")
        ('5,10', ['a, b'], None)
    """
    if text.strip().lower() == "null":
        return None
    value = value_of(text) if text.lstrip().startswith("[") else text
    return value if isinstance(value, list) else text


def _no_constant(name: str) -> Any:
    raise ValueError(name)
