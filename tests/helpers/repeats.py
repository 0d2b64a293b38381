"""Marks of tests that try again what others show, for `make thorough`; `make test` runs the rest at every commit."""

from __future__ import annotations

from typing import Any

import pytest


def again(*values: Any) -> list[Any]:
    """Return parameters of a test that show nothing which the others do not; a tuple is one set of several arguments.

    Example:
        >>> [p.values for p in again(1, ("b", 2))]
        [(1,), ('b', 2)]
    """
    found = []
    for value in values:
        each = value if isinstance(value, tuple) else (value,)
        found.append(pytest.param(*each, marks=pytest.mark.thorough))
    return found


def chosen(values: Any, *kept: Any) -> list[Any]:
    """Return all values as parameters of a test, those that are not ``kept`` for `make thorough`; fails if one of these is no value.

    Example:
        >>> [p.values for p in chosen(["a", "b"], "a")], [len(p.marks) for p in chosen(["a", "b"], "a")]
        ([('a',), ('b',)], [0, 1])
    """
    values = list(values)
    missing = [k for k in kept if k not in values]
    if missing:
        raise ValueError(f"not among the values of this test: {missing}")
    return [pytest.param(v) if v in kept else again((v,))[0] for v in values]
