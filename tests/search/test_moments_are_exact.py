"""moments(): counts, means and mean outer products of directions by label, to the last bit the same in any order and cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.errors import SqlError
from counterbalance.engine.search.group_moments import _ROWS, _Sums, moments
from counterbalance.engine.search.vector_stream import Labels

ALONE = {"shared": [], "shared_sources": 0, "shared_others": 0}


def relation(ids, vectors, cut=1000):
    """A relation that is read in batches of so many rows."""
    kind = pa.list_(pa.float32(), vectors.shape[1])
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.astype(np.float32).reshape(-1)), type=kind)

    def rows(columns):
        for start in range(0, len(ids), cut):
            yield pa.record_batch([pa.array(ids[start : start + cut]), column.slice(start, cut)], names=columns)

    return rows


def groups(ids, labels):
    return pa.table({"image_id": pa.array(ids, pa.int64()), "label": pa.array(labels, pa.string())})


def naive(vectors):
    units = vectors.astype(np.float32).astype(np.float64)
    units = units / np.linalg.norm(units, axis=1, keepdims=True)
    return units.mean(axis=0), (units.T @ units / len(units)).ravel()


@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 4), st.sampled_from([1e-20, 1, 1e18]), st.integers(0, 999))
def test_few_vectors_are_summed_to_the_last_digits(rows, width, labels, scale, seed):
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(rows, width)) * scale
    codes = draw.integers(0, labels, rows)
    ids = draw.permutation(rows * 3)[:rows]
    found = moments(relation(ids, vectors, cut=7), groups(ids, [f"g{c}" for c in codes])).to_pylist()
    assert [r["label"] for r in found] == sorted({f"g{c}" for c in codes})
    for row in found:
        own = vectors[codes == int(row["label"][1:])]
        mean, products = naive(own)
        assert row["n"] == len(own)
        np.testing.assert_allclose(row["mean"], mean, atol=2e-12)
        np.testing.assert_allclose(row["products"], products, atol=2e-12)


def test_many_vectors_are_as_near_as_promised():
    draw = np.random.default_rng(3)
    vectors = draw.normal(size=(30_000, 16)) + 1
    ids = np.arange(30_000)
    labels = np.where(ids < 8_192, "at the limit", "many")
    found = {r["label"]: r for r in moments(relation(ids, vectors), groups(ids, labels)).to_pylist()}
    for label, closeness in (("at the limit", 1e-12), ("many", 2e-8)):
        mean, products = naive(vectors[labels == label])
        np.testing.assert_allclose(found[label]["mean"], mean, atol=closeness)
        np.testing.assert_allclose(found[label]["products"], products, atol=closeness)


def test_any_order_and_any_batches_give_the_same_bits():
    draw = np.random.default_rng(4)
    vectors, ids = draw.normal(size=(20_000, 5)), np.arange(20_000)
    given_groups = groups(ids, np.where(ids % 5 == 0, "few", "many"))
    first = moments(relation(ids, vectors), given_groups)
    shuffled = draw.permutation(20_000)
    again = moments(relation(ids[shuffled], vectors[shuffled], cut=16_111), given_groups.take(draw.permutation(20_000)))
    assert again.equals(first)


def test_vectors_of_one_source_are_their_mean_direction_in_any_order():
    draw = np.random.default_rng(7)
    vectors, ids = draw.normal(size=(3000, 5)) + 1, np.arange(3000)
    labels = np.where(ids % 3 == 0, "a", "b")
    made_of = pa.table({"image_id": ids[:2000], "source_id": [f"source {i % 500}" for i in ids[:2000]]})
    first = moments(relation(ids, vectors), groups(ids, labels), sources=made_of)
    units = vectors.astype(np.float32).astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    for row in first.to_pylist():
        own = labels[:2000] == row["label"]
        sums = [units[:2000][own & (ids[:2000] % 500 == source)].sum(axis=0) for source in range(500)]
        means = np.array([s for s in sums if s.any()] + list(units[2000:][labels[2000:] == row["label"]]))
        assert (row["n"], row["images"]) == (len(means), (labels == row["label"]).sum())
        mean, products = naive(means)
        np.testing.assert_allclose(row["mean"], mean, atol=1e-6)
        np.testing.assert_allclose(row["products"], products, atol=1e-6)
    shuffled = draw.permutation(3000)
    again = moments(relation(ids[shuffled], vectors[shuffled], cut=613), groups(ids, labels), sources=made_of[::-1])
    assert again.equals(first)
    none = moments(relation(ids, vectors), groups(ids, labels), sources=made_of[:0])
    assert none.equals(moments(relation(ids, vectors), groups(ids, labels)))


def variance_by_sources(units, labels, sources, label):
    """The variance of the mean of a label less that of the others, of units of sources, from residuals source by source."""
    own = labels == label
    n, others = own.sum(), (~own).sum()
    moved = np.where(
        own[:, None],
        (units - units[own].mean(axis=0)) / np.sqrt(n * (n - 1)),
        -(units - units[~own].mean(axis=0)) / np.sqrt(others * (others - 1)),
    )
    sums = np.array([moved[sources == source].sum(axis=0) for source in np.unique(sources)])
    return sums.T @ sums


@pytest.mark.parametrize("names", ["ab", "abc"])
def test_sources_with_several_labels_are_summed_up_as_residuals_say(names, monkeypatch):
    monkeypatch.setattr("counterbalance.engine.search.group_moments._ROWS", 64)  # so that there are several parts
    draw = np.random.default_rng(8)
    ids = np.arange(300)
    sources, labels = draw.integers(0, 90, 300), np.array(list(names))[draw.integers(0, len(names), 300)]
    _, first = np.unique([f"{s} {c}" for s, c in zip(sources, labels, strict=True)], return_index=True)
    ids, sources, labels = ids[first], sources[first], labels[first]  # one vector of each source and label
    vectors = draw.normal(size=(len(ids), 4)) + draw.normal(size=(90, 4))[sources]
    units = vectors.astype(np.float32).astype(float)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    made_of = pa.table({"image_id": ids, "source_id": sources})
    for row in moments(relation(ids, vectors), groups(ids, labels), sources=made_of).to_pylist():
        own = labels == row["label"]
        n, others = own.sum(), (~own).sum()
        parts = [np.cov(units[side].T) / side.sum() for side in (own, ~own)]
        found = np.reshape(row["shared"], (4, 4)) + sum(parts)
        np.testing.assert_allclose(found, variance_by_sources(units, labels, sources, row["label"]), atol=1e-9)
        with_own = np.isin(sources, sources[own])
        both = np.intersect1d(sources[own], sources[~own])
        assert (row["n"], row["shared_sources"], row["shared_others"]) == (n, len(both), (with_own & ~own).sum())
        assert others > 1


def test_only_labels_that_are_compared_share_sources():
    draw = np.random.default_rng(9)
    vectors, ids = draw.normal(size=(60, 3)), np.arange(60)
    labels = np.array(["a", "b", "c"])[ids % 3]
    made_of = pa.table({"image_id": ids, "source_id": ids // 3})
    found = moments(relation(ids, vectors), groups(ids, labels), sources=made_of, compared=["a", "b"]).to_pylist()
    two = ids % 3 < 2
    alone = moments(relation(ids[two], vectors[two]), groups(ids[two], labels[two]), sources=made_of).to_pylist()
    assert found[:2] == alone
    assert (found[2]["n"], found[2]["shared"], found[2]["shared_sources"]) == (20, [], 0)


def test_an_image_with_two_labels_is_no_source_of_both():
    """Else the degrees of freedom would tell how few have two labels."""
    draw = np.random.default_rng(10)
    ids = np.repeat(np.arange(30), 2)
    labels = groups([*range(30), *range(5)], ["a", "b"] * 15 + ["b", "a", "b", "a", "b"])
    made_of = pa.table({"image_id": np.arange(30), "source_id": np.arange(30)})
    found = moments(relation(ids, draw.normal(size=(60, 3))), labels, sources=made_of).to_pylist()
    assert [(row["n"], row["shared"], row["shared_sources"]) for row in found] == [(17, [], 0), (18, [], 0)]


@pytest.mark.parametrize("beside", [[4, 5], [0, 5]])
def test_a_source_of_which_one_image_has_vectors_is_not_shared(beside):
    """Image 0 has two labels, and images 4 and 5 no vectors."""
    labels = groups([0, 0, 1, 2, 3, 4, 5], ["a", "b", "a", "b", "a", "a", "b"])
    made_of = pa.table({"image_id": beside, "source_id": [7, 7]})
    vectors = np.random.default_rng(11).normal(size=(4, 3))
    found = moments(relation(np.arange(4), vectors), labels, sources=made_of).to_pylist()
    assert [(row["n"], row["shared"], row["shared_sources"]) for row in found] == [(3, [], 0), (2, [], 0)]


def test_sums_of_millions_are_carried_without_loss():
    rows = 1_060_000
    vectors = np.zeros((2 * rows, 2), np.float32)
    vectors[:rows, 0], vectors[rows:, 1] = 3, 4
    ids = np.arange(2 * rows)
    found = moments(relation(ids, vectors, cut=500_000), groups(ids, ["all"] * len(ids))).to_pylist()
    assert found == [
        {"label": "all", "n": 2 * rows, "mean": [0.5, 0.5], "products": [0.5, 0.0, 0.0, 0.5], "images": 2 * rows}
        | ALONE
    ]


def test_an_image_counts_for_each_of_its_labels_once_and_for_none_without():
    vectors = np.eye(4)
    given_groups = groups([1, 1, 1, 2, 3, None, 4, 9], ["a", "b", "a", "b", None, "a", "b", "a"])
    found = moments(relation(np.array([1, 2, 3, 4]), vectors), given_groups).to_pylist()
    assert [(r["label"], r["n"], r["mean"]) for r in found] == [
        ("a", 1, [1, 0, 0, 0]),
        ("b", 3, [pytest.approx(1 / 3), pytest.approx(1 / 3), 0, pytest.approx(1 / 3)]),
    ]


def test_rows_without_a_vector_are_left_out_and_vectors_of_one_image_all_count():
    column = pa.array([[3.0, 0.0], None, [0.0, 5.0], [1.0, 0.0]], pa.list_(pa.float64()))
    batch = pa.record_batch([pa.array([1, 1, 1, None]), column], names=["image_id", "embedding"])
    found = moments(lambda _: iter([batch]), groups([1], ["a"])).to_pylist()
    assert found == [{"label": "a", "n": 2, "mean": [0.5, 0.5], "products": [0.5, 0.0, 0.0, 0.5], "images": 1} | ALONE]


@pytest.mark.parametrize(("names", "most"), [(2, 9), (127, 9), (128, 10), (300, 10)])
def test_few_bytes_of_an_image_are_kept(names, most):
    ids = np.arange(3000)
    kept = Labels.of(groups(ids[::-1], [f"label {i % names:03}" for i in ids[::-1]]))
    assert kept.ids.nbytes + kept.codes.nbytes == most * len(ids)
    assert kept.codes.tolist() == [i % names for i in range(3000)]
    assert kept.at(np.array([names - 1, 9999]))[1].tolist() == [names - 1]


def test_nothing_gives_no_rows():
    assert moments(relation(np.array([1]), np.ones((1, 2))), groups([], [])).num_rows == 0
    assert moments(lambda _: iter([]), groups([1], ["a"])).num_rows == 0


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_what_has_no_direction_is_refused(bad):
    vectors = np.array([[1.0, 2.0], bad])
    with pytest.raises(SqlError, match="no direction") as error:
        moments(relation(np.array([1, 2]), vectors), groups([1, 2], ["a", "a"]))
    assert error.value.code == "E3180"
    with pytest.raises(
        SqlError, match="no direction"
    ):  # nobody asks for it: who has a label must not follow from an error
        moments(relation(np.array([1, 2]), vectors), groups([1], ["a"]))


def test_lengths_that_differ_are_refused():
    def rows(columns):
        for values in ([[1.0]], [[1.0, 2.0]]):
            yield pa.record_batch([pa.array([1]), pa.array(values, pa.list_(pa.float32()))], names=columns)

    with pytest.raises(SqlError, match="different lengths"):
        moments(rows, groups([1], ["a"]))


def test_in_sql_over_a_relation(lake):
    vectors = "(SELECT image_id, [image_id, 1] AS v FROM images WHERE image_id <> 2)"
    labels = "(SELECT image_id, CASE WHEN image_id < 4 THEN 'low' ELSE 'high' END AS label FROM images)"
    rows = lake.sql(f"SELECT label, n, mean, len(products) FROM moments({vectors}, {labels}, column := 'v')").fetchall()
    assert [r[:2] for r in rows] == [("high", 3), ("low", 2)]
    expected, _ = naive(np.array([[1, 1], [3, 1]]))
    assert rows[1][2] == pytest.approx(expected.tolist(), abs=1e-12)
    assert rows[1][3] == 4
    with pytest.raises(SqlError, match="nothing"):
        lake.sql(f"FROM moments({vectors}, {labels}, column := 'nothing')").fetchall()
    with pytest.raises(SqlError, match="no column 'label'"):
        lake.sql(f"FROM moments({vectors}, images, column := 'v')").fetchall()


def test_sums_of_billions_would_not_overflow():
    """2,000 full blocks of the unit vector, each 2^53 in units of 2^-40: together more than 2^63."""
    blocks = 2000
    sums = _Sums(1)
    sums._n = blocks * _ROWS + 1
    for _ in range(blocks):
        sums.take((np.array([_ROWS << 20]), np.array([[1 << 53]])))
    sums._waiting = [np.ones((1, 1), np.float32)]
    n, mean, products = sums.means()
    assert (n, mean.tolist(), products.tolist()) == (blocks * _ROWS + 1, [1.0], [1.0])
