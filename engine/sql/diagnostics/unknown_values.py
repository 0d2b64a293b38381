"""Whether the labels of a lake know a value that a query names, from the dictionaries of their coded columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterbalance.engine.catalog.snapshot import SENSITIVE_LABELS
from counterbalance.engine.errors import did_you_mean
from counterbalance.engine.schema import BLANK

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from counterbalance.engine.catalog.snapshot import Snapshot

_TABLES: Final = ("labels", SENSITIVE_LABELS)
_SHOWN: Final = 12


def known(
    lakes: Sequence[tuple[Snapshot, Mapping[tuple[str, str], Sequence[str | None]]]], column: str, *, closed: bool
) -> set[str] | None:
    """Return every value of a column of labels in some lakes, open and sensitive.

    Args:
        lakes: Snapshot and dictionaries of each.
        column: ``attribute``, ``value`` or ``annotator``.
        closed: Values of sensitive labels must not be told.

    Returns:
        The values; ``None`` where a dictionary cannot be trusted, because another tool wrote to the table or the column
        outgrew its codes, and where they must not be told.
    """
    found: set[str] = set()
    for snapshot, codes in lakes:
        if closed and column == "value" and SENSITIVE_LABELS in snapshot.versions:
            return None
        for table in _TABLES:
            values = codes.get((table, column), ())
            if None in values or (table in snapshot.versions and table not in snapshot.coded):
                return None
            found.update(v for v in values if v is not None and not v.startswith(BLANK))
    return found


def note(column: str, value: str, known: Collection[str]) -> str:
    """Say that no label has the value, and what was perhaps meant.

    Example:
        >>> note("attribute", "scnee", {"scene", "topic"})
        "no label has the attribute 'scnee'; did you mean 'scene'?"
        >>> note("annotator", "x", {"ann", "bob"})
        "no label has the annotator 'x'; known: 'ann', 'bob'"
        >>> note("attribute", "scene", ())
        "no label has the attribute 'scene'; there are no labels yet"
    """
    said = f"no label has the {column} {value!r}"
    if not known:
        return f"{said}; there are no labels yet"
    meant = did_you_mean(value, known)
    if meant:
        return said + meant
    listed = ", ".join(map(repr, sorted(known)[:_SHOWN]))
    return f"{said}; known: {listed}" + (" …" if len(known) > _SHOWN else "")
