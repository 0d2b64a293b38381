"""hits_with_own: a query's own item has its place in the pool, as NumPy ranks it; edit_quality counts R@K by texts of edits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

EDITS, TEXTS, POOL = 30, 3, 80


def vectors(draw, count):
    made = draw.normal(size=(count, 5)).astype(np.float32)
    return made, pa.array(made.tolist(), pa.list_(pa.float32(), 5))


def distances(one, other, metric):
    one, other = one.astype(float), other.astype(float)
    if metric == "l2":
        return -np.sqrt(((one[:, None] - other[None]) ** 2).sum(-1))
    return (one @ other.T) / np.linalg.norm(one, axis=1)[:, None] / np.linalg.norm(other, axis=1)[None]


@pytest.mark.parametrize("metric", ["cosine", "l2"])
def test_recall_in_a_pool_of_others_and_the_own_picture(session, metric):
    draw = np.random.default_rng(4)
    edits, edit_vectors = vectors(draw, EDITS)
    pool, pool_vectors = vectors(draw, POOL)
    of = np.repeat(np.arange(EDITS), TEXTS)
    texts = (edits[of] + draw.normal(scale=1.2, size=(len(of), 5))).astype(np.float32)
    relations = {
        "asked": pa.table(
            {"query_id": np.arange(len(of)), "embedding": pa.array(texts.tolist(), pa.list_(pa.float32(), 5))}
        ),
        "pool": pa.table({"item_id": np.arange(1000, 1000 + POOL), "embedding": pool_vectors}),
        "own": pa.table({"query_id": np.arange(len(of)), "item_id": of, "embedding": edit_vectors.take(pa.array(of))}),
    }
    given = f"asked := asked, pool := pool, own := own, metric := '{metric}'"
    hits = session.sql(f"SELECT * FROM hits_with_own({given}) ORDER BY query_id, rank", **relations).to_arrow()

    in_pool = distances(texts, pool, metric)
    mine = distances(texts, edits, metric)[np.arange(len(of)), of]
    places = 1 + (in_pool > mine[:, None]).sum(1)
    assert set(places <= 1) == set(places <= 10) == {True, False}
    found = {
        q: r
        for q, i, r in zip(*(hits[c].to_pylist() for c in ("query_id", "item_id", "rank")), strict=True)
        if i < 1000
    }
    assert found == {q: int(p) for q, p in enumerate(places) if p <= 10}
    assert hits["rank"].to_pylist() == [*range(1, 11)] * len(of)
    np.testing.assert_allclose(
        hits["score"].to_numpy()[hits["item_id"].to_numpy() < 1000], mine[places <= 10], rtol=1e-6
    )

    rows = session.audit(
        "edit_quality",
        edits=pa.table({
            "edit_id": np.arange(EDITS), "image_id": np.arange(EDITS), "label": ["male", "female"] * (EDITS // 2), "template": ["a"] * EDITS,
            "accepted": [True] * EDITS, "predicted": ["male"] * EDITS, "background": [0] * EDITS,
        }),
        hits=hits,
        queries=pa.table({"query_id": np.arange(len(of)), "edit_id": of}),
        min_count=0,
    ).to_arrow().to_pylist()  # fmt: skip
    recall = {
        (r["k"], r["label"]): (r["count"], r["n"]) for r in rows if r["metric"] == "recall" and r["template"] == "all"
    }
    for k in (1, 5, 10):
        assert recall[k, "all"] == ((places <= k).sum(), EDITS * TEXTS)
        assert recall[k, "male"] == ((places <= k)[of % 2 == 0].sum(), EDITS * TEXTS // 2)


def test_an_item_of_the_pool_may_be_the_own_one(session):
    pool = pa.table({"item_id": [1, 2, 3], "embedding": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]})
    asked = pa.table({"query_id": [7, 8], "embedding": [[1.0, 0.1], [0.1, 1.0]]})
    own = pa.table({"query_id": [7], "item_id": [2], "embedding": [[0.0, 1.0]]})
    rows = session.sql(
        "SELECT query_id, item_id, rank FROM hits_with_own(asked, pool, own) ORDER BY ALL",
        asked=asked,
        pool=pool,
        own=own,
    ).fetchall()
    assert rows == [(7, 1, 1), (7, 2, 3), (7, 3, 2), (8, 1, 3), (8, 2, 1), (8, 3, 2)]
