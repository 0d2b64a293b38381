"""Exact nearest items of every query, as blocked float32 products whose answer does not depend on the blocks.

Products choose candidates and no more: each comes with a bound of its rounding error, and all that could be among the k
best is kept. Scores of the kept ones are computed again in float64, each by itself, and these rank. So the result is the
same for any block size, number of threads and device.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np

from counterbalance.engine.search.devices import device as device_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from counterbalance.engine.search.devices import Device

T = TypeVar("T")
METRICS: Final = ("cosine", "dot", "l2")
_ROUNDING: Final = 2.0**-24
_UNDERFLOW: Final = 2.0**-100
_UNIT: Final = 2.0**-18
"""Squared lengths that are so near 1 are taken for 1; the bound of the error has room for it."""
_ROWS: Final = 256
"""Rows converted at once: they stay in the cache."""
_RESCORED: Final = 500_000
"""Numbers gathered at once for the precise scores: 4 MB."""
_SOON: Final = 2e11
"""So many products of two numbers take a CPU about as long as it takes to import torch and ask for a GPU."""
_LONG: Final = 8192
"""Vectors longer than this are summed without BLAS, which would cut them by the number of threads."""

_scratch: Final = threading.local()


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The best pairs, in order of query and rank: positions of queries and items, ranks from 1, scores."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    ranks: NDArray[np.int32]
    scores: NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """Both sides as they are multiplied (``left``, ``right``, ``bias``), and as they are scored (``a``, ``b``)."""

    a: NDArray[np.float32]
    b: NDArray[np.float32]
    columns: NDArray[np.intp]
    left: Any
    right: Any
    bias: Any
    norms: tuple[NDArray[np.float64], NDArray[np.float64]]
    squares: tuple[NDArray[np.float64], NDArray[np.float64]]
    metric: str
    k: int
    own: _Own | None
    on: Device


def nearest(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    k: int,
    *,
    metric: str,
    keys: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    device: str | Device = "auto",
) -> Neighbours:
    """Return the k best items for every query; equal scores in the order of the items.

    A vector that holds NaN or infinity is near nothing. A zero vector has cosine 0 to everything.

    Args:
        a: Queries, rows by dimensions.
        b: Items, rows by dimensions.
        k: How many.
        metric: ``"cosine"``, ``"dot"`` or ``"l2"`` (score is the negative distance).
        keys: A key for every query and every item; pairs of equal keys are left out.
        device: Where the products run; ``"auto"`` leaves small ones to the CPU.

    Example:
        >>> found = nearest(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32), 1, metric="cosine")
        >>> found.columns.tolist(), found.scores.tolist()
        ([0, 1, 2], [1.0, 1.0, 1.0])
    """
    rows, parts = by_blocks(a, b, k, _ranked, metric=metric, keys=keys, device=device)
    if not parts:
        nothing = np.empty(0, np.intp)
        return Neighbours(nothing, nothing, nothing.astype(np.int32), nothing.astype(np.float64))
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Neighbours(rows[joined[0]], joined[1], joined[2].astype(np.int32), joined[3])


def by_blocks(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    k: int,
    work: Callable[[Task, slice, Candidates], T],
    *,
    metric: str,
    keys: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    device: str | Device = "auto",
) -> tuple[NDArray[np.intp], list[T]]:
    """Return what ``work`` makes of the candidates of every block of queries, all the k best among them.

    Arguments are those of ``nearest``; ``work`` gets the task, the places of the block among the queries that have
    neighbours, and the candidates.

    Returns:
        Positions in ``a`` of the queries that have neighbours, and what ``work`` gave, in their order.
    """
    squares = _squares(a), _squares(b)  # of float32 numbers these cannot overflow
    rows, columns = (np.flatnonzero(np.isfinite(x)) for x in squares)
    most = 0 if keys is None or not len(columns) else int(np.unique(keys[1], return_counts=True)[1].max())
    columns = columns[_not_too_equal(_only(b, columns), squares[1][columns], k + most)]
    if not len(rows) or not len(columns):
        return rows[:0], []
    if device == "auto" and len(rows) * len(columns) * a.shape[1] < _SOON:
        device = "cpu"
    on = device_of(device) if isinstance(device, str) else device
    own = None if keys is None else _Own(keys[0][rows], keys[1][columns])
    k = min(k, len(columns))
    step = max(on.item_rows, -(-2 * k // 8) * 8)
    height = max(1, min(on.query_rows, 4 * on.query_rows * on.item_rows // step))
    starts = range(0, len(rows), height)
    with on.exact(len(starts)):
        sides, lengths = (_only(a, rows), _only(b, columns)), (squares[0][rows], squares[1][columns])
        task = _task(*sides, columns, lengths, k, metric, own, on)

        def one(start: int) -> T:
            block = slice(start, min(len(rows), start + height))
            return work(task, block, _candidates(task, block, step))

        with ThreadPoolExecutor(min(on.workers, len(starts))) as pool:
            return rows, list(pool.map(one, starts))


def _only(matrix: NDArray[np.float32], rows: NDArray[np.intp]) -> NDArray[np.float32]:
    return matrix if len(rows) == len(matrix) else matrix[rows]


def _not_too_equal(items: NDArray[np.float32], squares: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    """Return all items but those that stand behind ``most`` equal ones and so can never be among the best.

    A placeholder picture that stands in a dataset a thousand times would otherwise be a candidate a thousand times.
    """
    keep = np.ones(len(items), np.bool_)
    _, group, counts = np.unique(squares, return_inverse=True, return_counts=True)
    for number in np.flatnonzero(counts > most):
        members = np.flatnonzero(group == number)
        _, equal = np.unique(items[members] + np.float32(0), axis=0, return_inverse=True)
        order = np.argsort(equal.ravel(), kind="stable")
        runs = equal.ravel()[order]
        place = np.arange(len(runs)) - np.searchsorted(runs, runs)
        keep[members[order[place >= most]]] = False
    return np.flatnonzero(keep)


def _task(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    columns: NDArray[np.intp],
    squares: tuple[NDArray[np.float64], NDArray[np.float64]],
    k: int,
    metric: str,
    own: _Own | None,
    on: Device,
) -> Task:
    made = _for_products(a, b, squares, metric)
    return Task(
        a=a,
        b=b,
        columns=columns,
        left=on.put(made.left),
        right=on.put(made.right),
        bias=None if made.bias is None else on.put(made.bias),
        norms=made.norms,
        squares=squares,
        metric=metric,
        k=k,
        own=own,
        on=on,
    )


class _Sides(NamedTuple):
    """Both sides changed so that products rank as the metric does, with their lengths."""

    left: NDArray[np.float32]
    right: NDArray[np.float32]
    bias: NDArray[np.float32] | None
    norms: tuple[NDArray[np.float64], NDArray[np.float64]]


def _for_products(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    squares: tuple[NDArray[np.float64], NDArray[np.float64]],
    metric: str,
) -> _Sides:
    """Return sides whose products neither overflow nor lose small numbers."""
    if metric == "cosine":
        ones = np.ones(len(a)), np.ones(len(b))
        return _Sides(unit(a, squares[0]), unit(b, squares[1]), None, ones)
    if metric == "dot":
        right, lengths = _scaled(b, squares[1], _exponent(squares[1]))
        return _Sides(unit(a, squares[0]), right, None, (np.ones(len(a)), np.sqrt(lengths)))
    centre = b.mean(axis=0, dtype=np.float64)
    if 4 * float((centre * centre).sum()) > squares[1].mean():  # far from the origin digits would be lost
        a, b = a - centre, b - centre
        squares = _squares(a), _squares(b)
    exponent = max(_exponent(x) for x in squares)
    (left, near), (right, far) = (_scaled(x, y, exponent) for x, y in zip((a, b), squares, strict=True))
    return _Sides(left, right, (-0.5 * far).astype(np.float32), (np.sqrt(near), np.sqrt(far)))


def _exponent(squares: NDArray[np.float64]) -> int:
    """Return the exponent of the longest vector."""
    return int(np.frexp(np.sqrt(squares.max(initial=0.0)))[1])


def _scaled(
    matrix: NDArray[Any], squares: NDArray[np.float64], exponent: int
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Multiply by a power of two, which changes no digit, only where floats of 32 bits would not reach; return the squares too."""
    if abs(exponent) < 30:
        return np.ascontiguousarray(matrix, np.float32), squares
    return np.ldexp(matrix, -exponent).astype(np.float32), np.ldexp(squares, -2 * exponent)


def unit(matrix: NDArray[np.float32], squares: NDArray[np.float64] | None = None) -> NDArray[np.float32]:
    """Return rows of length 1, up to ``_UNIT``; zero rows stay.

    Args:
        matrix: Finite rows.
        squares: Their squared lengths, if they are known.
    """
    squares = _squares(matrix) if squares is None else squares
    if (np.abs(squares - 1) < _UNIT).all():
        return np.ascontiguousarray(matrix)
    norms = np.sqrt(squares)
    norms[norms == 0] = 1.0
    result = np.empty(matrix.shape, np.float32)
    for start in range(0, len(matrix), _ROWS):
        block = slice(start, start + _ROWS)
        np.divide(matrix[block], norms[block, None], out=result[block], casting="same_kind")
    return result


def _squares(matrix: NDArray[Any]) -> NDArray[np.float64]:
    """Return the squared length of every row, in float64."""
    result = np.empty(len(matrix))
    for start in range(0, len(matrix), _ROWS):
        wide = matrix[start : start + _ROWS].astype(np.float64)
        result[start : start + _ROWS] = _dot(wide, wide)
    return result


def _dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return products along the last axis, each summed by itself, so that it depends on nothing else."""
    result: NDArray[np.float64] = (
        np.vecdot(a, b) if a.shape[-1] <= _LONG else np.einsum("...d,...d->...", a, np.broadcast_to(b, a.shape))
    )
    return result


class _Own:
    """Pairs of equal keys, a block of queries at a time."""

    def __init__(self, queries: NDArray[np.int64], items: NDArray[np.int64]) -> None:
        self._queries = queries
        self._order = np.argsort(items, kind="stable")
        self._sorted = items[self._order]

    def pairs(self, block: slice) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        wanted = self._queries[block]
        first = np.searchsorted(self._sorted, wanted, "left")
        counts = np.searchsorted(self._sorted, wanted, "right") - first
        rows = np.repeat(np.arange(len(wanted)), counts)
        places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + first[rows]
        return rows, self._order[places]


@dataclass
class Candidates:
    """What may be among the best of a block of queries, with bounds of the true product."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: list[Candidates]) -> Candidates:
        """Join them in order of row, then column."""
        rows = np.concatenate([p.rows for p in parts])
        order = np.argsort(rows.astype(np.uint16), kind="stable")  # at most 65,536 queries a block: a radix sort
        return cls(
            rows[order], *(np.concatenate([getattr(p, n) for p in parts])[order] for n in ("columns", "low", "high"))
        )

    def kth(self, k: int, count: int) -> NDArray[np.float64]:
        """Return the k-th largest lower bound of every row."""
        counts = np.bincount(self.rows, minlength=count)
        width = max(k, int(counts.max(initial=0)))
        dense = np.full((count, width), -np.inf)
        dense[self.rows, np.arange(len(self.rows)) - (np.cumsum(counts) - counts)[self.rows]] = self.low
        values: NDArray[np.float64] = np.partition(dense, width - k, axis=1)[:, width - k]
        return values

    def reaching(self, bounds: NDArray[np.float64]) -> Candidates:
        """Return those whose upper bound reaches the row's."""
        keep = self.high >= bounds[self.rows]
        return Candidates(self.rows[keep], self.columns[keep], self.low[keep], self.high[keep])


def _candidates(task: Task, block: slice, step: int) -> Candidates:
    """Return all that may be among the best of a block of queries, in order of row, then column."""
    left, norms = task.left[block], task.norms[0][block]
    count, width = len(norms), len(task.b)
    own = None if task.own is None else task.own.pairs(block)
    bounds = np.full(count, -np.inf)
    found: list[Candidates] = []
    pending = 0
    for first in range(0, width, step):
        last = min(width, first + step)
        products = task.on.products(left, task.right[first:last], None if task.bias is None else task.bias[first:last])
        if own is not None:
            here = (own[1] >= first) & (own[1] < last)
            task.on.leave_out(products, own[0][here], own[1][here] - first)
        error = _error(task, norms, task.norms[1][first:last].max())
        if first == 0 and last >= task.k:
            bounds = task.on.kth(products, task.k) - error
        rows, columns, values = task.on.above(products, _below(bounds - error))
        found.append(Candidates(rows, columns + first, values - error[rows], values + error[rows]))
        pending += len(rows)
        if len(found) > 1 and (last == width or pending > count * task.k // 2):
            both = Candidates.joined(found)
            bounds = np.maximum(bounds, both.kth(task.k, count))
            found, pending = [both.reaching(bounds)], 0
    return found[0]


def _error(task: Task, left: NDArray[np.float64], right: float) -> NDArray[np.float64]:
    """Return how far a product can be from the true one: rounding of d products and sums, of both sides and of the bias."""
    rounding = (task.a.shape[1] + 16) * _ROUNDING * 1.01 + (2 * _UNIT if task.metric != "l2" else 0.0)
    bias = 0.0 if task.bias is None else right * right
    error: NDArray[np.float64] = rounding * (left * right + bias) + _UNDERFLOW
    return error


def _below(bounds: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.nextafter(bounds.astype(np.float32), np.float32(-np.inf))


def _ranked(task: Task, block: slice, found: Candidates) -> tuple[NDArray[Any], ...]:
    """Return rows, positions of items, ranks and precise scores of one block of queries, cut at k."""
    count = len(task.norms[0][block])
    starts = np.searchsorted(found.rows, np.arange(count + 1))
    parts = []
    at = 0
    widths = np.diff(starts)
    while at < count:
        height = max(1, _RESCORED // max(1, int(widths[at : at + 64].max()) * task.a.shape[1]))
        chunk = slice(at, min(count, at + min(64, height)))
        parts.append(_ranked_rows(task, block.start, chunk, found.columns, starts))
        at = chunk.stop
    rows, columns, ranks, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
    return rows + block.start, task.columns[columns], ranks, scores


def _ranked_rows(
    task: Task, offset: int, chunk: slice, columns: NDArray[np.intp], starts: NDArray[np.intp]
) -> tuple[NDArray[Any], ...]:
    first, counts = starts[chunk], np.diff(starts[chunk.start : chunk.stop + 1])
    places = np.arange(counts.max(initial=0))
    items = columns[np.minimum(first[:, None] + places, len(columns) - 1)]
    queries = slice(offset + chunk.start, offset + chunk.stop)
    scores = true_scores(task, queries, items)
    scores[places >= counts[:, None]] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, : task.k]
    rows, ranks = np.nonzero(np.arange(order.shape[1]) < counts[:, None])
    chosen = order[rows, ranks]
    return rows + chunk.start, items[rows, chosen], ranks + 1, scores[rows, chosen]


def _gathered(vectors: NDArray[np.float32], places: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the vectors at these places, in memory that this thread uses again: fresh pages cost more than the products."""
    shape = (*places.shape, vectors.shape[1])
    size = shape[0] * shape[1] * shape[2]
    held: tuple[NDArray[np.float32], NDArray[np.float64]] | None = getattr(_scratch, "held", None)
    if held is None or held[0].size < size:
        room = max(size, _RESCORED)
        held = _scratch.held = (np.empty(room, np.float32), np.empty(room))
    narrow, wide = (x[:size].reshape(shape) for x in held)
    np.take(vectors, places, axis=0, out=narrow, mode="clip")
    np.copyto(wide, narrow)
    return wide


def true_scores(task: Task, queries: slice, items: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the true scores of queries by their candidates."""
    result = np.empty(items.shape)
    a = task.a[queries, None, :].astype(np.float64)
    step = max(1, _RESCORED // (max(1, len(items)) * max(1, a.shape[2])))
    for start in range(0, items.shape[1], step):
        part = slice(start, start + step)
        b = _gathered(task.b, items[:, part])
        if task.metric == "l2":
            np.subtract(b, a, out=b)
            result[:, part] = 0.0 - np.sqrt(_dot(b, b))
            continue
        result[:, part] = _dot(b, a) + 0.0
        if task.metric == "cosine":
            lengths = np.sqrt(task.squares[0][queries, None] * task.squares[1][items[:, part]])
            np.divide(result[:, part], lengths, out=result[:, part], where=lengths > 0)
    return result
