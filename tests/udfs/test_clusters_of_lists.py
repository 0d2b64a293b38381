"""kmeans, principal_axes, tsne and lda give what scikit-learn gives for the same lists, in an order that rows do not decide."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.spatial import KDTree

from counterbalance.engine.errors import RequestError
from counterbalance.udfs.clusters import kmeans, lda, principal_axes, tsne

WORDS = "surf board wave beach pan oven stove sink horse saddle".split()  # noqa: SIM905


def blobs(count=400, groups=6, width=8, seed=5):
    """Points around centres that are near enough to make starts differ, and whose each is."""
    draw = np.random.default_rng(seed)
    own = np.sort(draw.integers(0, groups, count))
    points = draw.normal(size=(groups, width))[own] * 1.5 + draw.normal(size=(count, width))
    return points.astype(np.float32), own


def texts(count=60):
    draw = np.random.default_rng(1)
    halves = [draw.choice(WORDS[:4] if i % 2 else WORDS[4:8], 4) for i in range(count)]
    return [f"The {' '.join(h)}, {draw.choice(WORDS[8:])}!" for h in halves]


def test_kmeans_is_the_best_of_lloyds_runs_from_the_same_starts():
    from sklearn.cluster import KMeans, kmeans_plusplus

    points, _ = blobs()
    found = np.array(kmeans(pa.array([points.tolist()]), 5, seed=3, starts=6, device="cpu").to_pylist()[0])
    draw = np.random.RandomState(3)
    runs = [
        KMeans(5, init=kmeans_plusplus(points, 5, random_state=draw)[0], n_init=1, tol=0, max_iter=300).fit(points)
        for _ in range(6)
    ]
    assert len({round(r.inertia_, 2) for r in runs}) > 1, "some starts are worse than others"
    best = min(runs, key=lambda r: r.inertia_)
    order = np.argsort(-np.bincount(best.labels_), kind="stable")
    np.testing.assert_allclose(found, best.cluster_centers_[order], atol=1e-4)


def test_kmeans_is_the_same_again_and_the_seed_matters():
    points, _ = blobs()
    given = pa.array([points.tolist()])
    first, again, other = (kmeans(given, 9, seed=s, starts=1, device="cpu").to_pylist() for s in (0, 0, 1))
    assert first == again != other


def test_the_largest_cluster_comes_first():
    rows = [[0.0, float(i % 2)] for i in range(4)] + [[50.0, 1.0]] * 9 + [[99.0, 0.0]] * 6
    assert kmeans(pa.array([rows, None]), 3, device="cpu").to_pylist() == [[[50.0, 1.0], [99.0, 0.0], [0.0, 0.5]], None]


def test_the_order_of_rows_does_not_matter(lake):
    points, _ = blobs(60, width=3)
    rows = [f"({i}, {p.tolist()})" for i, p in enumerate(points)]
    found = [
        lake.sql(
            "SELECT kmeans(list(v ORDER BY id), 4, 0, 2, 'cpu') AS c, tsne(list(v ORDER BY id)) AS p "
            f"FROM (VALUES {', '.join(given)}) AS t(id, v)"
        ).fetchall()
        for given in (rows, rows[::-1])
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("vectors", "k", "code", "told"),
    [
        ([[0.0], [0.0], [1.0]], 3, "E3051", "3 clusters of 2 different vectors"),
        ([], 1, "E3051", "1 clusters of 0"),
        ([[0.0]], 0, "E3051", "'k' of kmeans"),
        ([[0.0], [1.0, 2.0]], 1, "E3700", "different lengths: 1 and 2"),
        ([[0.0], None], 1, "E3700", "different lengths"),
        ([[0.0], [float("nan")]], 1, "E3702", "NaN"),
        ([[0.0], [None]], 1, "E3702", "NULL"),
    ],
)
def test_what_kmeans_cannot_do(vectors, k, code, told):
    with pytest.raises(RequestError, match=told) as caught:
        kmeans(pa.array([vectors], pa.list_(pa.list_(pa.float32()))), k)
    assert caught.value.code == code


def test_tsne_is_scikit_learns_and_keeps_neighbours():
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    points, own = blobs(90, groups=3)
    found = [(p["x"], p["y"]) for p in tsne(pa.array([points.tolist()]), perplexity=10.0, seed=4).to_pylist()[0]]
    with threadpool_limits(1):
        peer = TSNE(perplexity=10.0, init="pca", random_state=4).fit_transform(points)
    np.testing.assert_array_equal(np.array(found, np.float32), peer)
    _, near = KDTree(found).query(found, 2)
    assert (own[near[:, 1]] == own).mean() > 0.85


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_map_of_few_or_of_equal_vectors(count):
    for rows in ([[1.0, 2.0]] * count, [[float(i)] for i in range(count)]):
        found = tsne(pa.array([rows], pa.list_(pa.list_(pa.float32())))).to_pylist()[0]
        assert len(found) == count
        assert all(np.isfinite((p["x"], p["y"])).all() for p in found)


def test_lda_is_scikit_learns():
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer

    given = texts()
    found = lda(pa.array([given]), pa.array([["the"]]), topics=2, top=4, seed=7).to_pylist()[0]
    counter = CountVectorizer(stop_words=["the"])
    counter.fit(given)
    names = counter.get_feature_names_out()
    ordered = sorted(given, key=lambda t: sorted((w, t.split().count(w)) for w in {*counter.build_analyzer()(t)}))
    matrix = counter.transform(ordered)
    model = LatentDirichletAllocation(2, random_state=7)
    shares = model.fit_transform(matrix).mean(axis=0)
    wanted = sorted(zip(shares, model.components_, strict=True), key=lambda p: -p[0])
    assert [f["share"] for f in found] == pytest.approx([s for s, _ in wanted], rel=1e-3)
    assert [{*f["words"]} for f in found] == [{*names[np.argsort(-c)[:4]]} for _, c in wanted]
    assert {frozenset(f["words"]) for f in found} == {frozenset(WORDS[:4]), frozenset(WORDS[4:8])}


def test_the_order_of_texts_does_not_matter_to_lda():
    given = texts()
    first, turned = (lda(pa.array([t]), pa.nulls(1), topics=3).to_pylist() for t in (given, given[::-1]))
    assert first == turned
    assert lda(pa.array([["a !", None], None]), pa.nulls(2)).to_pylist() == [[], None]


def test_axes_are_those_of_scikit_learn():
    from sklearn.decomposition import PCA

    points, _ = blobs()
    found = principal_axes(pa.array([points.tolist()]))[0].as_py()
    model = PCA(2, svd_solver="full").fit(points.astype(np.float64))
    for ours, theirs in zip((found["first"], found["second"]), model.components_, strict=True):
        assert max(ours, key=abs) > 0
        assert np.abs(np.abs(np.dot(ours, theirs)) - 1) < 1e-9
    assert found["share"] == pytest.approx(model.explained_variance_ratio_.sum())
    np.testing.assert_allclose(found["mean"], points.mean(axis=0, dtype=np.float64))


@pytest.mark.parametrize(
    ("vectors", "second"), [([[1.0], [3.0]], [0.0]), ([[1.0, 2.0]] * 3, [0.0, 0.0]), ([[5.0, 1.0]], [0.0, 0.0])]
)
def test_axes_along_which_nothing_differs_are_zeros(vectors, second):
    assert principal_axes(pa.array([vectors]))[0].as_py()["second"] == second


def test_no_axes_of_no_vectors():
    assert principal_axes(pa.array([[], None], pa.list_(pa.list_(pa.float32())))).to_pylist() == [None, None]
