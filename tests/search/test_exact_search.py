"""Exact search gives what sorting all float64 scores gives, whatever the blocks, the threads and the device."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.errors import RequestError
from counterbalance.engine.search.devices import Cpu, Torch, device
from counterbalance.engine.search.exact_knn import nearest

METRICS = ["cosine", "dot", "l2"]
SMALL = """
import sys
import numpy as np
from counterbalance.engine.search.exact_knn import nearest
print(nearest(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32), 1, metric="dot").columns, "torch" in sys.modules)
"""


def torch_on_the_cpu():
    pytest.importorskip("torch")
    return Torch("cpu")


DEVICES = [pytest.param(Cpu, id="numpy"), pytest.param(torch_on_the_cpu, id="torch")]


def true_scores(a, b, metric):
    """Every score by itself, in float64."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    scores = np.empty((len(a), len(b)))
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            if metric == "l2":
                scores[i, j] = -np.sqrt(np.vecdot(y - x, y - x))
            else:
                scores[i, j] = np.vecdot(y, x)
            if metric == "cosine":
                lengths = np.sqrt(np.vecdot(x, x) * np.vecdot(y, y))
                scores[i, j] = scores[i, j] / lengths if lengths else 0.0
    return scores


def by_sorting(a, b, k, metric, keys=None):
    scores = true_scores(a, b, metric)
    finite = np.isfinite(a).all(1)[:, None] & np.isfinite(b).all(1)[None, :]
    if keys is not None:
        finite &= keys[0][:, None] != keys[1][None, :]
    rows = []
    for i in range(len(a)):
        allowed = np.flatnonzero(finite[i])
        order = allowed[np.argsort(-scores[i, allowed], kind="stable")][:k]
        rows += [(i, int(j), rank, scores[i, j]) for rank, j in enumerate(order, 1)]
    return rows


def as_rows(found):
    return list(
        zip(found.rows.tolist(), found.columns.tolist(), found.ranks.tolist(), found.scores.tolist(), strict=True)
    )


def data(seed, m, n, d, *, ties=True):
    """Vectors with duplicates, a zero, NaN and infinity among them."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(m, d)).astype(np.float32), rng.normal(size=(n, d)).astype(np.float32)
    if ties:
        b[n // 2 :] = b[: n - n // 2]
        b[3], b[4, 0], b[5, 1], a[1] = 0, np.nan, np.inf, 0
        a[2, 0] = np.nan
    return a, b


def with_blocks(make, queries, items):
    made = make()
    made.query_rows, made.item_rows = queries, items
    return made


@pytest.mark.parametrize("make", DEVICES)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 7, 200])
def test_as_sorting_gives(make, metric, k):
    a, b = data(0, 20, 90, 24)
    with np.errstate(invalid="ignore"):
        expected = by_sorting(a, b, k, metric)
    for blocks in ((3, 8), (1, 1000), (512, 13), (512, 4096)):
        assert as_rows(nearest(a, b, k, metric=metric, device=with_blocks(make, *blocks))) == expected


@pytest.mark.parametrize("make", DEVICES)
@pytest.mark.parametrize("metric", METRICS)
def test_pairs_of_equal_keys_are_left_out(make, metric):
    a, b = data(1, 15, 80, 16)
    keys = (np.arange(15, dtype=np.int64) % 5, np.arange(80, dtype=np.int64) % 7)
    with np.errstate(invalid="ignore"):
        expected = by_sorting(a, b, 6, metric, keys)
    for blocks in ((4, 16), (512, 4096)):
        assert as_rows(nearest(a, b, 6, metric=metric, keys=keys, device=with_blocks(make, *blocks))) == expected


@pytest.mark.parametrize("metric", METRICS)
def test_the_answer_is_the_same_to_the_last_bit_for_any_blocks_threads_and_device(metric):
    a, b = data(2, 700, 9000, 64, ties=False)
    first = nearest(a, b, 10, metric=metric, device="cpu")
    makes = [lambda: with_blocks(Cpu, 100, 777), lambda: with_blocks(Cpu, 64, 64)]
    for make in makes:
        again = nearest(a, b, 10, metric=metric, device=make())
        for name in ("rows", "columns", "ranks", "scores"):
            assert getattr(first, name).tobytes() == getattr(again, name).tobytes()


@pytest.mark.parametrize("metric", METRICS)
def test_torch_gives_the_same_bits(metric):
    a, b = data(3, 100, 3000, 48, ties=False)
    first, second = (nearest(a, b, 10, metric=metric, device=on) for on in ("cpu", torch_on_the_cpu()))
    for name in ("rows", "columns", "ranks", "scores"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e15, 1e37])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_scores_too_near_for_float32_are_told_apart(metric, scale, offset):
    """Items differ in the last digits that float32 has; products of float32 alone would shuffle them."""
    rng = np.random.default_rng(4)
    centre = rng.normal(size=32) + offset
    b = (centre + rng.normal(size=(400, 32)) * 1e-5).astype(np.float32) * np.float32(scale / (offset + 10))
    a = b[:6] * np.float32(1)
    assert as_rows(nearest(a, b, 5, metric=metric, device=with_blocks(Cpu, 4, 64))) == by_sorting(a, b, 5, metric)


small = st.integers(-2, 2).map(float) | st.sampled_from([float("nan"), float("inf"), 0.5])
matrices = st.integers(1, 4).flatmap(
    lambda d: st.tuples(*(st.lists(st.lists(small, min_size=d, max_size=d), min_size=1, max_size=12) for _ in range(2)))
)


@given(sides=matrices, k=st.integers(1, 9), metric=st.sampled_from(METRICS), block=st.integers(1, 9))
def test_any_small_vectors(sides, k, metric, block):
    a, b = (np.array(side, np.float32) for side in sides)
    with np.errstate(invalid="ignore"):
        expected = by_sorting(a, b, k, metric)
    assert as_rows(nearest(a, b, k, metric=metric, device=with_blocks(Cpu, block, block))) == expected


def test_a_vector_that_stands_there_a_thousand_times_costs_no_more_than_others():
    """A placeholder picture is as near as its copies: only the first of them can be among the best."""
    rng = np.random.default_rng(5)
    b = rng.normal(size=(3000, 16)).astype(np.float32)
    b[500:] = b[499]
    found = nearest(b[499:500], b, 3, metric="cosine", device="cpu")
    assert found.columns.tolist() == [499, 500, 501]
    one = nearest(b[:500], b, 5, metric="l2", keys=(np.arange(500), np.arange(3000)), device="cpu")
    assert one.columns[one.rows == 499].tolist() == [500, 501, 502, 503, 504]


@pytest.mark.parametrize("make", DEVICES)
def test_queries_that_may_have_no_item_at_all(make):
    a = np.ones((9, 3), np.float32)
    keys = (np.array([5, 5, 5, 5, 5, 5, 5, 5, 6]), np.array([5, 5]))
    found = nearest(a, a[:2], 4, metric="dot", keys=keys, device=with_blocks(make, 3, 8))
    assert as_rows(found) == [(8, 0, 1, 3.0), (8, 1, 2, 3.0)]


def test_nothing_near_nothing():
    empty, one = np.empty((0, 3), np.float32), np.ones((1, 3), np.float32)
    for a, b in ((empty, one), (one, empty), (one * np.nan, one), (one, one * np.nan)):
        assert as_rows(nearest(a, b, 2, metric="l2", device="cpu")) == []


def test_devices():
    assert isinstance(device("cpu"), Cpu)
    assert isinstance(device("auto"), Cpu | Torch)


def test_small_products_do_not_wait_for_torch(tmp_path):
    done = subprocess.run([sys.executable, "-c", SMALL], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[0 1 2] False\n"


@pytest.mark.parametrize(("name", "code"), [("tpu", "E3461"), ("cuda:99", "E3462"), ("cuda:x", "E3462")])
def test_a_device_that_is_not_there(name, code):
    with pytest.raises(RequestError) as caught:
        device(name)
    assert caught.value.code == code
