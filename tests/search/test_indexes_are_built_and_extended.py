"""Every kind of index is built, found again, extended by new rows and dropped; what it does not cover is found too."""

from __future__ import annotations

import itertools

import lance
import numpy as np
import pyarrow as pa
import pytest
from repeats import again, chosen

from counterbalance.engine.errors import RequestError
from counterbalance.engine.search import indexes
from counterbalance.engine.search.index_search import candidates
from counterbalance.engine.search.indexes import IndexSpec, build, coverage, drop, exists, extend
from counterbalance.engine.search.recall import recall
from counterbalance.engine.search.scan import exact

D, FLOAT = 32, pa.float32()
CENTRES = np.random.default_rng(0).normal(size=(40, D))
SCALAR = [("btree", "id"), ("bitmap", "g"), ("label_list", "tags"), ("fts", "text")]
VECTOR = ["ivf_rq", "ivf_flat", "ivf_sq", "ivf_pq", "ivf_hnsw_sq"]


def rows(start, count, kind=FLOAT, *, nulls=False):
    rng = np.random.default_rng(start + 1)
    vectors = CENTRES[rng.integers(0, len(CENTRES), count)] + 0.4 * rng.normal(size=(count, D))
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.astype(kind.to_pandas_dtype()).ravel(), kind), D)
    if nulls:
        values = column.to_pylist()
        values[::5] = [None] * len(values[::5])
        values[1::5] = [[float("nan")] * D] * len(values[1::5])
        column = pa.array(values, pa.list_(kind, D))
    numbers = range(start, start + count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "g": pa.array([i % 7 for i in numbers], pa.int64()),
            "tags": pa.array([[f"t{i % 9}", f"u{i % 4}"] for i in numbers], pa.list_(pa.string())),
            "text": pa.array([f"a rider number{i % 50} rode" for i in numbers], pa.string()),
            "embedding": column,
        }
    )


@pytest.fixture
def write(tmp_path):
    uri = str(tmp_path / "t.lance")

    def write(table, mode="create"):
        return lance.write_dataset(table, uri, mode=mode, enable_stable_row_ids=True, data_storage_version="2.2")

    return write


def answer(dataset, kind):
    """What a search by this index gives, for values that all pieces of the table hold."""
    condition = {"btree": "id >= 990 AND id < 1010", "bitmap": "g = 3", "label_list": "array_has(tags, 't4')"}.get(kind)
    if condition is not None:
        found = dataset.scanner(columns=["id"], filter=condition)
        assert "ScalarIndexQuery" in found.explain_plan() or "MaterializeIndex" in found.explain_plan()
        return sorted(found.to_table()["id"].to_pylist())
    query = {"columns": ["text"], "query": "number7"}
    return sorted(dataset.scanner(columns=["id"], full_text_query=query, limit=5000).to_table()["id"].to_pylist())


def wanted(ids, kind):
    test = {
        "btree": lambda i: 990 <= i < 1010,
        "bitmap": lambda i: i % 7 == 3,
        "label_list": lambda i: i % 9 == 4,
        "fts": lambda i: i % 50 == 7,
    }[kind]
    return sorted(i for i in ids if test(i))


@pytest.mark.parametrize(("kind", "column"), SCALAR)
def test_scalar_kinds(write, kind, column):
    spec, ids = IndexSpec("it", kind, column), set(range(1000))
    dataset = write(rows(0, 1000))
    assert not exists(dataset, spec)
    built = build(dataset, spec)
    assert (built.kind, built.column, built.metric, built.indexed, built.unindexed) == (kind, column, None, 1000, 0)
    assert built.bytes > 0
    assert exists(dataset, spec)
    assert answer(dataset, kind) == wanted(ids, kind)
    assert extend(dataset, spec).mode == "no_op"

    dataset, ids = write(rows(1000, 60), "append"), ids | set(range(1000, 1060))
    assert coverage(dataset, "it").unindexed == 60
    assert answer(dataset, kind) == wanted(ids, kind)
    done = extend(dataset, spec)
    assert (done.mode, done.rows) == ("rebuild" if kind == "label_list" else "incremental", 60)
    assert coverage(dataset, "it").unindexed == 0
    assert answer(dataset, kind) == wanted(ids, kind)

    dataset.delete("id % 10 = 4")
    ids = {i for i in ids if i % 10 != 4}
    assert answer(dataset, kind) == wanted(ids, kind)
    dataset.optimize.compact_files()
    assert answer(dataset, kind) == wanted(ids, kind)
    dataset.merge_insert("id").when_matched_update_all().execute(rows(500, 3))
    dataset = lance.dataset(dataset.uri)
    assert coverage(dataset, "it").unindexed == extend(dataset, spec).rows == 3
    assert answer(dataset, kind) == wanted(ids, kind)
    assert coverage(dataset, "it").indexed == dataset.count_rows() == len(ids)
    assert drop(dataset, "it")
    assert not drop(dataset, "it")
    assert not exists(dataset, spec)


def found(dataset, name, query, k=10):
    table = candidates(dataset, coverage(dataset, name), "id", query, k, probes=50)
    return set(table["id"].to_pylist())


METRICS = [("ivf_rq", "cosine"), ("ivf_flat", "l2"), ("ivf_sq", "dot"), ("ivf_pq", "cosine"), ("ivf_hnsw_sq", "l2")]
"""Kinds with a metric, each at least once; any goes with any."""


@pytest.mark.parametrize(
    ("kind", "metric"),
    [*METRICS, *again(*(m for m in itertools.product(VECTOR, ("cosine", "l2", "dot")) if m not in METRICS))],
)
def test_vector_kinds(write, kind, metric):
    spec = IndexSpec("it", kind, "embedding", {"metric": metric, "num_partitions": 12})
    dataset = write(rows(0, 1500))
    built = build(dataset, spec, device="cpu")
    assert (built.kind, built.metric, built.indexed) == (kind, metric, 1500)
    assert exists(dataset, spec)
    measured = recall(dataset, spec, queries=30)
    best = max(r["recall"] for r in measured.to_pylist())
    assert best >= (0.9 if metric == "dot" or kind in {"ivf_pq", "ivf_rq"} else 0.98), measured.to_pylist()

    dataset = write(rows(1500, 80), "append")
    query = np.array(dataset.take([1540], columns=["embedding"])["embedding"][0].as_py(), np.float32)
    assert metric == "dot" or 1540 in found(dataset, "it", query)
    done = extend(dataset, spec, device="cpu")
    assert (done.mode, done.rows) == ("incremental", 80)
    assert metric == "dot" or 1540 in found(dataset, "it", query)
    assert extend(dataset, spec).mode == "no_op"
    dataset.delete("id = 1540")
    assert 1540 not in found(dataset, "it", query)
    dataset.optimize.compact_files()
    assert 1540 not in found(dataset, "it", query)
    assert len(found(dataset, "it", query)) == 10
    assert max(r["recall"] for r in recall(dataset, spec, queries=20).to_pylist()) >= 0.85


@pytest.mark.parametrize("kind", VECTOR)
def test_vectors_that_are_null_or_no_number_are_passed_over(write, kind):
    dataset = write(rows(0, 1200, nulls=True))
    spec = IndexSpec("it", kind, "embedding", {"metric": "l2"})
    assert build(dataset, spec, device="cpu").kind == kind
    query = np.array(dataset.take([13], columns=["embedding"])["embedding"][0].as_py(), np.float32)
    ids = found(dataset, "it", query, 30)
    assert 13 in ids
    assert all(i % 5 > 1 for i in ids)


@pytest.mark.parametrize("kind", chosen(VECTOR, "ivf_rq", "ivf_hnsw_sq"))
def test_half_floats(write, kind):
    dataset = write(rows(0, 600, pa.float16()))
    spec = IndexSpec("it", kind, "embedding")
    assert build(dataset, spec, device="cpu").indexed == 600
    assert max(r["recall"] for r in recall(dataset, spec, queries=20).to_pylist()) >= 0.85


COUNTS = [*((kind, 3) for kind in VECTOR), *(("ivf_rq", count) for count in (0, 1, 40))]


@pytest.mark.parametrize(
    ("kind", "count"),
    [*COUNTS, *again(*(c for c in itertools.product(VECTOR, (0, 1, 3, 40)) if c not in COUNTS))],
)
def test_few_rows_are_a_plain_list_until_the_table_grows(write, kind, count):
    spec = IndexSpec("it", kind, "embedding", {"num_partitions": 64})
    dataset = write(rows(0, count))
    built = build(dataset, spec, device="cpu")
    assert (built.kind, built.indexed) == ("ivf_flat", count)
    assert exists(dataset, spec)
    assert extend(dataset, spec).mode == "no_op"
    if count:
        query = np.array(dataset.take([0], columns=["embedding"])["embedding"][0].as_py(), np.float32)
        assert 0 in found(dataset, "it", query)
    dataset = write(rows(count, 700), "append")
    assert exists(dataset, spec)
    done = extend(dataset, spec, device="cpu")
    assert (done.mode, done.rows) == ("rebuild" if kind != "ivf_flat" else done.mode, 700)
    assert (coverage(dataset, "it").kind, coverage(dataset, "it").unindexed) == (kind, 0)


def test_more_partitions_than_different_vectors(write):
    table = rows(0, 600)
    same = pa.FixedSizeListArray.from_arrays(pa.array(np.tile(CENTRES[:3], (200, 1)).ravel().astype(np.float32)), D)
    dataset = write(table.set_column(4, "embedding", same))
    assert build(dataset, IndexSpec("it", "ivf_sq", "embedding", {"num_partitions": 300}), device="cpu").indexed == 600
    assert len(found(dataset, "it", CENTRES[1].astype(np.float32))) == 10


def test_many_small_pieces_become_one_again(write):
    spec = IndexSpec("it", "btree", "id")
    dataset = write(rows(0, 50))
    build(dataset, spec)
    counts = []
    for number in range(1, 12):
        dataset = write(rows(50 * number, 50), "append")
        extend(dataset, spec)
        counts.append(coverage(dataset, "it").segments)
    assert max(counts) <= indexes._SEGMENTS
    assert counts[0] == 2
    assert coverage(dataset, "it").indexed == 600


def test_an_index_that_was_made_otherwise_is_not_the_declared_one(write):
    dataset = write(rows(0, 600))
    spec = IndexSpec("it", "ivf_sq", "embedding", {"metric": "l2"})
    build(dataset, spec, device="cpu")
    others = [
        IndexSpec("other", "ivf_sq", "embedding", {"metric": "l2"}),
        IndexSpec("it", "ivf_sq", "embedding"),
        IndexSpec("it", "ivf_rq", "embedding", {"metric": "l2"}),
        IndexSpec("it", "btree", "id"),
    ]
    assert [exists(dataset, s) for s in (spec, *others)] == [True, False, False, False, False]
    assert build(dataset, others[3]).column == "id"
    assert [c.name for c in indexes.coverages(dataset)] == ["it"]
    words = IndexSpec("words", "fts", "text", {"stem": False})
    build(dataset, words)
    assert exists(dataset, words)
    assert not exists(dataset, IndexSpec("words", "fts", "text", {"stem": True}))


def test_building_again_gives_the_same_answers(write):
    dataset = write(rows(0, 2000))
    spec = IndexSpec("it", "ivf_rq", "embedding")
    answers = []
    for _ in range(2):
        build(dataset, spec, device="cpu")
        query = CENTRES[5].astype(np.float32)
        answers.append(candidates(dataset, coverage(dataset, "it"), "id", query, 10, probes=2)["id"].to_pylist())
    assert set(answers[0]) & set(answers[1])
    first, second = (
        recall(dataset, spec, queries=25, seed=4).drop_columns(["milliseconds", "exact_milliseconds"]) for _ in range(2)
    )
    assert first.equals(second)


def test_recall_says_what_was_measured(write):
    dataset = write(rows(0, 1500))
    spec = IndexSpec("it", "ivf_flat", "embedding", {"num_partitions": 30})
    build(dataset, spec, device="cpu")
    measured = recall(dataset, spec, k=5, queries=20, nprobes=[1, 30], refine=[1, 2]).to_pylist()
    assert [(r["refine"], r["nprobes"]) for r in measured] == [(1, 1), (1, 30), (2, 1), (2, 30)]
    assert all(r["k"] == 5 and r["queries"] == 20 and r["milliseconds"] > 0 for r in measured)
    assert [r["recall"] for r in measured if r["nprobes"] == 30] == [1.0, 1.0]


def test_an_index_that_is_not_there(write):
    dataset = write(rows(0, 300))
    build(dataset, IndexSpec("by_id", "btree", "id"))
    with pytest.raises(RequestError, match="did you mean 'by_id'") as caught:
        coverage(dataset, "byid")
    assert caught.value.code == "E3415"


def test_exact_search_reads_batches_of_any_size(write, monkeypatch):
    from counterbalance.engine.search import scan

    dataset = write(rows(0, 3000))
    queries = CENTRES[:4].astype(np.float32)
    whole = exact(dataset, "embedding", "id", queries, 12, "l2")
    monkeypatch.setattr(scan, "_BATCH_NUMBERS", 1)
    assert exact(dataset, "embedding", "id", queries, 12, "l2").equals(whole)
    assert whole["query"].to_pylist() == [q for q in range(4) for _ in range(12)]
