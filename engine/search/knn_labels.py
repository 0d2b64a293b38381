"""How many of the k nearest items carry each label: exact counts without a row a neighbour.

The k nearest are those of ``knn``, ties by item id and all; but most of them need no place among the k, for their products
already say that they are in. Only those whose product is too near to that of the k-th are compared precisely. So thousands of
neighbours of hundreds of thousands of queries are counted in the memory of a few blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import SqlError
from counterbalance.engine.search.exact_knn import by_blocks, true_scores
from counterbalance.engine.search.ranking import check_metric, check_widths, key_of, keys_of, matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from counterbalance.engine.search.exact_knn import Candidates, Task

SHARES: Final = pa.schema(
    [
        pa.field("query_id", pa.int64()),
        pa.field("k", pa.int32()),
        pa.field("label", pa.string()),
        pa.field("count", pa.int32()),
        pa.field("share", pa.float64()),
    ]
)
_ROWS: Final = 64
"""Queries whose candidates are laid out beside each other at once."""


def counts(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    labels: NDArray[np.intp],
    k: Sequence[int],
    *,
    metric: str,
    keys: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
) -> NDArray[np.int64]:
    """Return how many of the k nearest items of every query carry each label.

    Args:
        a: Queries, rows by dimensions.
        b: Items, rows by dimensions; of equally near ones the first are taken.
        labels: A number from 0 for every item.
        k: Numbers of neighbours, each from 1.
        metric: As for ``nearest``.
        keys: A key for every query and every item; pairs of equal keys are left out.

    Returns:
        int64, queries by numbers of neighbours by labels. Fewer items than k are all counted.

    Example:
        >>> line = np.arange(4, dtype=np.float32)[:, None]
        >>> counts(line[:1], line, np.array([0, 1, 1, 0]), [2, 4], metric="l2").tolist()
        [[[1, 1], [2, 2]]]
    """
    width = int(labels.max(initial=-1)) + 1
    result = np.zeros((len(a), len(k), width), np.int64)

    def block(task: Task, at: slice, found: Candidates) -> NDArray[np.int64]:
        counted = np.zeros((at.stop - at.start, len(k), width), np.int64)
        cells = found.rows * width + labels[task.columns[found.columns]]
        for number, most in enumerate(k):
            chosen = cells[_members(task, at, found, most)]
            counted[:, number] = np.bincount(chosen, minlength=len(counted) * width).reshape(-1, width)
        return counted

    rows, parts = by_blocks(a, b, max(k), block, metric=metric, keys=keys)
    if parts:
        result[rows] = np.concatenate(parts)
    return result


def _members(task: Task, block: slice, found: Candidates, k: int) -> NDArray[np.bool_]:
    """Return which candidates are among the k best of their row."""
    count = block.stop - block.start
    starts = np.searchsorted(found.rows, np.arange(count + 1))
    member = np.ones(len(found.rows), np.bool_)
    for first in range(0, count, _ROWS):
        last = min(count, first + _ROWS)
        if np.diff(starts[first : last + 1]).max() > k:
            part = slice(int(starts[first]), int(starts[last]))
            queries = slice(block.start + first, block.start + last)
            member[part] = _members_of(task, queries, found.rows[part] - first, _part(found, part), k)
    return member


def _part(found: Candidates, part: slice) -> tuple[NDArray[Any], ...]:
    return found.columns[part], found.low[part], found.high[part]


def _members_of(
    task: Task, queries: slice, rows: NDArray[np.intp], found: tuple[NDArray[Any], ...], k: int
) -> NDArray[np.bool_]:
    """Do as ``_members`` does, of a few queries; more than k candidates for one of them at least."""
    columns, low, high = found
    widths = np.bincount(rows, minlength=queries.stop - queries.start)
    width = int(widths.max())
    there = np.arange(width) < widths[:, None]
    lows, highs = (np.full(there.shape, -np.inf) for _ in range(2))
    lows[there], highs[there] = low, high
    kth = np.partition(lows, width - k, axis=1)[:, width - k, None]
    next_one = np.partition(highs, width - k - 1, axis=1)[:, width - k - 1, None]
    certain = lows > next_one  # at most k are as near as that
    member: NDArray[np.bool_] = certain[there]
    doubtful = np.flatnonzero(((highs >= kth) & ~certain)[there])
    if len(doubtful):
        wanted = k - certain.sum(axis=1)
        member[doubtful] = _nearest(task, queries, rows[doubtful], columns[doubtful], wanted)
    return member


def _nearest(
    task: Task, queries: slice, rows: NDArray[np.intp], columns: NDArray[np.intp], wanted: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which of these candidates are the wanted number of nearest ones of their row, by their true scores."""
    widths = np.bincount(rows, minlength=len(wanted))
    places = np.arange(int(widths.max()))
    at = (np.cumsum(widths) - widths)[:, None] + places
    scores = true_scores(task, queries, columns[np.minimum(at, len(columns) - 1)])
    scores[places >= widths[:, None]] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")
    taken = np.zeros(scores.shape, np.bool_)
    np.put_along_axis(taken, order, places < wanted[:, None], axis=1)
    return taken[places < widths[:, None]]


def knn_shares(
    queries: pa.Table,
    items: pa.Table,
    column: str = "embedding",
    label: str = "label",
    k: Sequence[int] = (50,),
    metric: str = "l2",
    own: str | None = None,
) -> pa.Table:
    """Return how many of the k nearest items of every query carry each label, exact.

    Args:
        queries: First integer column is the id; vectors in ``column`` (fixed-size list of float32).
        items: The same, with labels; ids need not be unique: equally near items are taken in the order of id and label.
        column: Vector column.
        label: Column of labels of the items.
        k: Numbers of neighbours.
        metric: ``"l2"``, ``"cosine"`` or ``"dot"``.
        own: Integer column of both sides; pairs with equal values are left out, NULL equals nothing.

    Returns:
        Rows (query_id, k, label, count, share) of the labels that occur, in order of query, k and label (NULL last);
        ``share`` is of the neighbours counted. A query that is near nothing has no row.

    Raises:
        SqlError: A column is missing or of another type, or k is below 1.
    """
    cuts = sorted(set(k))
    if not cuts or cuts[0] < 1:
        raise SqlError(f"k must be at least 1, not {cuts[0] if cuts else 'nothing'}", code="E3120")
    check_metric(metric)
    a = _side(queries, "query_id", column, None, own)
    b = _side(items, "item_id", column, label, own)
    if not len(a.ids) or not len(b.ids):
        return SHARES.empty_table()
    check_widths(a.vectors, b.vectors)
    keys = None if a.own is None or b.own is None else (a.own, b.own)
    found = counts(a.vectors, b.vectors, b.codes, cuts, metric=metric, keys=keys)
    where = np.nonzero(found)
    count = found[where]
    share = count / found.sum(axis=2)[where[:2]]
    columns = [a.ids[where[0]], np.asarray(cuts)[where[1]], b.names.take(pa.array(where[2])), count, share]
    return pa.table([pa.array(c).cast(f.type) for c, f in zip(columns, SHARES, strict=True)], schema=SHARES)


@dataclass(frozen=True, slots=True)
class _Side:
    """Queries or items in order of id, then label: what they are compared by, codes of labels and their names."""

    ids: NDArray[np.int64]
    vectors: NDArray[np.float32]
    own: NDArray[np.int64] | None
    codes: NDArray[np.intp]
    names: pa.Array


def _side(rows: pa.Table, preferred: str, column: str, label: str | None, own: str | None) -> _Side:
    key = key_of(rows, preferred, column, label, own)
    rows = rows.select(list(dict.fromkeys(c for c in (key, column, label, own) if c)))
    if rows[key].null_count:
        rows = rows.filter(pc.is_valid(rows[key]))
    ids = rows[key].to_numpy().astype(np.int64)
    names, codes = (
        _labels(rows[label], len(rows)) if label else (pa.nulls(1, pa.string()), np.zeros(len(rows), np.intp))
    )
    order = np.lexsort((codes, ids))
    places = np.empty(len(order), np.intp)
    places[order] = np.arange(len(order))
    return _Side(
        ids=ids[order],
        vectors=matrix(rows[column], "queries" if label is None else "items", places),
        own=None if own is None else keys_of(rows[own], preferred)[order],
        codes=codes[order],
        names=names,
    )


def _labels(values: pa.ChunkedArray, count: int) -> tuple[pa.Array, NDArray[np.intp]]:
    """Return the labels in order, NULL last, and for every value its place among them."""
    texts = values.cast(pa.string())
    known = pc.unique(texts.drop_null()).sort()
    codes: NDArray[np.intp] = pc.fill_null(pc.index_in(texts, known), len(known)).to_numpy().astype(np.intp)
    return pa.concat_arrays([known, pa.nulls(1, pa.string())]), codes.reshape(count)
