"""Exact nearest neighbours in blocks, against the product alone (the limit), numpy's argpartition, faiss and scikit-learn.

All answer with the mean score of the last neighbour. At scale ``small`` there are a twentieth of the queries.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from counterbalance.engine.search.exact_knn import nearest

if TYPE_CHECKING:
    from pathlib import Path

SIZES = {
    "50 nearest, 10 k x 100 k x 512, L2": (10_000, 100_000, 50, "l2"),
    "top 100, 25 k x 5 k x 512, cosine": (25_000, 5_000, 100, "cosine"),
}
BLOCK = 500


def prepare(folder: Path, scale: str) -> None:
    """Random vectors of length 1."""
    (folder / "search.json").write_text(json.dumps({"step": 20 if scale == "small" else 1}))
    for name, count in (("queries", 25_000), ("items", 100_000)):
        if not (folder / f"{name}.npy").exists():
            vectors = np.random.default_rng(len(name)).normal(size=(count, 512)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            np.save(folder / f"{name}.npy", vectors)


def cases(folder: Path) -> dict[str, Any]:
    """Both shapes of work."""
    step = json.loads((folder / "search.json").read_text())["step"]
    found = {}
    for name, (m, n, k, metric) in SIZES.items():

        def opened(m: int = m, n: int = n) -> tuple[Any, Any]:
            return np.load(folder / "queries.npy")[: m // step], np.load(folder / "items.npy")[:n]

        def limit(m: int = m, n: int = n, k: int = k, metric: str = metric) -> Any:
            a, b = opened(m, n)
            return a, b, _ours(a, b, k, metric)

        found[name] = {
            "counterbalance": (opened, lambda s, k=k, metric=metric: _ours(*s, k, metric)),
            "the product alone": (limit, _product),
            "product + argpartition": (opened, lambda s, k=k, metric=metric: _argpartition(*s, k, metric)),
            "faiss, flat": (opened, lambda s, k=k, metric=metric: _faiss(*s, k, metric)),
            "scikit-learn": (opened, lambda s, k=k, metric=metric: _sklearn(*s, k, metric)),
        }
    return found


def _ours(a: Any, b: Any, k: int, metric: str) -> float:
    found = nearest(a, b, k, metric=metric)
    return float(found.scores[found.ranks == k].mean())


def _product(state: Any) -> float:
    a, b, answer = state
    out = np.empty((BLOCK, len(b)), np.float32)
    for start in range(0, len(a), BLOCK):
        block = a[start : start + BLOCK]
        np.matmul(block, b.T, out=out[: len(block)])
    return answer


def _argpartition(a: Any, b: Any, k: int, metric: str) -> float:
    last = []
    squares = (b**2).sum(1)
    for start in range(0, len(a), BLOCK):
        block = a[start : start + BLOCK]
        scores = block @ b.T
        if metric == "l2":
            scores = -np.sqrt(np.maximum((block**2).sum(1)[:, None] - 2 * scores + squares, 0))
        best = np.argpartition(scores, len(b) - k, axis=1)[:, len(b) - k :]
        chosen = np.sort(np.take_along_axis(scores, best, axis=1), axis=1)
        last.append(chosen[:, 0])
    return float(np.concatenate(last).astype(np.float64).mean())


def _faiss(a: Any, b: Any, k: int, metric: str) -> float:
    import faiss

    index = faiss.IndexFlatL2(b.shape[1]) if metric == "l2" else faiss.IndexFlatIP(b.shape[1])
    index.add(b)
    values, _ = index.search(a, k)
    last = values[:, -1].astype(np.float64)
    return float(-np.sqrt(np.maximum(last, 0)).mean() if metric == "l2" else last.mean())


def _sklearn(a: Any, b: Any, k: int, metric: str) -> float:
    from sklearn.neighbors import NearestNeighbors

    name = {"l2": "euclidean", "cosine": "cosine"}[metric]
    apart, _ = NearestNeighbors(n_neighbors=k, algorithm="brute", metric=name).fit(b).kneighbors(a)
    last = apart[:, -1].astype(np.float64)
    return float(-last.mean() if metric == "l2" else 1 - last.mean())
