"""k-means takes Lloyd's steps: as a plain program does from the same start, and the same again from the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.search.devices import Cpu, Torch
from counterbalance.engine.search.kmeans import train


def torch_on_the_cpu():
    pytest.importorskip("torch")
    return Torch("cpu")


def clusters(seed, count=5, each=60, d=8):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(count, d)) * 20
    return (centres[np.repeat(np.arange(count), each)] + rng.normal(size=(count * each, d))).astype(np.float32)


def lloyd(points, start, steps):
    """As a textbook has it, in float64; no cluster may run empty."""
    points, centroids = points.astype(np.float64), start.astype(np.float64)
    labels = None
    for _ in range(steps):
        apart = ((points[:, None, :] - centroids[None]) ** 2).sum(2)
        found = apart.argmin(1)
        if labels is not None and (found == labels).all():
            break
        labels = found
        centroids = np.array([points[labels == c].mean(0) for c in range(len(centroids))])
    return centroids


@pytest.mark.parametrize("make", [Cpu, torch_on_the_cpu])
@pytest.mark.parametrize("steps", [1, 2, 20])
def test_as_a_plain_program(make, steps):
    points = clusters(0)
    start = points[::60][:5]
    on = make()
    on.query_rows = on.item_rows = 37
    got = train(points, 5, start=start, steps=steps, device=on)
    assert got == pytest.approx(lloyd(points, start, steps), abs=1e-4)


def test_the_same_seed_gives_the_same_centroids_and_another_seed_others():
    points = np.random.default_rng(1).normal(size=(500, 6)).astype(np.float32)
    first, again, other = (train(points, 9, seed=s, device="cpu") for s in (3, 3, 4))
    assert first.tobytes() == again.tobytes()
    assert (first != other).any()


def test_clusters_that_lie_apart_are_found():
    points = clusters(2, count=4, each=50)
    got = train(points, 4, seed=0, steps=50, start=points[[0, 50, 100, 150]], device="cpu")
    means = points.reshape(4, 50, -1).mean(1)
    assert got == pytest.approx(means, abs=1e-3)


def test_an_empty_cluster_takes_the_point_that_is_farthest_away():
    points = np.array([[0, 0], [0, 1], [1, 0], [50, 50]], np.float32)
    start = np.array([[0, 0], [-100, -100]], np.float32)
    got = train(points, 2, start=start, device="cpu")
    assert sorted(got.tolist()) == [[pytest.approx(1 / 3), pytest.approx(1 / 3)], [50.0, 50.0]]


def test_spherical_centroids_have_length_one():
    points = clusters(3) * np.random.default_rng(0).uniform(0.1, 9, (300, 1)).astype(np.float32)
    got = train(points, 5, spherical=True, device="cpu")
    assert np.linalg.norm(got, axis=1) == pytest.approx(np.ones(5), abs=1e-6)


def test_equal_points_do_no_harm():
    got = train(np.ones((40, 3), np.float32), 4, device="cpu")
    assert got.tolist() == [[1.0, 1.0, 1.0]] * 4


@given(seed=st.integers(0, 999), count=st.integers(1, 8), spherical=st.booleans())
def test_more_steps_are_never_worse(seed, count, spherical):
    points = np.random.default_rng(seed).normal(size=(120, 4)).astype(np.float32)
    if spherical:
        points /= np.linalg.norm(points, axis=1, keepdims=True)

    def cost(centroids):
        return float(((points[:, None, :] - centroids[None]) ** 2).sum(2).min(1).sum())

    start = points[:count]
    costs = [cost(train(points, count, start=start, steps=s, spherical=spherical, device="cpu")) for s in (1, 3, 12)]
    assert costs[1] <= costs[0] * (1 + 1e-5)
    assert costs[2] <= costs[1] * (1 + 1e-5)
