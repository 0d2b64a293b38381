"""Word lists as relations ``lists.<name>``, found through the entry point group ``counterbalance.lists``.

An entry names a module with ``names() -> list[str]`` and ``wordlist(name) -> pyarrow.Table`` whose first column is
``term``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import NotFoundError
from counterbalance.engine.plugins import entry_points

if TYPE_CHECKING:
    import pyarrow as pa

GROUP: Final = "counterbalance.lists"


@cache
def _modules() -> dict[str, Any]:
    modules = [entry.load() for entry in entry_points(GROUP)]
    return {name: module for module in modules for name in module.names()}


def names() -> list[str]:
    """Return names of all word lists."""
    return sorted(_modules())


@cache
def wordlist(name: str) -> pa.Table:
    """Return a word list: ``term`` (string) and whatever else it says of its terms."""
    return _modules()[name].wordlist(name)


FILES: Final = (".txt", ".csv", ".tsv", ".jsonl", ".parquet")


def is_file(text: str) -> bool:
    """Tell whether a relation argument names a word-list file."""
    return text.endswith(FILES) and "(" not in text


def load(path: str, where: str) -> pa.Table:
    """Return a user's own word list from a file.

    Args:
        path: The file.
        where: The parameter that it is given for.

    Raises:
        NotFoundError: There is no such file.
    """
    if not Path(path).is_file():
        raise NotFoundError(
            f"{where} is not a relation: there is no file {path}",
            code="E1012",
            hint=f"a table, a view, a call, (SELECT …), or a word list that is there ({', '.join(FILES)})",
        )
    return next(iter(entry_points(GROUP))).load().load(path)
