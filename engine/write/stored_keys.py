"""Which keys a stored table holds: looked up in an index on disk while that is less work than reading all of them.

Adding few rows to a large table costs what these rows cost, in time and in memory. The index (Lance's B-tree) grows by a
segment with every ingest; as in a log-structured merge tree, a segment takes in those before it that are no larger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.errors import is_unreadable
from counterbalance.engine.schema import BASE_TABLES, KEY_INDEX
from counterbalance.engine.store import tables
from counterbalance.engine.write.key_index import ABSENT, KeyIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.store.location import Location

_LARGE: Final = 1 << 20
"""A table with fewer rows is read, and has no index."""
_SHARE: Final = 128
"""Looking up a key takes as long as reading so many."""


class StoredKeys:
    """Keys of a table as it was when this was made, and those that were added since.

    Args:
        location: The lake.
        stored: The table's name; it need not be there.
        key: Its key column, int64.
        ours: Nobody else has written to it, so that its index, if it has one, tells of all rows.

    Attributes:
        is_unsound: The index is there, and cannot be read, or trusted.
    """

    def __init__(self, location: Location, stored: str, key: str, *, ours: bool = True) -> None:
        self._location, self._stored, self._key = location, stored, key
        self._dataset = tables.open_table(location, stored)
        self._read = KeyIndex()
        self.is_unsound = not ours and self._dataset is not None and _has_index(self._dataset)
        self._affordable = 0 if not ours or self._dataset is None else _affordable(self._dataset)

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row id of every key, ``ABSENT`` where there is none."""
        found = self._read.find(keys)
        left = np.flatnonzero(found == ABSENT)
        if self._dataset is None or not len(left):
            return found
        if len(left) <= self._affordable:
            self._affordable -= len(left)
            try:
                found[left] = _looked_up(self._dataset, self._key, keys[left])
            except BaseException as error:
                if not is_unreadable(error):
                    raise
                self.is_unsound = True
            else:
                return found
        with tables.reading(self._location, self._stored):
            self._read.add_rows(self._dataset, self._key)
        self._dataset = None
        return self._read.find(keys)

    def add(self, keys: NDArray[np.int64], row_ids: NDArray[np.int64]) -> None:
        """Add keys that are not there yet, each once."""
        self._read.add(keys, row_ids)

    def add_rows(self, dataset: lance.LanceDataset, fragments: Sequence[lance.LanceFragment]) -> None:
        """Add the rows of some fragments."""
        self._read.add_rows(dataset, self._key, fragments)


def drop(location: Location, stored: str) -> None:
    """Let the index go, so that writes do not go by it; the writer lock is held. Makes one version."""
    dataset: Any = tables.open_table(location, stored)
    dataset.drop_index(KEY_INDEX)


def extend(location: Location, stored: str) -> None:
    """Bring the index of a large table's keys up to date; the writer lock is held. Makes one version, or none."""
    key = BASE_TABLES[stored.rpartition("/")[2]].key
    dataset: Any = tables.open_table(location, stored)
    rows, segments = _segments(dataset)
    new = rows - sum(segments)
    if not segments:
        if rows >= _LARGE:
            dataset.create_scalar_index(key, "BTREE", name=KEY_INDEX)
        return
    merged = 0
    while merged < len(segments) and segments[-1 - merged] <= new:
        new += segments[-1 - merged]
        merged += 1
    dataset.optimize.optimize_indices(num_indices_to_merge=merged, index_names=[KEY_INDEX])


def _segments(dataset: lance.LanceDataset) -> tuple[int, list[int]]:
    """Return rows of a table, and of every segment of the index, the oldest first; of no index none. The index is not opened."""
    rows = {fragment.fragment_id: int(fragment.metadata.num_rows) for fragment in dataset.get_fragments()}
    found = next((index for index in dataset.describe_indices() if index.name == KEY_INDEX), None)
    segments = found.segments if found is not None else ()
    return sum(rows.values()), [sum(rows.get(f, 0) for f in segment.fragment_ids) for segment in segments]


def _has_index(dataset: lance.LanceDataset) -> bool:
    return any(index.name == KEY_INDEX for index in dataset.describe_indices())


def _affordable(dataset: lance.LanceDataset) -> int:
    """Return how many keys may be looked up before it would have been less work to read all."""
    rows, segments = _segments(dataset)
    unread = rows - sum(segments)  # each look-up reads them; without an index all
    return 0 if unread * _SHARE > rows else rows // _SHARE


def _looked_up(dataset: lance.LanceDataset, key: str, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    wanted = tables.keys_in(key, np.unique(keys).tolist())
    rows = dataset.scanner(columns=[key], filter=wanted, with_row_id=True).to_table()
    index = KeyIndex()
    there, at = np.unique(rows[key].to_numpy(), return_index=True)
    index.add(there, rows["_rowid"].to_numpy().astype(np.int64)[at])
    return index.find(keys)
