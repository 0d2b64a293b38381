"""Entry points: how the engine finds the functions, queries, readers and the like that installed packages offer."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

_SAME: Final = {"hf": "huggingface", "huggingface": "hf"}
"""Hugging Face is ``huggingface`` among the formats that are read, ``hf`` among those that are written; both take either."""


@cache
def _all() -> EntryPoints:
    """Return the entry points of every installed package; looking through them takes 70 ms where there are many."""
    found: Any = metadata.entry_points()  # typed as what it was in Python 3.9
    return cast("EntryPoints", found)


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return what installed packages offer in a group, such as ``"counterbalance.udfs"``.

    Args:
        group: The group, as a package's ``pyproject.toml`` names it.

    Example:
        >>> [entry.name for entry in entry_points("counterbalance.queries")]
        ['counterbalance']
    """
    return tuple(_all().select(group=group))


@cache
def by_name(group: str) -> dict[str, EntryPoint]:
    """Return the same by name."""
    return {entry.name: entry for entry in entry_points(group)}


def called(name: str, group: str) -> str:
    """Return a name as a group of entry points has it.

    Example:
        >>> called("hf", "counterbalance.formats"), called("huggingface", "counterbalance.exports"), called("coco", "counterbalance.formats")
        ('huggingface', 'hf', 'coco')
    """
    known = by_name(group)
    return _SAME[name] if name not in known and _SAME.get(name) in known else name
