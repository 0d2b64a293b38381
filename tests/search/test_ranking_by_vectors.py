"""top_k and knn over vectors give what every query against every item gives, ties broken by item id."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.errors import SqlError
from counterbalance.engine.search.devices import Cpu
from counterbalance.engine.search.hits import HITS
from counterbalance.engine.search.ranking import knn, top_k


def relation(name, ids, vectors, images=None, width=3):
    columns = {name: pa.array(ids, pa.int64())}
    if images is not None:
        columns["image_id"] = pa.array(images, pa.int64())
    flat = pa.array(np.asarray(vectors, np.float32).ravel(), pa.float32())
    return pa.table(columns | {"embedding": pa.FixedSizeListArray.from_arrays(flat, width)})


def similarity(a, b, metric):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if metric == "l2":
        return -float(np.sqrt(((a - b) ** 2).sum()))
    if metric == "cosine":
        norms = np.linalg.norm(a) * np.linalg.norm(b)
        return float(a @ b / norms) if norms else 0.0
    return float(a @ b)


def brute_force(queries, items, k, metric, excluded):
    rows = []
    for q, a in queries:
        scored = [(-similarity(a, b, metric), i) for i, b in items if not excluded(q, i)]
        rows += [(q, i, rank, -s) for rank, (s, i) in enumerate(sorted(scored)[:k], 1)]
    return rows


def as_rows(hits):
    return list(zip(*(c.to_pylist() for c in hits.columns), strict=True))


small = st.integers(-3, 3)
vectors = st.lists(small, min_size=3, max_size=3)
sides = st.dictionaries(st.integers(-5, 30), vectors, min_size=1, max_size=9)


@given(
    queries=sides,
    items=sides,
    k=st.integers(1, 12),
    metric=st.sampled_from(["dot", "l2"]),
    block=st.sampled_from([1, 7, 10**4]),
)
def test_exact_on_whole_numbers(queries, items, k, metric, block):
    """Scores of small whole numbers are exact, so that even ties must be the same."""
    queries, items = sorted(queries.items()), sorted(items.items())
    images = {i: i % 4 for i in range(-5, 31)}
    a = relation("query_id", [q for q, _ in queries], [v for _, v in queries], [images[q] for q, _ in queries])
    b = relation("item_id", [i for i, _ in items], [v for _, v in items], [images[i] for i, _ in items])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cpu, "query_rows", block)
        patch.setattr(Cpu, "item_rows", block)
        for exclude in (True, False):
            expected = brute_force(queries, items, k, metric, lambda q, i: exclude and images[q] == images[i])  # noqa: B023
            got = top_k(a, b, "vector", [k], metric=metric, exclude_own=exclude)
            assert got.schema == HITS
            assert [r[:3] for r in as_rows(got)] == [r[:3] for r in expected]
            assert [r[3] for r in as_rows(got)] == pytest.approx([r[3] for r in expected], abs=1e-6)
            expected = brute_force(queries, items, k, metric, lambda q, i: exclude and q == i)  # noqa: B023
            got = knn(a, b, k=k, metric=metric, exclude_self=exclude)
            assert [r[:3] for r in as_rows(got)] == [r[:3] for r in expected]


@given(
    queries=sides,
    items=sides,
    k=st.integers(1, 6),
    metric=st.sampled_from(["cosine", "l2", "dot"]),
    scale=st.sampled_from([1e-3, 1.0, 0.1, 1e4]),
)
def test_the_best_are_never_missed(queries, items, k, metric, scale):
    """Up to rounding: the k-th is no worse than anything left out, and equal scores come by item id."""
    queries, items = sorted(queries.items()), sorted(items.items())
    a = relation("query_id", [q for q, _ in queries], np.array([v for _, v in queries]) * scale)
    b = relation("item_id", [i for i, _ in items], np.array([v for _, v in items]) * scale)
    hits = as_rows(top_k(a, b, "vector", [k], metric=metric))
    unit = {"cosine": 1.0, "l2": scale, "dot": scale**2}[metric]
    for query, vector in queries:
        mine = [h for h in hits if h[0] == query]
        assert [h[2] for h in mine] == list(range(1, min(k, len(items)) + 1))
        true = {i: similarity(np.array(vector) * scale, np.array(v) * scale, metric) for i, v in items}
        scores = [h[3] for h in mine]
        tolerance = unit * (5e-3 if metric == "l2" else 1e-5)
        assert scores == sorted(scores, reverse=True)
        assert scores == pytest.approx([true[h[1]] for h in mine], abs=tolerance)
        left = [s for i, s in true.items() if i not in {h[1] for h in mine}]
        assert not left or max(left) <= scores[-1] + tolerance
        tied = [(a[1], b[1]) for a, b in itertools.pairwise(mine) if a[3] == b[3]]
        assert all(first < second for first, second in tied)


def test_many_images_of_one_query_are_all_left_out():
    a = relation("query_id", [1], [[1, 0, 0]], images=[7])
    b = relation("item_id", range(10), [[1, 0, 0]] * 10, images=[7] * 9 + [8])
    assert as_rows(top_k(a, b, "vector", [5])) == [(1, 9, 1, 1.0)]


def test_an_unknown_image_is_nobodys_own():
    a = relation("query_id", [1, 2], [[1, 0, 0]] * 2, images=[None, 7])
    b = relation("item_id", [1, 2], [[1, 0, 0]] * 2, images=[None, 7])
    assert [r[:2] for r in as_rows(top_k(a, b, "vector", [5]))] == [(1, 1), (1, 2), (2, 1)]


def test_among_ranks_some_items():
    a = relation("query_id", [1], [[1, 0, 0]])
    b = relation("item_id", [1, 2, 2**60 + 1, 2**60 + 2], [[1, 0, 0]] * 4, images=[10, 20, 30, 40])
    by_item = pa.table({"item_id": pa.array([2**60 + 2, 1, None, 99], pa.int64())})
    assert [r[1] for r in as_rows(top_k(a, b, "vector", [5], among=by_item))] == [1, 2**60 + 2]
    by_image = pa.table({"image_id": pa.array([20, 30], pa.int64())})
    assert [r[1] for r in as_rows(top_k(a, b, "vector", [5], among=by_image))] == [2, 2**60 + 1]


def test_several_cut_offs_are_the_largest():
    a = relation("query_id", [1], [[1, 0, 0]])
    b = relation("item_id", range(9), [[1, 0, 0]] * 9)
    assert top_k(a, b, "vector", [2, 5, 3]).num_rows == 5


def test_vectors_that_are_no_number_are_never_near():
    a = relation("query_id", [1], [[1, 0, 0]])
    b = relation("item_id", [1, 2, 3, 4], [[np.nan, 0, 0], [1, 0, 0], [0, 1, 0], [np.inf, 0, 0]])
    assert [r[1] for r in as_rows(top_k(a, b, "vector", [3]))] == [2, 3]


def test_rows_without_an_id_are_left_out():
    a = relation("query_id", [1, None], [[1, 0, 0]] * 2)
    b = relation("item_id", [None, 4], [[1, 0, 0]] * 2)
    assert [r[:2] for r in as_rows(knn(a, b))] == [(1, 4)]


@pytest.mark.parametrize("side", [0, 1])
def test_an_empty_side_gives_nothing(side):
    full, empty = relation("query_id", [1], [[1, 0, 0]]), relation("query_id", [], np.zeros((0, 3)))
    pair = (full, empty) if side else (empty, full)
    assert top_k(*pair, "vector", [3]).num_rows == knn(*pair).num_rows == 0


def test_lists_of_floats_are_vectors_too():
    rows = pa.table({"id": [1, 2], "embedding": pa.array([[1.0, 0.0], [0.0, 1.0]], pa.list_(pa.float64()))})
    assert [r[:2] for r in as_rows(knn(rows, rows, k=1))] == [(1, 2), (2, 1)]


@pytest.mark.parametrize(
    ("queries", "items", "code"),
    [
        (relation("query_id", [1], [[1, 0]], width=2), relation("item_id", [1], [[1, 0, 0]]), "E3126"),
        (pa.table({"id": [1], "embedding": ["x"]}), relation("item_id", [1], [[1, 0, 0]]), "E3127"),
        (pa.table({"id": [1], "embedding": [[1.0] ]}), pa.table({"id": [1, 2], "embedding": [[1.0], [1.0, 2.0]]}), "E3126"),
        (pa.table({"id": [1], "embedding": pa.array([None], pa.list_(pa.float32()))}), relation("item_id", [1], [[1, 0, 0]]), "E3125"),
        (relation("query_id", [1, 1], [[1, 0, 0]] * 2), relation("item_id", [1], [[1, 0, 0]]), "E3124"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared(queries, items, code):
    with pytest.raises(SqlError) as caught:
        top_k(queries, items, "vector", [3])
    assert caught.value.code == code


@pytest.mark.parametrize("k", [0, -1])
def test_k_is_at_least_one(k):
    rows = relation("query_id", [1], [[1, 0, 0]])
    for call in (lambda: knn(rows, rows, k=k), lambda: top_k(rows, rows, "vector", [k])):
        with pytest.raises(SqlError, match="at least 1"):
            call()


def test_in_a_query(lake):
    """The functions stand in FROM, take relations of any kind, and their answers join like tables."""
    query = (
        "WITH boxes AS (SELECT detection_id, image_id, [x, y]::FLOAT[2] AS embedding FROM detections) "
        "SELECT h.query_id, h.item_id, h.rank, d.category FROM knn(boxes, boxes, k := 2) AS h "
        "JOIN detections AS d ON d.detection_id = h.item_id WHERE h.rank = 1 ORDER BY 1"
    )
    assert lake.sql(query).fetchall() == [
        (21, 24, 1, "person"),
        (22, 23, 1, "person"),
        (23, 24, 1, "person"),
        (24, 21, 1, "person"),
    ]
    text = "SELECT count(*) FROM top_k((SELECT detection_id, [x, y] AS embedding FROM detections), 'detections', 'random', [3])"
    assert lake.sql(text).fetchall() == [(12,)]
