"""Values of ``$names``, as they are typed."""

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


def _no_constant(name: str) -> Any:
    raise ValueError(name)
