"""Cluster vectors by k-means, for the cells of an index (``train``) and for the function ``kmeans`` (``best``).

The steps are our own, not scikit-learn's: they run on a GPU by the blocked products of exact search, keep to unit length for
cosine, and give the same bits whatever the number of threads, which ``KMeans`` of scikit-learn does not promise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from threadpoolctl import threadpool_limits

from counterbalance.engine.search.devices import device as device_of
from counterbalance.engine.search.exact_knn import unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counterbalance.engine.search.devices import Device

STEPS: Final = 12
_TO_THE_END: Final = 300
"""Steps of ``best``, which ends before where no point changes its cluster."""


def train(
    points: NDArray[np.float32],
    count: int,
    *,
    seed: int = 0,
    steps: int = STEPS,
    spherical: bool = False,
    start: NDArray[np.float32] | None = None,
    device: str | Device = "auto",
) -> NDArray[np.float32]:
    """Move first centroids by Lloyd's steps; returns ``count`` by dimensions, float32.

    Deterministic on one device. A cluster that loses all its points takes the point that lies farthest from its own
    centroid.

    Args:
        points: Finite vectors, rows by dimensions; at least ``count``.
        count: Clusters.
        seed: Of the points that are the first centroids.
        steps: At most so many; it ends when no point changes its cluster.
        spherical: Points and centroids have length 1 (for cosine and dot).
        start: First centroids, instead of points drawn by ``seed``.
        device: Where the products run.

    Example:
        >>> points = np.array([[0, 0], [0, 2], [9, 0], [9, 2]], np.float32)
        >>> sorted(train(points, 2, seed=1).tolist())
        [[0.0, 1.0], [9.0, 1.0]]
    """
    points = unit(points) if spherical else np.ascontiguousarray(points, np.float32)
    if start is None:
        drawn = np.sort(np.random.default_rng(seed).choice(len(points), count, replace=False))
        start = points[drawn]
    on = device_of(device) if isinstance(device, str) else device
    centroids = unit(start) if spherical else start.astype(np.float32)
    labels = np.full(len(points), -1, np.intp)
    with on.exact(1):
        placed = on.put(points)
        for _ in range(steps):
            found, apart = _assign(points, placed, centroids, on)
            if (found == labels).all():
                break
            labels = found
            centroids = _means(placed, labels, centroids, on)
            _reseed(points, labels, apart, centroids)
            if spherical:
                centroids = unit(centroids)
    return centroids


def best(
    points: NDArray[np.float32], count: int, *, seed: int = 0, starts: int = 10, device: str = "auto"
) -> NDArray[np.float32]:
    """Return the centroids of the best of several starts, that of the largest cluster first; ``count`` by dimensions.

    First centroids are drawn by k-means++ (scikit-learn); the start with the least sum of squared distances is taken.

    Args:
        points: Finite vectors, rows by dimensions; at least ``count`` different ones.
        count: Clusters.
        seed: Of the draws.
        starts: How many.
        device: Where the products run.
    """
    from sklearn.cluster import kmeans_plusplus

    on = device_of(device)
    draw = np.random.RandomState(seed)
    found: list[tuple[float, NDArray[np.float32], NDArray[np.intp]]] = []
    with threadpool_limits(1), on.exact(1):
        placed = on.put(points)
        for _ in range(starts):
            first, _ = kmeans_plusplus(points, count, random_state=draw)
            centroids = train(points, count, start=first, steps=_TO_THE_END, device=on)
            labels, apart = _assign(points, placed, centroids, on)
            found.append((float(apart.sum()), centroids, labels))
    _, centroids, labels = min(found, key=lambda start: start[0])
    sizes = np.bincount(labels, minlength=count)
    return centroids[np.lexsort((*centroids.T[::-1], -sizes))]


def _assign(
    points: NDArray[np.float32], placed: object, centroids: NDArray[np.float32], on: Device
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the nearest centroid of every point, the first of equal ones, and half the squared distance less a constant.

    Args:
        points: The points.
        placed: The same, on the device.
        centroids: The centroids.
        on: The device.
    """
    there = on.put(centroids)
    half = 0.5 * (centroids.astype(np.float64) ** 2).sum(axis=1)
    bias = on.put((-half).astype(np.float32))
    labels = np.empty(len(points), np.intp)
    nearness = np.empty(len(points))
    for first in range(0, len(points), on.query_rows):
        block = slice(first, first + on.query_rows)
        labels[block], nearness[block] = on.largest(on.products(placed[block], there, bias))  # type: ignore[index]
    return labels, -nearness


def _means(placed: object, labels: NDArray[np.intp], before: NDArray[np.float32], on: Device) -> NDArray[np.float32]:
    """Return the mean of every cluster; an empty one keeps its centroid."""
    total = np.zeros(before.shape)
    for first in range(0, len(labels), on.item_rows):
        block = slice(first, first + on.item_rows)
        total += on.sums(placed[block], labels[block], len(before))  # type: ignore[index]
    counts = np.bincount(labels, minlength=len(before))
    result = before.copy()
    result[counts > 0] = (total[counts > 0] / counts[counts > 0, None]).astype(np.float32)
    return result


def _reseed(
    points: NDArray[np.float32], labels: NDArray[np.intp], apart: NDArray[np.float64], centroids: NDArray[np.float32]
) -> None:
    """Give empty clusters the points that are farthest from their centroids, each another one."""
    empty = np.flatnonzero(np.bincount(labels, minlength=len(centroids)) == 0)
    if len(empty):
        lengths = 0.5 * (points.astype(np.float64) ** 2).sum(axis=1)
        far = np.argsort(-(apart + lengths), kind="stable")[: len(empty)]
        centroids[empty] = points[far]
