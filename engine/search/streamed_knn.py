"""Nearest vectors by cosine of relations that are read a batch at a time: counted by label, or ranked for a few queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import SqlError
from counterbalance.engine.search.devices import device
from counterbalance.engine.search.exact_knn import nearest
from counterbalance.engine.search.hits import HITS
from counterbalance.engine.search.ranking import key_of, matrix
from counterbalance.engine.search.scan import ranked
from counterbalance.engine.search.vector_stream import KEY, Labels, only, parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counterbalance.engine.search.vector_stream import Rows

COUNTS: Final = pa.schema(
    [
        pa.field("label", pa.string()),
        pa.field("item", pa.string()),
        pa.field("count", pa.int64()),
        pa.field("n", pa.int64()),
        pa.field("images", pa.int64()),
        pa.field("count_images", pa.int64()),
    ]
)


def nearest_counts(vectors: Rows, items: pa.Table, groups: pa.Table, column: str = "embedding") -> pa.Table:
    """Return how many vectors of each label have each item as the nearest by cosine, exact; ties go to the first item by name.

    Args:
        vectors: A relation with ``image_id`` and a vector column; read once.
        items: Text in ``item``, which may stand there several times, and vectors in ``embedding``.
        groups: Group relation (image_id, label).
        column: Vector column of ``vectors``.

    Returns:
        Rows (label, item, count, n, images, count_images), every label that has vectors with every item; n is the label's number
        of vectors, of so many images, and count_images have the vectors of count.

    Raises:
        SqlError: As ``moments``; also items without the columns, or of another length than the vectors (``E3126``).
    """
    labels = Labels.of(groups)
    items = only(items, "items", "item", "embedding")
    texts = items["item"].cast(pa.string())
    names = pc.unique(texts).sort()
    own = pc.index_in(texts, names).to_numpy().astype(np.intp)
    known = matrix(items["embedding"], "items")
    order = np.argsort(own, kind="stable")
    own, known = own[order], known[order]
    counts = np.zeros((len(labels.names), len(names)), np.int64)
    has_vector, has_item = np.zeros(len(labels.ids), np.bool_), np.zeros(0, np.int64)
    on = device()
    for batch in parts(vectors, labels, column):
        if len(known):
            part = batch.labelled()
            _same_length(part.vectors, known, "items")
            best = nearest(part.vectors, known, 1, metric="cosine", device=on)
            chosen = np.full(len(part.ids), -1)
            chosen[best.rows] = own[best.columns]
            has = chosen[part.places] >= 0
            items_of = chosen[part.places[has]]
            np.add.at(counts, (part.codes[has], items_of), 1)
            has_vector[part.pairs[has]] = True
            has_item = np.union1d(has_item, part.pairs[has] * len(names) + items_of)
    images, with_item = labels.counted(has_vector), np.zeros_like(counts)
    if len(has_item):
        np.add.at(with_item, (labels.codes[has_item // len(names)], has_item % len(names)), 1)
    label, item = np.nonzero(np.broadcast_to(counts.sum(axis=1, keepdims=True) > 0, counts.shape))
    columns: list[Any] = [
        pa.array(labels.names, pa.string()).take(pa.array(label)),
        names.take(pa.array(item)),
        pa.array(counts[label, item]),
        pa.array(counts.sum(axis=1)[label]),
        pa.array(images[label], pa.int64()),
        pa.array(with_item[label, item]),
    ]
    return pa.table(columns, schema=COUNTS)


def nearest_items(
    vectors: Rows, queries: pa.Table, among: pa.Table, k: int = 100, column: str = "embedding"
) -> pa.Table:
    """Return the k vectors of chosen images nearest to every query by cosine, exact; ties by image.

    What ``top_k`` does with ``ranker := 'vector'``, in the memory of a batch.

    Args:
        vectors: A relation with ``image_id`` and a vector column; read once.
        queries: First integer column is the id; vectors in ``embedding``.
        among: Only images whose ``image_id`` stands here are ranked.
        k: How many.
        column: Vector column of ``vectors``.

    Returns:
        A hits relation; ``item_id`` is the image.

    Raises:
        SqlError: As ``moments``; queries of another length than the vectors (``E3126``), or k below 1 (``E3120``).
    """
    if k < 1:
        raise SqlError(f"k must be at least 1, not {k}", code="E3120")
    key = key_of(queries, "query_id", "embedding")
    queries = queries.select([key, "embedding"]).drop_null().sort_by(key)
    asked = matrix(queries["embedding"], "queries")
    among = only(among, "images to rank among", KEY)
    chosen = among.append_column("label", pa.array([""] * len(among), pa.string()))
    best: pa.Table | None = None
    on = device()
    for batch in parts(vectors, Labels.of(chosen), column):
        if not len(asked):
            break
        part = batch.labelled()
        _same_length(part.vectors, asked, "queries")
        order = np.argsort(part.ids, kind="stable")
        found = nearest(asked, part.vectors[order], k, metric="cosine", device=on)
        own = {
            "query": found.rows,
            "key": part.ids[order][found.columns],
            "rank": found.ranks,
            "score": found.scores,
        }
        rows = pa.table({name: pa.array(values) for name, values in own.items()})
        best = rows if best is None else ranked(pa.concat_tables([best, rows]), k)
    if best is None:
        return HITS.empty_table()
    ids = queries[key].take(best["query"])
    return pa.table([ids.cast(pa.int64()), best["key"], best["rank"], best["score"]], schema=HITS)


def _same_length(vectors: NDArray[np.float32], others: NDArray[np.float32], name: str) -> None:
    if vectors.shape[1] != others.shape[1]:
        raise SqlError(
            f"vectors have {vectors.shape[1]} dimensions, {name} {others.shape[1]}",
            code="E3126",
            hint="take both from one model",
        )
