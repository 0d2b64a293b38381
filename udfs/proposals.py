"""Proposals: tables of attributes that pictures may have, as ``propose_attributes`` or a user writes them.

A proposal is a word list: ``term`` (an attribute, such as ``foggy``), ``class`` (its category, such as ``weather``), and if wanted
``level`` (``image``, said of a whole picture, or ``object``, found at a place in it; ``image`` where it is missing) and
``caption`` (what a model is asked instead of the usual words).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from counterbalance.engine.errors import RequestError
from counterbalance.udfs import wordlists

LEVELS: Final = ("image", "object")
UNKNOWN: Final = "unknown"
"""What stands for the attribute of a picture of which none of a category was found."""


@dataclass(frozen=True, slots=True)
class Category:
    """A category of attributes.

    Args:
        name: Its name.
        level: ``image`` or ``object``.
        attributes: Its attributes, in the order of the table.
        captions: What a model is asked for each of them; ``None`` for the usual words.
    """

    name: str
    level: str
    attributes: tuple[str, ...]
    captions: tuple[str | None, ...]


def digest(path: str) -> str:
    """Return the digest of a file's bytes; empty where there is none yet.

    Example:
        >>> digest("no such file")
        ''
    """
    file = Path(path).expanduser()
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else ""


def read(path: str | Path) -> list[Category]:
    """Return the categories of a proposal, in the order in which the table names them.

    Args:
        path: A file as word lists are: ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet``.

    Raises:
        NotFoundError: There is no such file (E1012).
        SourceError: It cannot be read (E4050, E4051, E4052).
        RequestError: A row is not as it must be (E3720).
    """
    table = wordlists.load(Path(path).expanduser())
    if "class" not in table.column_names:
        raise _wrong(path, "no column 'class', the category of each term")
    found: dict[str, dict[str, tuple[str, str | None]]] = {}
    for number, row in enumerate(table.to_pylist(), 1):
        name, term = (row["class"] or "").strip(), row["term"]
        level = str(row.get("level") or LEVELS[0])
        if fault := _fault(name, term, level, found):
            raise _wrong(path, f"row {number}: {fault}")
        found.setdefault(name, {})[term] = (level, _text(row.get("caption")))
    if not found:
        raise _wrong(path, "no rows")
    return [_category(name, rows) for name, rows in found.items()]


def of_level(path: str | Path, level: str) -> list[Category]:
    """Return the categories of one level; there may be none."""
    return [category for category in read(path) if category.level == level]


def _category(name: str, rows: dict[str, tuple[str, str | None]]) -> Category:
    return Category(name, next(iter(rows.values()))[0], tuple(rows), tuple(caption for _, caption in rows.values()))


def _fault(name: str, term: str, level: str, found: dict[str, dict[str, tuple[str, str | None]]]) -> str | None:
    known = found.get(name, {})
    if not name:
        return "no category in the column 'class'"
    if term == UNKNOWN:
        return f"{UNKNOWN!r} stands for pictures without an attribute and cannot be one"
    if level not in LEVELS:
        return f"level {level!r}; it is one of {', '.join(LEVELS)}"
    if term in known:
        return f"{term!r} is an attribute of {name!r} twice"
    return f"{name!r} has several levels" if any(own != level for own, _ in known.values()) else None


def _text(value: Any) -> str | None:
    text = "" if value is None else str(value).strip()
    return text or None


def _wrong(path: str | Path, reason: str) -> RequestError:
    return RequestError(
        f"{path} is not a proposal of attributes: {reason}", code="E3720", hint="columns: term, class, level, caption"
    )
