"""How much of the exact answer an index finds, and how fast."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import RequestError
from counterbalance.engine.search.index_search import PROBES, REFINE, candidates
from counterbalance.engine.search.indexes import coverage
from counterbalance.engine.search.sample import vectors_or_nan
from counterbalance.engine.search.scan import among, exact

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
    """Return recall@k and milliseconds a query for some settings; the search's own defaults are among them.

    The queries are rows of the table itself, drawn by ``seed``; a query is not counted as its own neighbour. What was found
    is right when it is not farther than the k-th exact neighbour, so that of rows at one distance any will do.

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

    Raises:
        RequestError: There is no such index, it is none of vectors, or the table has no k other rows.
    """
    index, others = coverage(dataset, spec.name), int(dataset.count_rows()) - 1
    if index.metric is None:
        raise RequestError(
            f"{spec.name!r} is not a vector index", code="E3467", hint=f"it is {index.kind}, which finds all there is"
        )
    if k > others:
        raise RequestError(
            f"a row of this table has {max(0, others)} others, fewer than k = {k}",
            code="E3468",
            hint="take a smaller -k",
        )
    metric = index.metric
    keys, vectors = _queries(dataset, index.column, queries, seed, any_length=metric == "l2")
    began = time.perf_counter()
    truth = exact(dataset, index.column, _KEY, vectors, k + 1, metric, device="auto")
    alone = 1000 * (time.perf_counter() - began) / max(1, len(keys))
    wanted = [_scores(truth.filter(pc.equal(truth["query"], n)), key, k) for n, key in enumerate(keys)]
    total = sum(map(len, wanted))
    rows = []
    for factor in sorted({*(refine or (1, REFINE.get(index.kind, 10)))}):
        for probes in nprobes:
            hits, began = 0, time.perf_counter()
            for number, key in enumerate(keys):
                one = vectors[number : number + 1]
                found = candidates(dataset, index, _KEY, one[0], (k + 1) * factor, probes=probes)
                best = among(found[_KEY].combine_chunks(), found[index.column], one, k + 1, metric)
                if len(wanted[number]):
                    hits += int(np.count_nonzero(_scores(best, key, k) >= wanted[number][-1]))
            spent = 1000 * (time.perf_counter() - began) / max(1, len(keys))
            share = hits / total if total else 1.0
            rows.append((spec.name, index.kind, metric, probes, factor, k, len(keys), share, spent, alone))
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=RECALL)


def _queries(
    dataset: lance.LanceDataset, column: str, count: int, seed: int, *, any_length: bool
) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """Return keys and vectors of some rows that can be searched for."""
    total = int(dataset.count_rows())
    places = np.sort(np.random.default_rng(seed).choice(total, min(total, 2 * count), replace=False))
    taken = dataset.take(places, columns=[_KEY, column])
    vectors = vectors_or_nan(taken[column])
    squares = (vectors.astype(np.float64) ** 2).sum(axis=1)
    usable = np.flatnonzero(np.isfinite(squares) & (any_length | (squares > 0)))[:count]
    return taken[_KEY].to_numpy()[usable], vectors[usable]


def _scores(found: pa.Table, own: np.uint64, k: int) -> NDArray[np.float64]:
    """Return the first k scores of one query, best first, without that of its own row."""
    scores: NDArray[np.float64] = found["score"].to_numpy()[found["key"].to_numpy() != own][:k]
    return scores
