"""Vectors of a stored column: all, or a seeded sample of those that k-means can use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    import lance
    from numpy.typing import NDArray

SMALL: Final = 256
"""Fewer usable vectors than this are kept as a plain list; codes of parts (PQ) cannot be trained on fewer."""
_BATCH: Final = 8192
_ALL: Final = 20_000
"""Tables up to this size are read whole."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Usable vectors (finite, and not zero where direction counts), and about how many the table has."""

    vectors: NDArray[np.float32]
    rows: int

    @property
    def is_small(self) -> bool:
        """Return whether there are too few to train on."""
        return len(self.vectors) < SMALL

    @property
    def different(self) -> int:
        """Return how many different vectors, at least about."""
        return len(np.unique(self.vectors.astype(np.float64).sum(axis=1)))


def vectors_or_nan(column: pa.ChunkedArray | pa.Array) -> NDArray[np.float32]:
    """Return vectors as rows of float32; NULL becomes NaN.

    Example:
        >>> vectors_or_nan(pa.array([[1, 2], None], pa.list_(pa.float32(), 2))).tolist()
        [[1.0, 2.0], [nan, nan]]
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    width = column.type.list_size
    parts = [np.empty((0, width), np.float32)]
    for chunk in chunks:
        inner = chunk.values.slice(chunk.offset * width, len(chunk) * width)
        values = inner.to_numpy(zero_copy_only=False).astype(np.float32, copy=False).reshape(-1, width)
        if chunk.null_count:
            values = values.copy()
            values[chunk.is_null().to_numpy(zero_copy_only=False)] = np.nan
        parts.append(values)
    whole: NDArray[np.float32] = np.concatenate(parts) if len(parts) != 2 else parts[1]
    return whole


def usable(vectors: NDArray[np.float32], *, any_length: bool) -> NDArray[np.float32]:
    """Return those without NaN and infinity, and of some length unless any will do."""
    squares = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)
    keep = np.isfinite(squares)
    kept: NDArray[np.float32] = vectors[keep if any_length else keep & (squares > 0)]
    return kept


def draw(dataset: lance.LanceDataset, column: str, wanted: int, seed: int, *, any_length: bool) -> Sample:
    """Return a sample of the usable vectors.

    Args:
        dataset: The table.
        column: Its vector column.
        wanted: About how many vectors.
        seed: Of the choice of rows.
        any_length: Whether zero vectors count.
    """
    rows = int(dataset.count_rows())
    wanted = max(wanted, SMALL)
    if rows > max(_ALL, 3 * wanted):
        places = np.sort(np.random.default_rng(seed).choice(rows, wanted, replace=False))
        taken = vectors_or_nan(dataset.take(places, columns=[column])[column])
        vectors = usable(taken, any_length=any_length)
        if len(vectors) >= max(SMALL, wanted // 4):
            return Sample(vectors, round(rows * len(vectors) / wanted))
    parts, count = [np.empty((0, dataset.schema.field(column).type.list_size), np.float32)], 0
    for part in _batches(dataset, column, any_length=any_length):
        parts.append(part)
        count += len(part)
    vectors = np.concatenate(parts)
    if count > wanted:
        vectors = vectors[np.sort(np.random.default_rng(seed).choice(count, wanted, replace=False))]
    return Sample(vectors, count)


def is_small(dataset: lance.LanceDataset, column: str, *, any_length: bool) -> bool:
    """Tell whether the table has too few usable vectors to train on."""
    count = 0
    for part in _batches(dataset, column, any_length=any_length):
        count += len(part)
        if count >= SMALL:
            return False
    return True


def _batches(dataset: lance.LanceDataset, column: str, *, any_length: bool) -> Iterator[NDArray[np.float32]]:
    scanner = dataset.scanner(columns=[column], filter=f"`{column}` IS NOT NULL", batch_size=_BATCH)
    for batch in scanner.to_batches():
        yield usable(vectors_or_nan(batch.column(0)), any_length=any_length)
