"""What one run has said so far about the rows of a table, in 16 bytes a key.

The first statement of a run about a value stands. So a source whose files disagree is the same each time it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.compute as pc

from counterbalance.engine.write.key_index import ABSENT, KeyIndex

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from counterbalance.engine.schema import Table

_WROTE: Final = 1 << 16
_COLUMNS: Final = _WROTE - 1
_FIRST: Final = 17
_LAST: Final = 40
_MOST_FILES: Final = (1 << 23) - 1
"""Files beyond that count as one."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """What was said of some keys before, an array element a key.

    Args:
        known: Whether anything was.
        wrote: Whether their row was written or updated in this run.
        columns: Bits of the columns that were told; every bit where the present file itself told of the key.
        first: Number of the file that told of the key first.
    """

    known: NDArray[np.bool_]
    wrote: NDArray[np.bool_]
    columns: NDArray[np.int64]
    first: NDArray[np.int64]


class Said:
    """Statements of one run about one table.

    Args:
        table: The base table; it has at most 16 columns.
    """

    def __init__(self, table: Table) -> None:
        self.bits = {c.name: 1 << i for i, c in enumerate(table.columns)}
        """Bit of each column."""
        self._states = KeyIndex()
        self._files: dict[str, int] = {}
        self._names: list[str] = []

    def name(self, number: int) -> str:
        """Return a file by its number."""
        return self._names[number]

    def number(self, file: str) -> int:
        """Return a file's number, in order of appearance."""
        if file not in self._files and len(self._names) <= _MOST_FILES:
            self._files[file] = len(self._names)
            self._names.append(file)
        return self._files.get(file, _MOST_FILES)

    def before(self, keys: NDArray[np.int64], file: str) -> Earlier:
        """Return what was said of these keys before now, as seen from a file that tells of them again."""
        states = self._states.find(keys)
        known = states != ABSENT
        states = np.where(known, states, 0)
        here = known & (states >> _LAST == self.number(file))
        return Earlier(
            known,
            (states & _WROTE) != 0,
            np.where(here, _COLUMNS, states & _COLUMNS),
            (states >> _FIRST) & _MOST_FILES,
        )

    def add(self, rows: pa.Table, key: str, file: str, wrote: NDArray[np.bool_]) -> None:
        """Note what a file tells.

        Args:
            rows: Each key once; what was refused is left out.
            key: The key column.
            file: Where they stand.
            wrote: Whether each is written or updates a row.
        """
        told = np.zeros(len(rows), np.int64)
        for name, bit in self.bits.items():
            if name in rows.column_names:
                told |= np.where(pc.is_valid(rows[name]).to_numpy(), bit, 0)
        keys, number = rows[key].to_numpy(), self.number(file)
        old = self._states.find(keys)
        known = old != ABSENT
        first = np.where(known, (old >> _FIRST) & _MOST_FILES, number)
        kept = np.where(known, old & (_COLUMNS | _WROTE), 0)
        states = kept | told | np.where(wrote, _WROTE, 0) | (first << _FIRST) | (number << _LAST)
        self._states.replace(keys[known], states[known])
        self._states.add(keys[~known], states[~known])
