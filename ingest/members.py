"""Tell which members of a source's objects find no place, and give those that are kept as texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterbalance.ingest import columns
from counterbalance.ingest.jsonlines import as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_MOST: Final = 1_000
"""So many names are remembered; a source that has more gives its values as names."""
_NOTHING: Final[tuple[object, ...]] = (None, "", [], {})


class Members:
    """Gather the names of members that have no place, as objects pass by; an empty one leaves nothing out. Not thread-safe.

    Args:
        taken: Names that have a place.
        prefix: Stands before the names in notes, and where they are kept.

    Example:
        >>> members = Members(["id"])
        >>> members.add([{"id": 1, "by": "Ann", "size": {"width": 2}}, {"id": 2, "at": None}])
        >>> members.notes()
        ['left out: by; --keep by stores it as labels', 'left out: size, of lists or objects; --keep size stores them as JSON']
    """

    def __init__(self, taken: Iterable[str], prefix: str = "") -> None:
        self._known, self._prefix = set(taken), prefix
        self._plain, self._lists = set[str](), set[str]()

    def add(self, items: Iterable[Any]) -> None:
        """Take objects in; anything else has no members."""
        for item in items:
            if isinstance(item, dict) and not item.keys() <= self._known:
                self._note(item)

    def _note(self, item: Mapping[str, Any]) -> None:
        for name, value in item.items():
            if name not in self._known and value not in _NOTHING and len(self._plain) + len(self._lists) < _MOST:
                self._known.add(name)
                (self._lists if isinstance(value, (list, dict)) else self._plain).add(name)

    def kept(self, name: str, items: Iterable[Mapping[str, Any]]) -> list[str | None]:
        """Return the values of a member as texts, lists and objects as JSON, so that it has a place."""
        self._plain.discard(name)
        self._lists.discard(name)
        return [as_text(item.get(name)) for item in items]

    def names(self) -> Sequence[str]:
        """Return the names of those without a place, in order."""
        return sorted(self._plain | self._lists)

    def notes(self) -> list[str]:
        """Return notes about those without a place, and how one is kept."""
        return columns.left_out(*([self._prefix + n for n in sorted(names)] for names in (self._plain, self._lists)))


def chosen(items: Iterable[Any], keep: Sequence[str], where: str) -> list[str]:
    """Return the members of a source's first objects that are to be kept as labels, as they are spelled there.

    Raises:
        NotFoundError: If one is not there (``E1002``).
    """
    names = list(dict.fromkeys(name for item in items if isinstance(item, dict) for name in item))
    return [names[at] for at in columns.as_labels(names, keep, where).values()]
