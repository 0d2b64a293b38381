"""Word lists as relations ``lists.<name>``, found through the entry point group ``counterbalance.lists``.

An entry names a module with ``names() -> list[str]`` and ``wordlist(name) -> pyarrow.Table`` whose first column is
``term``.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import NotFoundError

if TYPE_CHECKING:
    import pyarrow as pa

GROUP: Final = "counterbalance.lists"


@cache
def _modules() -> dict[str, Any]:
    modules = [entry.load() for entry in entry_points(group=GROUP)]
    return {name: module for module in modules for name in module.names()}


def names() -> list[str]:
    """Names of all word lists."""
    return sorted(_modules())


@cache
def wordlist(name: str) -> pa.Table:
    """A word list: ``term`` (string) and whatever else it says of its terms."""
    return _modules()[name].wordlist(name)


def is_file(text: str) -> bool:
    """Whether a relation argument names a word-list file."""
    return text.endswith((".txt", ".csv", ".tsv", ".jsonl", ".parquet")) and "(" not in text


def load(path: str) -> pa.Table:
    """A user's own word list from a file.

    Raises:
        NotFoundError: There is no such file.
    """
    if not Path(path).is_file():
        raise NotFoundError(f"no word list at {path}", code="E1012")
    for entry in entry_points(group=GROUP):
        return entry.load().load(path)
    raise NotFoundError("no package offers word lists", code="E1009")
