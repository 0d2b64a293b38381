"""Exact nearest rows of a stored table, read a batch at a time, so that memory does not grow with the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.schema import ROW
from counterbalance.engine.search.devices import device as device_of
from counterbalance.engine.search.exact_knn import nearest
from counterbalance.engine.search.sample import vectors_or_nan

if TYPE_CHECKING:
    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.search.devices import Device

_BATCH_NUMBERS: Final = 1 << 23
"""Numbers of a batch: 32 MB of float32."""


def exact(
    dataset: lance.LanceDataset,
    column: str,
    key: str,
    queries: NDArray[np.float32],
    k: int,
    metric: str,
    *,
    where: str | None = None,
    device: str = "cpu",
) -> pa.Table:
    """Return the k nearest rows of every query: ``query`` (its position), ``key``, ``_rowid``, ``rank`` from 1 and ``score``; ties by key.

    Args:
        dataset: The table.
        column: Its vector column.
        key: Its key column, or ``"_rowid"``.
        queries: Rows by dimensions.
        k: How many.
        metric: ``"cosine"``, ``"dot"`` or ``"l2"``.
        where: A filter for Lance.
        device: Where the products run.
    """
    rows = max(1024, _BATCH_NUMBERS // queries.shape[1])
    scanner = dataset.scanner(columns=list({key: 0, column: 0, ROW: 0}), filter=where, batch_size=rows)
    best: pa.Table | None = None
    on = device_of(device)  # of all batches, not of each by its size
    for batch in scanner.to_batches():
        part = among(batch.column(key), batch.column(column), queries, k, metric, rows=batch.column(ROW), device=on)
        best = part if best is None else ranked(pa.concat_tables([best, part]), k)
    if best is None:
        empty = pa.array([], scanner.projected_schema.field(key).type)
        none = pa.array([], dataset.schema.field(column).type)
        return among(empty, none, queries, k, metric, rows=pa.array([], pa.uint64()))
    return best


def among(
    keys: Any,
    vectors: Any,
    queries: NDArray[np.float32],
    k: int,
    metric: str,
    *,
    rows: Any = None,
    device: str | Device = "cpu",
) -> pa.Table:
    """Return the same among rows that are at hand; ``_rowid`` is ``rows``, or the keys."""
    rows = keys if rows is None else rows
    values = vectors_or_nan(vectors)
    order = pc.sort_indices(keys)
    if not pc.all(pc.equal(order, pa.array(np.arange(len(order)), order.type))).as_py():
        keys, rows, values = keys.take(order), rows.take(order), values[order.to_numpy()]
    found = nearest(queries, values, k, metric=metric, device=device)
    return pa.table(
        {
            "query": pa.array(found.rows.astype(np.int32)),
            "key": keys.take(pa.array(found.columns)),
            ROW: rows.take(pa.array(found.columns)),
            "rank": pa.array(found.ranks, pa.int32()),
            "score": pa.array(found.scores, pa.float64()),
        }
    )


def ranked(rows: pa.Table, k: int) -> pa.Table:
    """Return rows of ``query``, ``key`` and ``score`` in order, cut at k, with their ranks."""
    rows = rows.sort_by([("query", "ascending"), ("score", "descending"), ("key", "ascending")])
    query = rows["query"].to_numpy()
    ranks = np.arange(len(query)) - np.searchsorted(query, query) + 1
    numbered = pa.table({n: pa.array(ranks, pa.int32()) if n == "rank" else rows[n] for n in rows.column_names})
    return numbered.filter(pa.array(ranks <= k))
