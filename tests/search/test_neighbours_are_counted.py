"""knn_shares counts what knn finds: every neighbour by brute force, whatever the blocks, and as knn and SQL together."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.errors import SqlError
from counterbalance.engine.search.devices import Cpu
from counterbalance.engine.search.knn_labels import SHARES, knn_shares


def relation(name, ids, vectors, **more):
    flat = pa.array(np.asarray(vectors, np.float32).ravel(), pa.float32())
    width = len(vectors[0]) if len(vectors) else 2
    return pa.table(
        {name: pa.array(ids, pa.int64()), **more, "embedding": pa.FixedSizeListArray.from_arrays(flat, width)}
    )


def brute_force(queries, items, ks, own):
    """Rows by the definition: all distances of whole numbers, sorted with the id and the label."""
    rows = []
    for query, vector, key in sorted(queries, key=lambda q: q[0]):
        near = sorted(
            (sum((a - b) ** 2 for a, b in zip(vector, other, strict=True)), item, label is None, label or "")
            for item, other, other_key, label in items
            if not (own and key is not None and key == other_key)
        )
        for k in sorted(set(ks)):
            counted = Counter((missing, label) for _, _, missing, label in near[:k])
            total = sum(counted.values())
            rows += [(query, k, None if m else label, n, n / total) for (m, label), n in sorted(counted.items())]
    return rows


number = st.integers(-2, 2)
vector = st.tuples(number, number)
key = st.one_of(st.none(), st.integers(0, 2))


@given(
    queries=st.lists(st.tuples(vector, key), min_size=1, max_size=8),
    items=st.lists(st.tuples(vector, key, st.sampled_from(["a", "b", None])), min_size=1, max_size=30),
    ks=st.lists(st.integers(1, 12), min_size=1, max_size=3),
    own=st.booleans(),
    block=st.sampled_from([1, 7, 10**4]),
)
def test_exact_on_whole_numbers(queries, items, ks, own, block):
    asked = [(i, *q) for i, q in enumerate(queries)]
    held = [(-i, *q) for i, q in enumerate(items)]
    a = relation(
        "query_id", [q[0] for q in asked], [q[1] for q in asked], own=pa.array([q[2] for q in asked], pa.int64())
    )
    b = relation(
        "item_id",
        [i[0] for i in held],
        [i[1] for i in held],
        own=pa.array([i[2] for i in held], pa.int64()),
        label=pa.array([i[3] for i in held], pa.string()),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cpu, "query_rows", block)
        patch.setattr(Cpu, "item_rows", block)
        found = knn_shares(a, b, k=ks, own="own" if own else None)
    assert found.schema == SHARES
    got = list(zip(*(c.to_pylist() for c in found.columns), strict=True))
    assert got == brute_force(asked, held, ks, own)


@pytest.mark.parametrize("metric", ["cosine", "l2", "dot"])
def test_as_knn_and_sql_together(lake, metric):
    """Many vectors that are nearly equally near, so that products alone cannot tell the k-th from the next."""
    generator = np.random.default_rng(3)
    centre = generator.normal(size=16)
    vectors = (centre + 1e-4 * generator.normal(size=(3000, 16))).astype(np.float32)
    vectors[::7] = vectors[0]
    labels = pa.array(generator.choice(["x", "y", "z"], 3000))
    items = relation("item_id", np.arange(3000), vectors, label=labels)
    with lake.session() as session:
        i, q = (
            session.bind("i", items),
            session.bind("q", items.slice(0, 60).rename_columns(["id", "label", "embedding"])),
        )
        counted = session.sql(
            f"SELECT query_id, k, label, count, share FROM knn_shares({q}, {i}, k := [5, 700], metric := '{metric}') ORDER BY ALL"
        )
        grouped = session.sql(
            "SELECT query_id, CAST(c.k AS INTEGER), label, CAST(count(*) AS INTEGER), count(*) / c.k "
            f"FROM knn({q}, {i}, k := 700, metric := '{metric}', exclude_self := false) AS h "
            f"JOIN {i} USING (item_id) JOIN (SELECT unnest([5, 700]) AS k) AS c ON h.rank <= c.k "
            "GROUP BY query_id, c.k, label ORDER BY ALL"
        )
        assert counted.fetchall() == grouped.fetchall()


def test_equal_ids_are_told_apart_by_their_label():
    a = relation("query_id", [1], [[0, 0]])
    b = relation("item_id", [5, 5, 4], [[1, 0]] * 3, label=["n", "m", "z"])
    counted = [knn_shares(a, b, k=[k]).select(["label", "count"]).to_pylist() for k in (1, 2)]
    assert counted == [[{"label": "z", "count": 1}], [{"label": "m", "count": 1}, {"label": "z", "count": 1}]]


def test_what_is_near_nothing_has_no_row():
    a = relation("query_id", [1, 2, 3], [[np.nan, 0], [0, 0], [1, 1]], own=pa.array([0, 7, 0], pa.int64()))
    b = relation("item_id", [1], [[1, 0]], own=pa.array([7], pa.int64()), label=["x"])
    assert knn_shares(a, b, own="own").to_pylist() == [{"query_id": 3, "k": 50, "label": "x", "count": 1, "share": 1.0}]
    assert knn_shares(a.slice(0, 0), b).num_rows == knn_shares(a, b.slice(0, 0)).num_rows == 0


@pytest.mark.parametrize(
    ("more", "code"),
    [({"k": [0]}, "E3120"), ({"k": []}, "E3120"), ({"metric": "x"}, "E3130"), ({"label": "x"}, "E3123"), ({"own": "x"}, "E3123")],
)  # fmt: skip
def test_what_cannot_be_counted(more, code):
    rows = relation("id", [1], [[0, 0]], label=["x"])
    with pytest.raises(SqlError) as caught:
        knn_shares(rows, rows, **more)
    assert caught.value.code == code
