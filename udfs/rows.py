"""Cut text columns, as bytes and offsets, into slices of bounded size.

The functions of this package work on the bytes of a whole batch at once. ``apply`` takes whatever holds text in Arrow
(``string``, ``large_string``, views, dictionaries, chunks, slices, NULLs) and calls a function with plain NumPy arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BATCH_ROWS: Final = 16_384
"""Rows that functions of texts like at once: distinct words are looked up once a batch."""
_BYTES: Final = 1 << 25
_NON_ASCII: Final = 0x80


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a slice; a NULL is an empty row with ``null`` set.

    Args:
        text: The rows as an Arrow ``string`` array without NULLs.
        data: UTF-8 bytes of all rows, uint8.
        offsets: Where each row starts in ``data`` and where the last one ends; int64, rows + 1, from 0.
        null: Which rows are NULL, or ``None`` when none is.
    """

    text: pa.Array
    data: np.ndarray[Any, np.dtype[np.uint8]]
    offsets: np.ndarray[Any, np.dtype[np.int64]]
    null: np.ndarray[Any, np.dtype[np.bool_]] | None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def mask(self) -> pa.Array | None:
        """Return NULL rows as Arrow's constructors take them."""
        return None if self.null is None else pa.array(self.null)

    def non_ascii(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the numbers of the rows that hold a byte above 0x7f, rising."""
        found = np.flatnonzero(self.data >= _NON_ASCII)
        return np.unique(np.searchsorted(self.offsets, found, side="right") - 1)


def apply(text: pa.Array | pa.ChunkedArray, call: Callable[[Rows], pa.Array], returns: pa.DataType) -> pa.Array:
    """Return the results of ``call`` for all rows, one array; ``call`` sees at most 16,384 rows at a time.

    Args:
        text: Any Arrow text column, NULLs included.
        call: Gets the rows of a slice; returns an array of that length.
        returns: Type of an empty result.

    Example:
        >>> apply(pa.array(["ab", None]), lambda rows: pa.array(np.diff(rows.offsets)), pa.int64()).to_pylist()
        [2, 0]
    """
    parts = [call(rows) for rows in slices(text)]
    if not parts:
        return pa.array([], returns)
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def slices(text: pa.Array | pa.ChunkedArray) -> Iterator[Rows]:
    """Yield the rows in order, in slices of at most 16,384 rows and about 32 MiB (a longer row stands alone)."""
    chunks = text.chunks if isinstance(text, pa.ChunkedArray) else [text]
    for chunk in chunks:
        start = 0
        while start < len(chunk):
            part = chunk.slice(start, BATCH_ROWS)
            rows = _rows(part.slice(0, _fitting(part)))
            start += len(rows)
            yield rows


def _fitting(part: pa.Array) -> int:
    """Return how many rows of a part stay below the limit on bytes; at least one."""
    if part.nbytes <= _BYTES:
        return len(part)
    sizes = np.cumsum(pc.fill_null(pc.binary_length(part.cast(pa.large_string())), 0).to_numpy())
    return max(1, int(np.searchsorted(sizes, _BYTES, side="right")))


def _rows(part: pa.Array) -> Rows:
    null = part.is_null().to_numpy(zero_copy_only=False) if part.null_count else None
    if part.type != pa.string():
        part = part.cast(pa.string())
    if null is not None:
        part = part.fill_null("")
    _, offsets_buffer, data_buffer = part.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32)[part.offset : part.offset + len(part) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.frombuffer(data_buffer, np.uint8)[first:last] if last > first else np.zeros(0, np.uint8)
    return Rows(part, data, offsets.astype(np.int64) - first, null)
