"""Find which column of a source is which: names as people write them, matched without case, with ``--map`` on top."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import NotFoundError, RequestError, SourceError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Fields = Mapping[str, tuple[str, ...]]

LABEL: Final = "attribute:"
"""Stands before the names of columns that are labels."""
INDEX: Final = re.compile(r"\s*|Unnamed: \d+|__index_level_\d+__")
"""Columns that are row numbers of data frames."""
TOLD: Final = frozenset({"width", "height", "sha256"})
"""Columns that a picture itself tells."""
_SHOWN: Final = 20
_GAPS: Final = re.compile(r"[\s\-.]+")


@lru_cache(4096)
def plain(name: str) -> str:
    """Return a column name without case, blanks and dashes.

    Example:
        >>> plain(" Image-Key ")
        'image_key'
    """
    return _GAPS.sub("_", name.strip().lower())


def resolve(names: Sequence[str], fields: Fields, mapping: Mapping[str, str], where: str) -> dict[str, int]:
    """Return the field to position of its column, for the fields that the source has.

    Args:
        names: Columns of the source, in order.
        fields: Field to the names it goes by, best first; the field's own name comes before them all.
        mapping: The user's choice: field (or one of its names) to column; beats everything else.
        where: The file, for messages.

    Raises:
        RequestError: If ``mapping`` names a field that there is not (``E3005``).
        NotFoundError: If it names a column that there is not (``E1002``).
        SourceError: If the chosen name stands in the header twice (``E4011``).

    Example:
        >>> resolve(["URL", "TEXT", "alt"], {"url": (), "caption": ("text",)}, {"caption": "alt"}, "a.csv")
        {'caption': 2, 'url': 0}
    """
    found = {field: _chosen(column, names, where) for field, column in asked(mapping, fields).items()}
    lowered = [plain(n) for n in names]
    for field, synonyms in fields.items():
        if field in found:
            continue
        taken = set(found.values())
        hits = [s for s in (field, *synonyms) if s in lowered and lowered.index(s) not in taken]
        if hits:
            found[field] = _only(hits[0], names, lowered, where)
    return found


def as_labels(names: Sequence[str], keep: Sequence[str], where: str) -> dict[str, int]:
    """Return the columns to keep though no table has a place for them, by ``LABEL`` and their name.

    Raises:
        NotFoundError: If one is not there (``E1002``).

    Example:
        >>> as_labels(["url", "aesthetic"], ["aesthetic"], "a.csv")
        {'attribute:aesthetic': 1}
    """
    return {LABEL + names[at]: at for at in (_chosen(column, names, where) for column in keep)}


def unplaced(names: Sequence[str], found: Mapping[str, int]) -> list[str]:
    """Return the columns that are not taken; row numbers of data frames do not count.

    Example:
        >>> unplaced(["Unnamed: 0", "url", "phash"], {"url": 1})
        ['phash']
    """
    return [n for i, n in enumerate(names) if i not in found.values() and not INDEX.fullmatch(n)]


def left_out(names: Sequence[str], lists: Sequence[str] = (), *, as_json: bool = True) -> list[str]:
    """Return notes about columns that are not taken, if there are any.

    Args:
        names: Those that could be kept.
        lists: Those whose values are lists or objects.
        as_json: Whether these can be kept, too.

    Example:
        >>> left_out(["question"])
        ['left out: question; --keep question stores it as labels']
        >>> left_out([], ["tokens"])
        ['left out: tokens, of lists or objects; --keep tokens stores them as JSON']
    """
    one = "it" if len(names) == 1 else "one"
    plain = [f"left out: {some(names)}; --keep {some(names[:1])} stores {one} as labels"] if names else []
    them = ("them" if len(lists) == 1 else "those of one") if as_json else ""
    how = f"; --keep {some(lists[:1])} stores {them} as JSON" if them else ""
    return plain + [f"left out: {some(lists)}, of lists or objects{how}"] * bool(lists)


def cannot_keep(format_: str, names: Sequence[str]) -> list[str]:
    """Return a note about what a format leaves out whatever is asked, if there is any.

    Example:
        >>> cannot_keep("labels", ["comment", "rank"])
        ['left out: comment, rank; the format labels cannot keep them']
    """
    them = "it" if len(names) == 1 else "them"
    return [f"left out: {some(names)}; the format {format_} cannot keep {them}"] if names else []


def some(names: Sequence[str]) -> str:
    """Return the first names, short ones, as a note lists them.

    Example:
        >>> some(["a", "b"])
        'a, b'
    """
    shown = (n.strip()[:40].encode(errors="backslashreplace").decode() for n in names[:_SHOWN])
    return ", ".join(shown) + ", …" * (len(names) > _SHOWN)


def asked(mapping: Mapping[str, str], fields: Fields) -> dict[str, str]:
    """Return the user's mapping with the fields' own names.

    Raises:
        RequestError: If it names a field that there is not (``E3005``).
    """
    return {_field(name, fields): column for name, column in mapping.items()}


def matters(fields: Fields) -> Callable[[str], bool]:
    """Tell whether a column name could be one of the fields."""
    known = {n for field, synonyms in fields.items() for n in (field, *synonyms)}
    return lambda name: plain(name) in known


def _field(name: str, fields: Fields) -> str:
    """Return the field that a user's name means."""
    wanted = plain(name)
    if wanted in fields:
        return wanted
    for field, synonyms in fields.items():
        if wanted in synonyms:
            return field
    raise RequestError(
        f"no field {name!r} to map a column to{did_you_mean(wanted, fields)}",
        code="E3005",
        hint="fields: " + ", ".join(fields),
    )


def _chosen(column: str, names: Sequence[str], where: str) -> int:
    """Return the position of a column that the user named: as written, else without case."""
    if column in names:
        return _only(column, names, names, where)
    lowered = [plain(n) for n in names]
    if plain(column) in lowered:
        return _only(plain(column), names, lowered, where)
    raise NotFoundError(
        f"no column {column!r} in {where}{did_you_mean(column, names)}",
        code="E1002",
        hint="columns: " + ", ".join(names),
    )


def _only(name: str, names: Sequence[str], keys: Sequence[str], where: str) -> int:
    at = [i for i, key in enumerate(keys) if key == name]
    if len(at) > 1:
        both = ", ".join(repr(names[i]) for i in at)
        same = len({names[i] for i in at}) == 1
        hint = "rename one of them" + ", or name the right one with --map" * (not same)
        raise SourceError(f"{where} has {len(at)} columns for {name!r}: {both}", code="E4011", hint=hint)
    return at[0]


def require(found: Mapping[str, int], fields: Sequence[str], names: Sequence[str], where: str) -> None:
    """Refuse a source that lacks a field.

    Raises:
        SourceError: Naming the field, the columns that are there and ``--map`` (``E4010``).
    """
    missing = [f for f in fields if f not in found]
    if missing:
        shown = ", ".join(n[:40] for n in names[:20]) or "none"
        raise SourceError(
            f"{where} has no {missing[0]} column; its columns are: {shown}",
            code="E4010",
            hint=f"name it with --map {missing[0]}=COLUMN",
        )
