"""Which keys a table holds, and in which rows, in 16 bytes a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import lance
    from numpy.typing import NDArray

ABSENT: Final = -1
VIRTUAL: Final = -2
"""Row id of a key that a dry run would have written."""


class KeyIndex:
    """Sorted runs of (key, row id); a new run is merged with its neighbour while that is no longer than itself.

    Looking up m keys among n costs O(m log n); adding all keys bit by bit O(n log n) in all. Not thread-safe.
    """

    def __init__(self) -> None:
        self._runs: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._runs)

    @classmethod
    def of(cls, dataset: lance.LanceDataset | None, key: str) -> KeyIndex:
        """The index of a table's key column."""
        index = cls()
        if dataset is not None:
            index.add_rows(dataset, key)
        return index

    def add_rows(
        self, dataset: lance.LanceDataset, key: str, fragments: Sequence[lance.LanceFragment] | None = None
    ) -> None:
        """Add the rows of a table, or of some of its fragments."""
        scanner = dataset.scanner(
            columns=[key], with_row_id=True, fragments=None if fragments is None else list(fragments)
        )
        rows = scanner.to_table()
        self.add(rows[key].to_numpy(), rows["_rowid"].to_numpy().astype(np.int64))

    def add(self, keys: NDArray[np.int64], row_ids: NDArray[np.int64]) -> None:
        """Add keys that are not there yet, each once."""
        if not len(keys):
            return
        order = np.argsort(keys, kind="stable")
        run = (keys[order], row_ids[order])
        while self._runs and len(self._runs[-1][0]) <= len(run[0]):
            other = self._runs.pop()
            joined = np.concatenate((other[0], run[0]))
            order = np.argsort(joined, kind="stable")
            run = (joined[order], np.concatenate((other[1], run[1]))[order])
        self._runs.append(run)

    def replace(self, keys: NDArray[np.int64], row_ids: NDArray[np.int64]) -> None:
        """Give keys that are there other row ids."""
        for run, held in self._runs:
            at = np.searchsorted(run, keys)
            at[at == len(run)] = 0
            hit = run[at] == keys
            held[at[hit]] = row_ids[hit]

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Row id of every key, ``ABSENT`` where there is none."""
        found = np.full(len(keys), ABSENT, np.int64)
        for run, row_ids in self._runs:
            at = np.searchsorted(run, keys)
            at[at == len(run)] = 0
            hit = run[at] == keys
            found[hit] = row_ids[at[hit]]
        return found
