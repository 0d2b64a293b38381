"""Vector indexes of every kind: seconds to build, megabytes, milliseconds a query and recall@10, against faiss's IVF and none.

Clustered vectors in 256 dimensions, cosine; 100,000 of them, or 10,000 with ``--scale small``. ``ivf_pq`` trains on parts
and takes minutes at full scale; leave it out with ``--without ivf_pq``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import harness
import lance
import numpy as np
import pyarrow as pa

from counterbalance.engine.search.exact_knn import nearest
from counterbalance.engine.search.index_kinds import KINDS
from counterbalance.engine.search.index_search import Stored, vector_search
from counterbalance.engine.search.indexes import IndexSpec, build

ROWS = {"small": 10_000, "full": 100_000}
DIMENSIONS, K, QUERIES = 256, 10, 200


def vectors(count: int) -> np.ndarray:
    """A thousand clusters that touch."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(1000, DIMENSIONS))
    made = centres[rng.integers(0, 1000, count)] + rng.normal(size=(count, DIMENSIONS))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made.astype(np.float32)


def row(name: str, built: float, megabytes: float, spent: float, found: list[list[int]], truth: Any) -> dict[str, Any]:
    """One line of the table."""
    right = sum(len(set(mine) & set(best)) for mine, best in zip(found, truth, strict=True))
    return {
        "index": name,
        "build s": built,
        "MB": megabytes,
        "ms a query": 1000 * spent / len(truth),
        f"recall@{K}": right / (K * len(truth)),
    }


def ours(folder: Path, items: Any, queries: Any, truth: Any, without: list[str]) -> list[dict[str, Any]]:
    """Each kind, and exact search, as SQL calls them."""
    column = pa.FixedSizeListArray.from_arrays(pa.array(items.ravel()), DIMENSIONS)
    dataset = lance.write_dataset(pa.table({"id": np.arange(len(items)), "embedding": column}), str(folder / "t.lance"))
    rows = []
    for kind in ["none", *(k for k, v in KINDS.items() if v.is_vector)]:
        if kind in without:
            continue
        began, size = time.perf_counter(), 0.0
        if kind != "none":
            size = (build(dataset, IndexSpec("it", kind, "embedding")).bytes or 0) / 1e6
        built = time.perf_counter() - began
        table = Stored("t", dataset.schema, dataset)
        vector_search(table, "embedding", queries[0], K)
        began = time.perf_counter()
        found = [vector_search(table, "embedding", q, K)["id"].to_pylist() for q in queries]
        rows.append(row(f"counterbalance, {kind}", built, size, time.perf_counter() - began, found, truth))
    return rows


def faiss_ivf(items: Any, queries: Any, truth: Any) -> list[dict[str, Any]]:
    """IVF with whole vectors and with bytes, as many clusters, 20 of them searched."""
    import faiss

    count = round(len(items) ** 0.5)
    rows = []
    for name in ("Flat", "SQ8"):
        began = time.perf_counter()
        index = faiss.index_factory(DIMENSIONS, f"IVF{count},{name}", faiss.METRIC_INNER_PRODUCT)
        index.train(items)
        index.add(items)
        index.nprobe = 20
        built = time.perf_counter() - began
        began = time.perf_counter()
        found = [index.search(q[None], K)[1][0].tolist() for q in queries]
        size = items.nbytes / (1e6 if name == "Flat" else 4e6)
        rows.append(row(f"faiss, IVF {name}, in memory", built, size, time.perf_counter() - began, found, truth))
    return rows


def main() -> None:
    """Build, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=ROWS, default="small")
    parser.add_argument("--without", default=[], action="append")
    options, _ = parser.parse_known_args()
    items = vectors(ROWS[options.scale] + QUERIES)
    items, queries = items[:-QUERIES], items[-QUERIES:]
    truth = nearest(queries, items, K, metric="cosine").columns.reshape(QUERIES, K).tolist()
    with tempfile.TemporaryDirectory(prefix="counterbalance-bench-") as folder:
        print(
            harness.table(ours(Path(folder), items, queries, truth, options.without) + faiss_ivf(items, queries, truth))
        )


if __name__ == "__main__":
    main()
