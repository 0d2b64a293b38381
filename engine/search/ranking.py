"""Exact rankings: every query against every item, the k best with ties broken by item id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import SqlError
from counterbalance.engine.search.exact_knn import METRICS, nearest
from counterbalance.engine.search.hits import HITS, Side, hits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_FIRST_DRAW: Final = 64
_FEW: Final = 8
"""Where draws are fewer than one in so many places, they are sorted rather than written into a table of all places."""
_MOST_DRAWS: Final = 4
"""A random ranking draws with replacement up to so many times the items there are, for those not drawn before."""


def top_k(
    queries: pa.Table,
    items: pa.Table,
    ranker: str = "tfidf",
    k: Sequence[int] = (100,),
    *,
    exclude_own: bool = True,
    among: pa.Table | None = None,
    column: str | None = None,
    columns: Sequence[str] | None = None,
    metric: str = "cosine",
    seed: int = 0,
) -> pa.Table:
    """Return the k best items for every query.

    Args:
        queries: First integer column is the id; ``image_id`` tells own items; text or vectors in ``column``.
        items: The same.
        ranker: ``"tfidf"`` (scikit-learn's ``TfidfVectorizer`` with its defaults, fitted on the items), ``"vector"``
            (exact, as blocked matrix products) or ``"random"`` (seeded, a permutation a query).
        k: Cut-off; of several the largest.
        exclude_own: Leave out items whose ``image_id`` is the query's.
        among: Rank only items whose ``item_id``, or else ``image_id``, stands here; TF-IDF is still fitted on all items.
        column: Text or vector column; ``"text"`` or ``"embedding"`` when ``None``.
        columns: Vector columns, each of which ranks by itself.
        metric: Of vectors: ``"cosine"``, ``"dot"`` or ``"l2"`` (score is the negative distance).
        seed: Of the random ranker.

    Returns:
        A hits relation, in order of query id and rank. Ties are broken by ascending item id. With ``columns`` the first
        column, ``vectors``, names the one that ranked.
    """
    if columns is not None:
        return _by_columns(queries, items, ranker, k, columns, exclude_own=exclude_own, among=among, metric=metric)
    cut = at_least_one(max(k, default=0))
    wanted = {"tfidf": column or "text", "vector": column or "embedding", "random": None}
    if ranker not in wanted:
        raise SqlError(f"no ranker {ranker!r}", code="E3130", hint="rankers: tfidf, vector, random")
    q, i = _side(queries, "query_id", wanted[ranker]), _side(items, "item_id", wanted[ranker])
    own = exclude_own and q.images is not None and i.images is not None
    chosen = None if among is None else _chosen(i, among)
    if ranker == "tfidf":
        from counterbalance.engine.search.tfidf import rank_texts

        return rank_texts(q, i, cut, exclude_own=own, among=chosen)
    if chosen is not None:
        i = i.only(chosen)
    if ranker == "random":
        return _random(q, i, cut, exclude_own=own, seed=seed)
    return _vectors(q, i, cut, metric=metric, own=_same_image(q, i) if own else None)


def _by_columns(
    queries: pa.Table, items: pa.Table, ranker: str, k: Sequence[int], columns: Sequence[str], **how: Any
) -> pa.Table:
    """Return one ranking after another: hits with the column that each rests on."""
    if ranker != "vector" or not columns or len(set(columns)) < len(columns):
        raise SqlError(
            f"'columns' of top_k() must be different vector columns, with ranker := 'vector': {list(columns)}",
            code="E3182",
            hint="one text or vector column is named with column := …",
        )
    parts = []
    for name in columns:
        found = top_k(queries, items, ranker, k, column=name, **how)
        parts.append(found.add_column(0, "vectors", pa.repeat(pa.scalar(name), len(found))))
    return pa.concat_tables(parts)


def knn(
    queries: pa.Table,
    items: pa.Table,
    column: str = "embedding",
    k: int = 10,
    metric: str = "l2",
    *,
    exclude_self: bool = True,
) -> pa.Table:
    """Return the k nearest items of every query, exact.

    Args:
        queries: First integer column is the id; vectors in ``column`` (fixed-size list of float32).
        items: The same.
        column: Vector column.
        k: Neighbours.
        metric: ``"l2"``, ``"cosine"`` or ``"dot"``; the score is the similarity, for L2 the negative distance.
        exclude_self: Leave out the item with the query's own id.

    Returns:
        A hits relation.
    """
    k = at_least_one(k)
    q, i = _side(queries, "query_id", column), _side(items, "item_id", column)
    return _vectors(q, i, k, metric=metric, own=(q.ids, i.ids) if exclude_self else None)


def _chosen(items: Side, among: pa.Table) -> NDArray[np.bool_]:
    by_item = "item_id" in among.column_names
    if not by_item and ("image_id" not in among.column_names or items.images is None):
        raise SqlError("'among' of top_k() needs a column item_id, or image_id on both sides", code="E3129")
    wanted = among["item_id" if by_item else "image_id"].drop_null().to_numpy()
    mask: NDArray[np.bool_] = np.isin(items.ids if by_item else items.images, wanted)  # type: ignore[arg-type]
    return mask


def at_least_one(value: int, name: str = "k") -> int:
    """Return a number from 1.

    Raises:
        SqlError: It is less.
    """
    if value < 1:
        raise SqlError(f"{name} must be at least 1, not {value}", code="E3120")
    return value


def check_metric(metric: str) -> None:
    """Refuse a metric that exact search does not know."""
    if metric not in METRICS:
        raise SqlError(f"no metric {metric!r}", code="E3130", hint="metrics: cosine, dot, l2")


def check_widths(queries: NDArray[np.float32], items: NDArray[np.float32]) -> None:
    """Refuse vectors of other lengths on either side."""
    if queries.shape[1] != items.shape[1]:
        raise SqlError(f"queries have {queries.shape[1]} dimensions, items {items.shape[1]}", code="E3126")


def _same_image(q: Side, i: Side) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    return None if q.images is None or i.images is None else (q.images, i.images)


def _side(rows: pa.Table, preferred: str, column: str | None) -> Side:
    key = key_of(rows, preferred, column)
    rows = rows.filter(pc.is_valid(rows[key])).sort_by(key)
    ids = rows[key].to_numpy().astype(np.int64)
    if len(ids) and (np.diff(ids) == 0).any():
        raise SqlError(f"{key} is not unique among queries or items", code="E3124")
    has_image = "image_id" in rows.column_names and key != "image_id"
    images = keys_of(rows["image_id"], preferred) if has_image or key == "image_id" else None
    return Side(ids, images, None if column is None else rows[column])


def key_of(rows: pa.Table, preferred: str, *columns: str | None) -> str:
    """Return the name of the id among the columns of queries or items.

    Raises:
        SqlError: There is none, or another column is missing.
    """
    integers = [f.name for f in rows.schema if pa.types.is_integer(f.type)]
    key = preferred if preferred in rows.column_names else (integers[0] if integers else None)
    if key is None:
        raise SqlError("queries and items need an integer id as their first column", code="E3122")
    for column in columns:
        if column is not None and column not in rows.column_names:
            raise SqlError(
                f"queries and items need a column {column!r}",
                code="E3123",
                hint="columns: " + ", ".join(rows.column_names),
            )
    return key


def keys_of(values: pa.ChunkedArray, side: str) -> NDArray[np.int64]:
    """Return a column as keys by which pairs are left out; NULL equals none of the other side."""
    nothing = int(np.iinfo(np.int64).min) + (side == "item_id")
    keys: NDArray[np.int64] = pc.fill_null(values.cast(pa.int64()), nothing).to_numpy()
    return keys


def matrix(
    values: pa.ChunkedArray | pa.Array, name: str, places: NDArray[np.intp] | None = None
) -> NDArray[np.float32]:
    """Return vectors of a column as rows by dimensions, float32.

    Args:
        values: Lists of floats of one length.
        name: Whose they are, for errors.
        places: Row of the result for every value; in order when left out.

    Raises:
        SqlError: A vector is missing, or of another length, or these are not vectors.
    """
    if values.null_count:
        raise SqlError(
            f"{name} have rows without a vector", code="E3125", hint="filter them: WHERE embedding IS NOT NULL"
        )
    if pa.types.is_fixed_size_list(values.type):
        width = values.type.list_size
    elif pa.types.is_list(values.type):
        lengths = pc.unique(pc.list_value_length(values)).to_pylist()
        if len(lengths) > 1:
            raise SqlError(f"{name} have vectors of different lengths", code="E3126")
        width = lengths[0] if lengths else 0
    else:
        raise SqlError(f"{name} have {values.type} where vectors are needed", code="E3127")
    made = np.empty((len(values) if width else 0, width), np.float32)
    start = 0
    for chunk in getattr(values, "chunks", [values]) if width else ():
        rows: Any = slice(start, start + len(chunk))
        made[rows if places is None else places[rows]] = (
            chunk.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
        )
        start = rows.stop
    return made


def _vectors(
    q: Side, i: Side, k: int, *, metric: str, own: tuple[NDArray[np.int64], NDArray[np.int64]] | None
) -> pa.Table:
    check_metric(metric)
    a, b = matrix(q.values, "queries"), matrix(i.values, "items")
    if not len(a) or not len(b):
        return HITS.empty_table()
    check_widths(a, b)
    found = nearest(a, b, k, metric=metric, keys=own)
    return hits(q.ids[found.rows], i.ids[found.columns], found.ranks, found.scores)


def _drawn(generator: np.random.Generator, count: int, k: int) -> NDArray[np.int64]:
    """Return the first places of a permutation of so many: the same ones whatever ``k`` is."""
    wanted, drawn, size = min(k, count), np.empty(0, np.int64), _FIRST_DRAW
    while len(drawn) < wanted:
        if size > _MOST_DRAWS * count:  # what is left is seldom met by chance
            left = np.ones(count, np.bool_)
            left[drawn] = False
            drawn = np.concatenate([drawn, generator.permutation(np.flatnonzero(left))])
            break
        drawn = np.concatenate([drawn, generator.integers(0, count, size)])
        size *= 2
        if len(drawn) >= wanted or size > _MOST_DRAWS * count:
            drawn = _once(drawn, count)
    return drawn[:k]


def _once(places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return places below ``count``, each where it comes first."""
    n = len(places)
    if n * _FEW < count:
        return places[np.sort(np.unique(places, return_index=True)[1])]
    first = np.full(count, n)
    first[places[::-1]] = np.arange(n - 1, -1, -1)
    keep = np.zeros(n + 1, np.bool_)
    keep[first] = True
    return places[keep[:n]]


def _random(q: Side, i: Side, k: int, *, exclude_own: bool, seed: int) -> pa.Table:
    """Return a uniform permutation a query, from a generator seeded by ``seed`` and the query's place; its first ``k`` items."""
    query_ids, item_ids, ranks = [], [], []
    for number, query in enumerate(q.ids.tolist()):
        generator = np.random.default_rng([seed, number])
        pool = i.ids
        if exclude_own and q.images is not None and i.images is not None:
            pool = pool[i.images != q.images[number]]
        drawn = pool[_drawn(generator, len(pool), k)]
        query_ids.append(np.full(len(drawn), query, np.int64))
        item_ids.append(drawn)
        ranks.append(np.arange(1, len(drawn) + 1, dtype=np.int32))
    if not query_ids:
        return HITS.empty_table()
    flat = np.concatenate(ranks)
    return hits(np.concatenate(query_ids), np.concatenate(item_ids), flat, 1.0 / flat.astype(np.float64))
