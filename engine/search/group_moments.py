"""Means and second moments of the directions of vectors, by label, in one pass.

From these follow means and variances of the cosines with any other vectors, however many, without another look at the rows.

Sums are exact (but for what sources share, which is added up in their order), so that no order of rows, batches or threads
changes a bit: directions are rounded to multiples of 2^-20, whose products add up without rounding. Up to 8,192 vectors of a label are taken to 2^-40 instead; with more of them what
rounding does to a mean cosine is of the order of 3e-7 / sqrt(n).

Vectors that are not independent, those of one source, count as one: their mean direction. Sums of these are kept until the end,
12 bytes a dimension and source. Where sources have several labels, as edits of a contrast set do, what they have in common is no
difference of the labels: how much less uncertain that is, is summed up as well, in order of the sources.

Of other images nothing is kept but their ids and labels, some 25 bytes. Most memory is vectors that Lance has read ahead, which grows
with a table up to about a million rows: a query that only reads vectors of 512 takes 0.5 GB at 50,000 and 1.2 GB from there on.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from counterbalance.engine.search.vector_stream import KEY, Labels, check_lengths, only, parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from counterbalance.engine.search.vector_stream import Part, Rows

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

MOMENTS: Final = pa.schema(
    [
        pa.field("label", pa.string()),
        pa.field("n", pa.int64()),
        pa.field("mean", pa.list_(pa.float64())),
        pa.field("products", pa.list_(pa.float64())),
        pa.field("images", pa.int64()),
        pa.field("shared", pa.list_(pa.float64())),
        pa.field("shared_sources", pa.int64()),
        pa.field("shared_others", pa.int64()),
    ]
)
_BITS: Final = 20
_ROWS: Final = 1 << 13
"""Vectors multiplied at once: 2^13 products of 2^40 add up to 2^53, which doubles hold exactly."""
_PART: Final = 256
"""Vectors made into directions at once: they stay in the cache."""
_CARRY: Final = 40
_WORKERS: Final = 8
"""Blocks multiplied at the same time, at most: each takes 60 MB with vectors of 512."""


def moments(
    vectors: Rows,
    groups: pa.Table,
    column: str = "embedding",
    sources: pa.Table | None = None,
    compared: Sequence[str] | None = None,
) -> pa.Table:
    """Return number, mean and mean outer product of the directions of every label's vectors.

    Args:
        vectors: A relation with ``image_id`` and a vector column; read once. Vectors need not be of unit length.
        groups: Group relation (image_id, label); an image with two labels counts for both, one without for none.
        column: The vector column.
        sources: Relation (image_id, source_id): vectors of one source with the same label are one, their mean direction; the sum
            of opposite ones has none, and is left out. Images that are not there have one vector each. Of several sources of an
            image the first one counts.
        compared: Labels that are held against each other; all of them with none.

    Returns:
        Rows (label, n, mean, products, images, shared, shared_sources, shared_others) in order of label, those with vectors
        only: ``mean`` is a list of d float64, ``products`` the d x d mean of x xᵀ of unit vectors x, row by row; ``images``
        have vectors, and ``n`` of these count. ``shared``, d x d as well, is what sources with several of the labels ``compared``
        add to the variance of the label's mean less that of all others of these, beyond what independent ones give; an empty
        list where no source has several. ``shared_sources`` have the label and another, and ``shared_others`` vectors of others
        that count are of these.

    Raises:
        SqlError: The column holds no vectors, vectors of several lengths (``E3126``), or one without a direction (``E3180``).
    """
    labels = Labels.of(groups)
    units = _Units(labels, sources)
    sums: dict[int, _Sums] = {}
    has_vector = np.zeros(len(labels.ids), np.bool_)
    workers = min(os.cpu_count() or 1, _WORKERS)
    with threadpool_limits(1), ThreadPoolExecutor(workers) as pool:
        blocks = _Blocks(pool, workers)
        for part in parts(vectors, labels, column):
            width = part.vectors.shape[1]
            has_vector[part.pairs] = True
            alone = units.take(part)
            for code in np.unique(part.codes[alone]).tolist():
                own = part.vectors[part.places[alone & (part.codes == code)]]
                sums.setdefault(code, _Sums(width)).add(own, blocks)
        for code, means in units.means():
            sums.setdefault(code, _Sums(means.shape[1])).add(means, blocks)
        blocks.finish()
        has_vector[units.cancelled()] = False
        images = labels.counted(has_vector).tolist()
        made = {code: sums[code].means() for code in sorted(sums)}
        codes = [code for code in made if not compared or labels.names[code] in compared]
        shared = units.shared({code: made[code][:2] for code in codes})
        rows = [(labels.names[code], *own, images[code], *shared.get(code, ([], 0, 0))) for code, own in made.items()]
    columns: list[Any] = list(zip(*rows, strict=True)) or [[] for _ in MOMENTS]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, MOMENTS, strict=True)], schema=MOMENTS)


class _Units:
    """Directions of vectors that count as one, added up: those of one source and label.

    Args:
        labels: The labels of images.
        sources: Which images are of which source, if any are.
    """

    def __init__(self, labels: Labels, sources: pa.Table | None) -> None:
        self._of: Integers = np.full(len(labels.ids), -1)
        self._codes = labels.codes[:0]
        self._sources: Integers = np.zeros(0, np.int64)
        self._known: Integers = np.zeros(0, np.int64)
        self._image, self._has_vector = labels.ids, np.zeros(len(labels.ids), np.bool_)
        self._sums, self._last = np.zeros((0, 0)), np.zeros((0, 0), np.float32)
        self._counts = np.zeros(0, np.int64)
        if sources is None or not len(sources):
            return
        rows = only(sources, "sources", KEY, "source_id").sort_by([(KEY, "ascending"), ("source_id", "ascending")])
        ids: Integers = rows[KEY].cast(pa.int64()).to_numpy()
        names = rows["source_id"].combine_chunks().dictionary_encode().indices.to_numpy()
        place = np.minimum(np.searchsorted(ids, labels.ids), max(len(ids) - 1, 0))  # the first of an image
        known = np.flatnonzero(ids[place] == labels.ids) if len(ids) else place[:0]
        pairs = np.stack([names[place[known]], labels.codes[known]], axis=1)
        found, units = np.unique(pairs, axis=0, return_inverse=True)
        self._of[known] = units.reshape(-1)
        self._sources, self._codes = found[:, 0], found[:, 1]
        self._known = known

    def take(self, part: Part) -> NDArray[np.bool_]:
        """Add the vectors of a part that are of a source; returns which of its pairs are not."""
        units = self._of[part.pairs]
        self._has_vector[part.pairs] = True
        own = np.flatnonzero(units >= 0)
        if len(own):
            vectors, shape = part.vectors[part.places[own]], (len(self._codes), part.vectors.shape[1])
            if not self._sums.size:
                self._sums, self._last = np.zeros(shape), np.zeros(shape, np.float32)
                self._counts = np.zeros(len(self._codes), np.int64)
            np.add.at(self._sums, units[own], np.rint(_directions([vectors])))
            np.add.at(self._counts, units[own], 1)
            self._last[units[own]] = vectors
        return units < 0

    def cancelled(self) -> NDArray[np.intp]:
        """Return the pairs of image and label whose vectors add up to nothing: they count nowhere."""
        own = np.flatnonzero(self._of >= 0)
        return own[~self._sums[self._of[own]].any(axis=1)] if self._sums.size else own[:0]

    def means(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield the sums of every label that has any; a vector that has no other beside it as it is."""
        for code in np.unique(self._codes).tolist() if self._sums.size else ():
            own = np.flatnonzero((self._codes == code) & self._sums.any(axis=1))
            if len(own):
                yield code, self._means(own)

    def shared(self, whole: dict[int, tuple[int, Floats]]) -> dict[int, tuple[Floats, int, int]]:
        """Return what sources with several labels add to the variance of the mean of one less that of the others, by label.

        A source moves that difference by the residuals of its vectors together, those of the others turned round; what
        is returned is how much more the squares of these sums are than the sum of their squares, d x d, flat. A source of
        which one image alone has vectors is not shared by the labels of that.

        Args:
            whole: Number and mean of the vectors of every label that is compared.

        Returns:
            That, how many sources have the label and another, and how many of the others' vectors are of these; nothing where no
            source has several labels.
        """
        if not self._sums.size:
            return {}
        chosen = self._sums.any(axis=1) & np.isin(self._codes, list(whole))
        pairs = self._known[self._has_vector[self._known]]
        pairs = pairs[chosen[self._of[pairs]]]
        images = np.unique(np.stack([self._sources[self._of[pairs]], self._image[pairs]], axis=1), axis=0)[:, 0]
        chosen &= np.bincount(images, minlength=int(self._sources.max()) + 1)[self._sources] > 1
        units = np.flatnonzero(chosen)
        _, at, sizes = np.unique(self._sources[units], return_inverse=True, return_counts=True)
        units = units[sizes[at] > 1]  # in order of source
        if not len(units):
            return {}
        others = {code: [whole[other] for other in whole if other != code] for code in whole}
        n_others = {code: sum(n for n, _ in rest) for code, rest in others.items()}
        means = {code: sum(n * mean for n, mean in rest) / n_others[code] for code, rest in others.items()}
        sums = {code: _Shared(len(mean)) for code, (_, mean) in whole.items()}
        for part in _whole_sources(units, self._sources):
            directions = _unit(self._means(part))
            for code, (_, mean) in whole.items():
                own = self._codes[part] == code
                sums[code].add(self._sources[part], own, directions - np.where(own[:, None], mean, means[code]))
        return {code: (s.variance(whole[code][0], n_others[code]), s.sources, s.others) for code, s in sums.items()}

    def _means(self, units: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the sums of some units; a vector that has no other beside it as it is."""
        means = np.ldexp(self._sums[units], -_BITS).astype(np.float32)
        alone = self._counts[units] == 1
        means[alone] = self._last[units[alone]]
        return means


class _Shared:
    """Products of residuals of the vectors that are of one source: of a label with the others', and of these.

    Args:
        width: Numbers of a vector.
    """

    def __init__(self, width: int) -> None:
        self.sources = self.others = 0
        self._across, self._among = np.zeros((width, width)), np.zeros((width, width))

    def add(self, sources: Integers, own: NDArray[np.bool_], residuals: Floats) -> None:
        """Add all vectors of some sources, which stand in their order."""
        starts = np.flatnonzero(np.diff(sources, prepend=-1))
        of_own = np.add.reduceat(np.where(own[:, None], residuals, 0), starts)
        of_others = np.add.reduceat(np.where(own[:, None], 0, residuals), starts)
        counts = np.add.reduceat((~own).astype(np.int64), starts)
        both = np.logical_or.reduceat(own, starts)
        self._across += of_own.T @ of_others
        several = counts > 1
        if several.any():
            apart = residuals[~own & np.repeat(several, np.diff(starts, append=len(sources)))]
            self._among += of_others[several].T @ of_others[several] - apart.T @ apart
        self.sources += int(both.sum())
        self.others += int(counts[both].sum())

    def variance(self, n: int, others: int) -> Floats:
        """Return what they add to the variance of the difference of the two means, of so many vectors each."""
        if min(n, others) < 2:
            return np.zeros(self._across.size)
        across = (self._across + self._across.T) / np.sqrt(float(n) * (n - 1) * others * (others - 1))
        return np.asarray(self._among / (float(others) * (others - 1)) - across).reshape(-1)


def _whole_sources(units: NDArray[np.intp], sources: Integers) -> Iterator[NDArray[np.intp]]:
    """Yield units a part at a time, all of a source in the same part."""
    ends = np.append(np.flatnonzero(np.diff(sources[units])) + 1, len(units))
    start = 0
    while start < len(units):
        end = int(ends[min(int(np.searchsorted(ends, start + _ROWS)), len(ends) - 1)])
        yield units[start:end]
        start = end


def _unit(vectors: NDArray[np.float32]) -> Floats:
    return np.ldexp(_directions([vectors]), -_BITS)


class _Blocks:
    """Blocks of vectors that are being multiplied, of all labels together, so that memory does not grow with labels."""

    def __init__(self, pool: ThreadPoolExecutor, workers: int) -> None:
        self._pool, self._workers = pool, workers
        self._running: deque[tuple[_Sums, Future[tuple[Integers, Integers]]]] = deque()

    def add(self, sums: _Sums, block: list[NDArray[np.float32]]) -> None:
        """Multiply a block; waits where there are more than workers."""
        if len(self._running) > self._workers:
            self._take_oldest()
        self._running.append((sums, self._pool.submit(_sums_of, block)))

    def finish(self) -> None:
        """Wait for all of them."""
        while self._running:
            self._take_oldest()

    def _take_oldest(self) -> None:
        sums, found = self._running.popleft()
        sums.take(found.result())


class _Sums:
    """What one label's vectors add up to.

    Vectors wait until there are more than can be multiplied at once; sums of what was multiplied are taken in.
    """

    def __init__(self, width: int) -> None:
        self._n, self._width = 0, width
        self._waiting: list[NDArray[np.float32]] = []
        self._count = 0
        self._first = np.zeros(0, np.int64)
        self._low = self._high = np.zeros((0, 0), np.int64)
        self._added = 0

    def add(self, part: NDArray[np.float32], blocks: _Blocks) -> None:
        """Add some more vectors."""
        self._n += len(part)
        while len(part):
            if self._count == _ROWS:  # and more to come: a label that has just as many is summed up precisely
                blocks.add(self, self._waiting)
                self._waiting, self._count = [], 0
            room = _ROWS - self._count
            self._waiting.append(part[:room])
            self._count += len(self._waiting[-1])
            part = part[room:]

    def take(self, sums: tuple[Integers, Integers]) -> None:
        """Take sums of a block."""
        if not self._added:
            self._first = np.zeros(self._width, np.int64)
            self._low, self._high = (np.zeros((self._width, self._width), np.int64) for _ in range(2))
        self._first += sums[0]
        self._low += sums[1]
        self._added += 1
        if self._added % 256 == 0:
            self._carry()

    def _carry(self) -> None:
        self._high += self._low >> _CARRY
        self._low &= (1 << _CARRY) - 1

    def means(self) -> tuple[int, Floats, Floats]:
        """Return how many, their mean, and the mean of their outer products, flat."""
        if self._n <= _ROWS:
            first, products = _precisely(self._waiting)
            return self._n, first / self._n, products.reshape(-1) / self._n
        self.take(_sums_of(self._waiting))
        self._carry()
        whole = self._high.astype(np.float64) + np.ldexp(self._low.astype(np.float64), -_CARRY)
        return self._n, np.ldexp(self._first / self._n, -_BITS), whole.reshape(-1) / self._n


def _directions(waiting: list[NDArray[np.float32]]) -> Floats:
    """Return unit vectors times 2^20, all in one; a row does not depend on others."""
    made = np.empty((sum(map(len, waiting)), waiting[0].shape[1]), np.float64)
    pieces = (vectors[at : at + _PART] for vectors in waiting for at in range(0, len(vectors), _PART))
    start = 0
    for piece in pieces:
        part = piece.astype(np.float64)
        squares = (part * part).sum(axis=1)  # of float32 numbers these neither overflow nor vanish
        check_lengths(squares)
        np.multiply(part, (2.0**_BITS / np.sqrt(squares))[:, None], out=made[start : start + len(part)])
        start += len(part)
    return made


def _sums_of(waiting: list[NDArray[np.float32]]) -> tuple[Integers, Integers]:
    """Sum and sum of outer products, in units of 2^-20 and 2^-40."""
    rounded = _directions(waiting)
    np.rint(rounded, out=rounded)
    return rounded.sum(axis=0).astype(np.int64), (rounded.T @ rounded).astype(np.int64)


def _precisely(waiting: list[NDArray[np.float32]]) -> tuple[Floats, Floats]:
    """Sum and sum of outer products of few vectors, rounded at 2^-40."""
    made = _directions(waiting)
    high = np.rint(made)
    low = np.rint(np.ldexp(made - high, _BITS))
    mixed = high.T @ low
    first = np.ldexp(high.sum(axis=0), -_BITS) + np.ldexp(low.sum(axis=0), -2 * _BITS)
    products = high.T @ high + np.ldexp(mixed + mixed.T, -_BITS) + np.ldexp(low.T @ low, -2 * _BITS)
    return first, np.ldexp(products, -2 * _BITS)
