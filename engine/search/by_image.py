"""How many rows each image has, of which kinds: counted over runs of equal ids, as the rows come.

For rows that are stored image by image, with rising ids, as a source lists them. Nothing is hashed or sorted, and no more
is held than a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.schema import CODE_SUFFIX, IMAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.catalog.file_statistics import Passed

_ROWS: Final = 131_072
_COMPARED: Final = 8


@dataclass(frozen=True, slots=True)
class ByImage:
    """Rows of a stored table, counted by image.

    Args:
        dataset: The table at a version whose codes hold; its rows lie image by image, with rising ids.
        fragments: Those that may hold rows that count.
        where: Which rows count at all.
        counts: Of these, which each count is of.
    """

    dataset: lance.LanceDataset
    fragments: Sequence[Any]
    where: Passed
    counts: Sequence[Passed]

    @property
    def schema(self) -> pa.Schema:
        """Return the image, and the counts as ``n1__``, ``n2__`` and so on."""
        names = [f"n{number}__" for number in range(1, len(self.counts) + 1)]
        return pa.schema([(n, pa.int64()) for n in (IMAGES.key, *names)])

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        del requested_schema
        return pa.RecordBatchReader.from_batches(self.schema, self._batches()).__arrow_c_stream__()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yield a row an image that has rows which count, in order."""
        open_id, open_counts = None, np.zeros(len(self.counts), np.int64)
        for ids, counts in self._runs():
            if open_id == ids[0]:
                counts[:, 0] += open_counts
            elif open_id is not None:
                yield self._batch(np.array([open_id]), open_counts[:, None])
            if len(ids) > 1:
                yield self._batch(ids[:-1], counts[:, :-1])
            open_id, open_counts = int(ids[-1]), counts[:, -1].copy()
        if open_id is not None:
            yield self._batch(np.array([open_id]), open_counts[:, None])

    def _batch(self, ids: NDArray[np.int64], counts: NDArray[np.int64]) -> pa.RecordBatch:
        return pa.record_batch([pa.array(ids), *(pa.array(own) for own in counts)], schema=self.schema)

    def _runs(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield ids of images with their counts (counts, images), for each batch that has any."""
        coded = dict.fromkeys([*self.where, *(column for own in self.counts for column in own)])
        columns = [IMAGES.key, *(c + CODE_SUFFIX for c in coded)]
        scanner = self.dataset.scanner(columns=columns, fragments=list(self.fragments), batch_size=_ROWS)
        for batch in scanner.to_reader() if self.fragments else ():
            ids = batch.column(0).to_numpy()
            keep = _all_of(batch, self.where)
            masks = [_all_of(batch, own) for own in self.counts]
            if keep is not None:
                ids, masks = ids[keep], [None if mask is None else mask[keep] for mask in masks]
            if not len(ids):
                continue
            starts = np.concatenate([[0], np.flatnonzero(ids[1:] != ids[:-1]) + 1])
            ends = np.append(starts[1:], len(ids)) - 1
            sums = [ends + 1 if mask is None else np.cumsum(mask, dtype=np.int64)[ends] for mask in masks]
            counts = np.array(sums, np.int64).reshape(len(masks), len(starts))
            yield ids[starts], np.diff(counts, axis=1, prepend=0)


def _all_of(batch: pa.RecordBatch, passed: Passed) -> NDArray[np.bool_] | None:
    """Return which rows pass everything; ``None`` where nothing is asked."""
    keep: NDArray[np.bool_] | None = None
    for column, own in passed.items():
        mask = passes(batch.column(column + CODE_SUFFIX), own)
        keep = mask if keep is None else keep & mask
    return keep


def passes(codes: pa.Array, passed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows pass.

    Args:
        codes: Codes of a column.
        passed: Whether a row passes: of NULL first, then of each code.

    Example:
        >>> passes(pa.array([1, None, 0], pa.int16()), np.array([False, False, True]))
        array([ True, False, False])
    """
    values = (codes.fill_null(-1) if codes.null_count else codes).to_numpy()
    few = bool(passed.sum() * 2 <= len(passed))
    listed = (np.flatnonzero(passed == few) - 1).astype(np.int16)
    if len(listed) > _COMPARED:
        own: NDArray[np.bool_] = passed[values + 1]
        return own
    own = np.zeros(len(values), np.bool_)  # several times quicker than looking each code up
    for code in listed:
        own |= values == code
    return own if few else ~own
