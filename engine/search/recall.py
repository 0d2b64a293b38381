"""How much of the exact answer an index finds, and how fast."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.search.indexes import coverage
from counterbalance.engine.search.sample import matrix
from counterbalance.engine.search.scan import among, exact
from counterbalance.engine.search.stored import PROBES, REFINE, candidates

if TYPE_CHECKING:
    from collections.abc import Sequence

    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.search.indexes import IndexSpec

RECALL: Final = pa.schema(
    [
        pa.field("name", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("metric", pa.string()),
        pa.field("nprobes", pa.int32()),
        pa.field("refine", pa.int32()),
        pa.field("k", pa.int32()),
        pa.field("queries", pa.int32()),
        pa.field("recall", pa.float64()),
        pa.field("milliseconds", pa.float64()),
        pa.field("exact_milliseconds", pa.float64()),
    ]
)
_KEY: Final = "_rowid"


def recall(
    dataset: lance.LanceDataset,
    spec: IndexSpec,
    *,
    k: int = 10,
    queries: int = 100,
    seed: int = 0,
    nprobes: Sequence[int] = (1, PROBES, 4 * PROBES),
    refine: Sequence[int] | None = None,
) -> pa.Table:
    """Recall@k and milliseconds a query for some settings; the search's own defaults are among them.

    The queries are rows of the table itself, drawn by ``seed``; a query is not counted as its own neighbour.

    Args:
        dataset: The table.
        spec: Its vector index.
        k: Neighbours.
        queries: How many.
        seed: Of the draw.
        nprobes: Partitions searched.
        refine: Candidates for each wanted row; 1 and the kind's default.

    Returns:
        A row a setting: name, kind, metric, nprobes, refine, k, queries, recall (0 to 1), milliseconds a query with the
        index, and without.
    """
    index = coverage(dataset, spec.name)
    metric = index.metric or "cosine"
    keys, vectors = _queries(dataset, index.column, queries, seed, any_length=metric == "l2")
    began = time.perf_counter()
    truth = exact(dataset, index.column, _KEY, vectors, k + 1, metric, device="auto")
    alone = 1000 * (time.perf_counter() - began) / max(1, len(keys))
    wanted = _neighbours(truth["query"].to_numpy(), truth["key"].to_numpy(), keys, k)
    total = sum(map(len, wanted))
    rows = []
    for factor in sorted({*(refine or (1, REFINE.get(index.kind, 10)))}):
        for probes in nprobes:
            hits, began = 0, time.perf_counter()
            for number, key in enumerate(keys):
                one = vectors[number : number + 1]
                found = candidates(dataset, index, _KEY, one[0], (k + 1) * factor, probes=probes)
                best = among(found[_KEY].combine_chunks(), found[index.column], one, k + 1, metric)
                mine = _neighbours(np.zeros(len(best), np.int32), best["key"].to_numpy(), np.array([key]), k)[0]
                hits += len(mine & wanted[number])
            spent = 1000 * (time.perf_counter() - began) / max(1, len(keys))
            share = hits / total if total else 1.0
            rows.append((spec.name, index.kind, metric, probes, factor, k, len(keys), share, spent, alone))
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=RECALL)


def _queries(
    dataset: lance.LanceDataset, column: str, count: int, seed: int, *, any_length: bool
) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """Keys and vectors of some rows that can be searched for."""
    total = int(dataset.count_rows())
    places = np.sort(np.random.default_rng(seed).choice(total, min(total, 2 * count), replace=False))
    taken = dataset.take(places, columns=[_KEY, column])
    vectors = matrix(taken[column])
    squares = (vectors.astype(np.float64) ** 2).sum(axis=1)
    usable = np.flatnonzero(np.isfinite(squares) & (any_length | (squares > 0)))[:count]
    return taken[_KEY].to_numpy()[usable], vectors[usable]


def _neighbours(query: NDArray[np.int32], keys: NDArray[np.uint64], own: NDArray[np.uint64], k: int) -> list[set[int]]:
    """The first k keys of every query, without its own."""
    result = []
    for number, mine in enumerate(own):
        found = keys[query == number]
        result.append(set(found[found != mine][:k].tolist()))
    return result
