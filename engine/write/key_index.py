"""Keys and what belongs to each, such as its row, in 16 bytes a key: in memory, and beyond some size in temporary files."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Final

import numpy as np

from counterbalance.engine.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import lance
    from numpy.typing import NDArray

    Run = tuple[NDArray[np.int64], NDArray[np.int64]]
    """Keys in order, and what belongs to each."""

ABSENT: Final = -1
VIRTUAL: Final = -2
"""Row id of a key that a dry run would have written."""
_IN_MEMORY: Final = 1 << 21
"""Keys of a run that is held in memory; a longer one lies in a file."""
_AT_ONCE: Final = 1 << 20
"""Keys that are read, or merged, at once."""


class KeyIndex:
    """Sorted runs of (key, value), both int64; a new run is merged with its neighbour while that is no longer than itself.

    Looking up m keys among n costs O(m log n); adding all keys bit by bit O(n log n) in all. Not thread-safe.
    """

    def __init__(self) -> None:
        self._runs: list[Run] = []

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._runs)

    def add_rows(
        self, dataset: lance.LanceDataset, key: str, fragments: Sequence[lance.LanceFragment] | None = None
    ) -> None:
        """Add the rows of a table, or of some of its fragments."""
        chosen = None if fragments is None else list(fragments)
        scanner = dataset.scanner(columns=[key], with_row_id=True, fragments=chosen, batch_size=_AT_ONCE)
        for rows in scanner.to_batches():
            self.add(rows[key].to_numpy(), rows["_rowid"].to_numpy().astype(np.int64))

    def add(self, keys: NDArray[np.int64], values: NDArray[np.int64]) -> None:
        """Add keys that are not there yet, each once."""
        if not len(keys):
            return
        order = np.argsort(keys, kind="stable")
        run = (keys[order], values[order])
        while self._runs and len(self._runs[-1][0]) <= len(run[0]):
            run = _merged(self._runs.pop(), run)
        self._runs.append(run)

    def replace(self, keys: NDArray[np.int64], values: NDArray[np.int64]) -> None:
        """Give keys that are there other values."""
        for run, held in self._runs:
            at = np.searchsorted(run, keys)
            at[at == len(run)] = 0
            hit = run[at] == keys
            held[at[hit]] = values[hit]

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what belongs to every key, ``ABSENT`` where it is not there."""
        found = np.full(len(keys), ABSENT, np.int64)
        for run, values in self._runs:
            at = np.searchsorted(run, keys)
            at[at == len(run)] = 0
            hit = run[at] == keys
            found[hit] = values[at[hit]]
        return found


def _merged(one: Run, other: Run) -> Run:
    """Return two runs as one, merged piece by piece."""
    keys, values = _space(len(one[0]) + len(other[0]))
    bounds = np.sort(np.concatenate((one[0][_AT_ONCE::_AT_ONCE], other[0][_AT_ONCE::_AT_ONCE])))
    cuts = [np.concatenate(([0], np.searchsorted(run[0], bounds), [len(run[0])])) for run in (one, other)]
    for low, high, low_other, high_other in zip(cuts[0], cuts[0][1:], cuts[1], cuts[1][1:], strict=False):
        joined = np.concatenate((one[0][low:high], other[0][low_other:high_other]))
        order = np.argsort(joined, kind="stable")
        place = slice(low + low_other, high + high_other)
        keys[place] = joined[order]
        values[place] = np.concatenate((one[1][low:high], other[1][low_other:high_other]))[order]
    return keys, values


def _space(size: int) -> Run:
    """Return room for so many keys and values; a file without a name goes with the last reference to it, or the process.

    Raises:
        StorageError: The disk is full.
    """
    if size <= _IN_MEMORY:
        return np.empty(size, np.int64), np.empty(size, np.int64)
    try:
        with tempfile.TemporaryFile() as file:
            os.posix_fallocate(file.fileno(), 0, 16 * size)  # a disk that is full is an error here, and a signal later
            both = np.memmap(file, np.int64, "r+", shape=(2, size))
    except OSError as error:
        raise StorageError(
            f"no room for the keys of this source in {tempfile.gettempdir()}: {error.strerror}",
            code="E6045",
            hint=f"{16 * size:,} bytes are needed; TMPDIR names another folder",
        ) from error
    return both[0], both[1]
