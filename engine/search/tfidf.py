"""TF-IDF ranking of all queries against all items, sparse and exact.

``sparse_dot_topn`` keeps the best of each row without building the product. It breaks ties as it meets them, so a few more
than k are asked for: when the last of these scores below the k-th, every tie at the cut is at hand and is broken by item
id; the few rows where it does not are computed whole. It runs a third faster when items that hold the same frequent words
lie together, for then what one query touches does, too.

An audit ranks all items, and deeper those with a clear label. Once a statement has ranked some, all are ranked by ranking
the others: a pair scores the same in either product.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from counterbalance.engine.search.hits import HITS, best, hits
from counterbalance.engine.search.statement_cache import once

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from counterbalance.engine.search.hits import Side

_SPARE: Final = 12
_WHOLE_ROWS: Final = 256
_FREQUENT: Final = 8


class _Top(NamedTuple):
    """The best of every query in a row each: places of items, and their scores descending; ``-inf`` after the last."""

    columns: NDArray[np.intp]
    scores: NDArray[np.float64]

    def first(self, k: int) -> _Top:
        """Return the k best."""
        return _Top(self.columns[:, :k], self.scores[:, :k])

    def only(self, keep: NDArray[np.bool_]) -> _Top:
        """Leave the others out, without gaps."""
        filled = np.arange(keep.shape[1]) < keep.sum(axis=1)[:, None]
        return _Top(_laid(filled, self.columns[keep], 0), _laid(filled, self.scores[keep], -np.inf))

    def ties_by_column(self) -> _Top:
        """Put every run of equal scores in ascending order of columns."""
        same = self.scores[:, 1:] == self.scores[:, :-1]
        if not same.any():
            return self
        first = np.ones((len(same), 1), bool)
        run = np.cumsum(np.hstack((first, ~same)).ravel())
        tied = np.flatnonzero(np.hstack((~first, same)) | np.hstack((same, ~first)))
        columns = self.columns.flatten()
        columns[tied] = columns[tied[np.lexsort((columns[tied], run[tied]))]]
        return _Top(columns.reshape(self.columns.shape), self.scores)

    def hits(self, q: Side, i: Side) -> pa.Table:
        """Return rows of hits, with ids for places."""
        found = self.scores > -np.inf
        ranks = np.broadcast_to(np.arange(1, found.shape[1] + 1, dtype=np.int32), found.shape)
        return hits(np.repeat(q.ids, found.sum(axis=1)), i.ids[self.columns[found]], ranks[found], self.scores[found])


@dataclass(frozen=True)
class _Part:
    """What was found among some of the items."""

    q: Side
    i: Side
    k: int
    exclude_own: bool
    among: NDArray[np.bool_]
    top: _Top

    def serves(self, q: Side, i: Side, k: int, *, exclude_own: bool) -> bool:
        """Tell whether the best of all items are among these and the best of the others."""
        pairs = ((self.q.ids, q.ids), (self.i.ids, i.ids), (self.q.images, q.images), (self.i.images, i.images))
        same = self.exclude_own == exclude_own and all(np.array_equal(one, other) for one, other in pairs)  # type: ignore[arg-type]
        return same and k <= self.k


@dataclass(frozen=True)
class _Texts:
    """Both sides as sparse unit vectors, and what this statement found among some items already."""

    a: Any
    b: Any
    parts: list[_Part] = field(default_factory=list)


@dataclass(frozen=True)
class _Product:
    """Both sides as sparse unit vectors; items that are not ranked are left out of ``b``."""

    q: Side
    item_images: NDArray[np.int64] | None
    a: Any
    b: Any
    exclude_own: bool

    def own(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.bool_] | None:
        """Return which pairs are a query and an item of its own image; ``None`` when that does not matter."""
        if not self.exclude_own or self.q.images is None or self.item_images is None:
            return None
        mask: NDArray[np.bool_] = self.q.images[rows] == self.item_images[columns]
        return mask


def rank_texts(q: Side, i: Side, k: int, *, exclude_own: bool, among: NDArray[np.bool_] | None) -> pa.Table:
    """Return the k most similar texts for every query text, by the cosine of TF-IDF vectors fitted on the items.

    scikit-learn's ``TfidfVectorizer`` with its defaults. Items that share no word with a query score 0 and follow in
    order of id.

    Args:
        q: Queries, texts as values.
        i: Items, texts as values.
        k: Cut-off.
        exclude_own: Leave out items of the query's own image.
        among: Which items are ranked; the vectors are fitted on all of them.
    """
    if not len(q.ids) or not len(i.ids):
        return HITS.empty_table()
    texts = once(q.values, i.values, lambda: _Texts(*_vectors(q, i)))
    if among is not None:
        top = _ranking(texts, q, i, k, exclude_own=exclude_own, among=among)
        texts.parts.append(_Part(q, i, k, exclude_own, among, top))
        return top.hits(q, i)
    for part in texts.parts:
        if part.serves(q, i, k, exclude_own=exclude_own):
            rest = _ranking(texts, q, i, k, exclude_own=exclude_own, among=~part.among)
            return _together(part.top.first(k), rest).first(k).hits(q, i)
    return _ranking(texts, q, i, k, exclude_own=exclude_own, among=np.ones(len(i.ids), bool)).hits(q, i)


def _ranking(texts: _Texts, q: Side, i: Side, k: int, *, exclude_own: bool, among: NDArray[np.bool_]) -> _Top:
    """Return the k best of some items, as places among all of them."""
    kept = np.flatnonzero(among)
    k = min(k, len(kept))
    if not k:
        return _nothing(len(q.ids), 0)
    images = None if i.images is None else i.images[kept]
    product = _Product(q, images, texts.a, texts.b[kept], exclude_own)
    top = _ranked(product, k) if product.b.nnz else _whole(product, np.arange(len(q.ids)), k)
    return _Top(kept[top.columns], top.scores)


def _together(one: _Top, other: _Top) -> _Top:
    """Return the best of different items."""
    columns, scores = np.hstack((one.columns, other.columns)), np.hstack((one.scores, other.scores))
    order = np.argsort(-scores, axis=1, kind="stable")
    return _Top(np.take_along_axis(columns, order, 1), np.take_along_axis(scores, order, 1)).ties_by_column()


def _vectors(q: Side, i: Side) -> tuple[Any, Any]:
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    try:
        b = vectorizer.fit_transform([t or "" for t in i.values.to_pylist()])
    except ValueError:  # not one word in all items
        return csr_array((len(q.ids), 1)), csr_array((len(i.ids), 1))
    same = q.values is i.values or q.values.equals(i.values)
    return (b if same else vectorizer.transform([t or "" for t in q.values.to_pylist()])), b


def _ranked(product: _Product, k: int) -> _Top:
    from sparse_dot_topn import sp_matmul_topn

    own, (count, items) = 0, (product.a.shape[0], product.b.shape[0])
    if product.exclude_own and product.item_images is not None:
        own = int(np.unique(product.item_images, return_counts=True)[1].max())
    wanted = min(k + own + _SPARE, items)
    order = _alike_together(product.b)
    b = product.b[order].T.tocsr()
    short = sp_matmul_topn(product.a, b, top_n=wanted, sort=True, n_threads=os.cpu_count() or 1)
    filled = np.arange(wanted) < np.diff(short.indptr)[:, None]
    top = _Top(_laid(filled, order[short.indices], 0), _laid(filled, short.data, -np.inf))
    last = top.scores[:, -1] if wanted < items else np.full(count, -np.inf)
    mask = product.own(np.arange(count)[:, None], top.columns)
    top = top.only(top.scores > 0 if mask is None else (top.scores > 0) & ~mask).ties_by_column().first(k)
    unsure = np.flatnonzero(top.scores[:, -1] <= last)
    if len(unsure):
        for values, whole in zip(top, _whole(product, unsure, k), strict=True):
            values[unsure] = whole
    return top


def _alike_together(b: Any) -> NDArray[np.intp]:
    """Return an order of items in which those that hold the same of the most frequent words are neighbours."""
    frequent = np.argsort(-np.bincount(b.indices, minlength=b.shape[1]), kind="stable")[:_FREQUENT]
    return np.lexsort((b[:, frequent[::-1]].toarray() > 0).T)


def _whole(product: _Product, which: NDArray[np.intp], k: int) -> _Top:
    """Return rows of the product in full, for queries whose cut the short list cannot decide."""
    top, everything = _nothing(len(which), k), np.arange(product.b.shape[0])
    for start in range(0, len(which), _WHOLE_ROWS):
        block = which[start : start + _WHOLE_ROWS]
        scores = (product.a[block] @ product.b.T).toarray()
        mask = product.own(block[:, None], everything[None, :])
        if mask is not None:
            scores[mask] = -np.inf
        rows, columns, ranks = best(scores, k)
        top.columns[start + rows, ranks - 1] = columns
        top.scores[start + rows, ranks - 1] = scores[rows, columns]
    return top


def _nothing(count: int, k: int) -> _Top:
    return _Top(np.zeros((count, k), np.intp), np.full((count, k), -np.inf))


def _laid(filled: NDArray[np.bool_], values: NDArray[Any], empty: float) -> NDArray[Any]:
    """Return values row by row in the places that are filled."""
    made = np.full(filled.shape, empty, values.dtype)
    made[filled] = values
    return made
