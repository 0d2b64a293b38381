"""Searches say which argument is wrong; recall counts by distance, and of vector indexes alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from counterbalance.__main__ import main
from counterbalance.engine.errors import RequestError, SqlError
from counterbalance.engine.search.indexes import IndexSpec, build
from counterbalance.engine.search.recall import recall
from counterbalance.engine.store import tables

ROWS, WIDTH = 400, 8
PQ = {"metric": "l2", "num_partitions": 1, "num_sub_vectors": 1}
"""Rounds so much that the candidates of an index are not the nearest rows."""


@pytest.fixture
def searched(disk_lake):
    """400 rows of few different vectors, so that nearly all neighbours are at equal distances."""
    draw = np.random.default_rng(3)
    vectors = draw.integers(0, 3, (ROWS, WIDTH)).astype(np.float32) + np.float32(1)
    vectors[ROWS // 2 :] = vectors[: ROWS // 2]
    rows = pa.table(
        {
            "item_id": pa.array(range(ROWS), pa.int64()),
            "words": [f"word{i % 7} of {i}" for i in range(ROWS)],
            "feel": pa.FixedSizeListArray.from_arrays(
                pa.array(draw.normal(size=ROWS * WIDTH).astype(np.float32)), WIDTH
            ),
            "look": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), WIDTH),
        }
    )
    tables.append(disk_lake.location, "items", rows)
    dataset = tables.open_table(disk_lake.location, "items")
    build(dataset, IndexSpec("by_look", "ivf_flat", "look", {"metric": "l2", "num_partitions": 4}), device="cpu")
    build(dataset, IndexSpec("by_feel", "ivf_pq", "feel", PQ), device="cpu")
    build(tables.open_table(disk_lake.location, "items"), IndexSpec("by_words", "fts", "words", {}), device="cpu")
    return disk_lake


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("vector_search(items, 'look', NULL)", "'query' of vector_search() is NULL"),
        ("vector_search(items, NULL, [1, 2, 3, 4, 5, 6, 7, 8])", "'column' of vector_search() is NULL"),
        ("full_text_search(items, 'words', NULL)", "'query' of full_text_search() is NULL"),
        ("full_text_search(items, 'words', $none)", "'query' of full_text_search() is NULL"),
        ("vector_search(items, 'look', $none)", "'query' of vector_search() is NULL"),
        ("hybrid_search(items, 'look', 'words', [1, 2, 3, 4, 5, 6, 7, 8], NULL)", "'text' of hybrid_search() is NULL"),
        ("vector_search(items, 'look', [1, 1, 1, 1, 1, 1, 1, 1], nprobes := 0)", "nprobes must be at least 1, not 0"),
        ("vector_search(items, 'look', [1, 1, 1, 1, 1, 1, 1, 1], refine := 0)", "refine must be at least 1, not 0"),
        ("vector_search(items, 'look', [1, 1, 1, 1, 1, 1, 1, 1], refine := -2)", "refine must be at least 1, not -2"),
        ("vector_search(items, 'look', [1, 1, 1, 1, 1, 1, 1, 1], where := '')", "'where' is empty"),
        ("full_text_search(items, 'words', 'word1', where := '  ')", "'where' is empty"),
    ],
)
def test_the_argument_is_named(searched, call, said):
    with pytest.raises(SqlError) as caught:
        searched.sql(f"SELECT * FROM {call}", **({"none": None} if "$none" in call else {})).fetchall()
    assert said in caught.value.message


def test_null_of_an_optional_argument_is_as_left_out(searched):
    query = "SELECT * FROM vector_search(items, 'look', [1, 2, 3, 1, 2, 3, 1, 2]{})"
    assert (
        searched.sql(query.format(", nprobes := NULL, where := NULL")).fetchall()
        == searched.sql(query.format("")).fetchall()
    )


def test_of_rows_at_one_distance_any_will_do(searched):
    dataset = tables.open_table(searched.location, "items")
    for k in (1, 10, 50):
        measured = recall(dataset, IndexSpec("by_look", "ivf_flat", "look"), k=k, queries=60, nprobes=[4], refine=[1])
        assert measured["recall"].to_pylist() == [1.0]


def test_rows_that_are_farther_do_not_count(searched):
    dataset = tables.open_table(searched.location, "items")
    spec = IndexSpec("by_feel", "ivf_pq", "feel")
    few, every = recall(dataset, spec, k=10, queries=60, nprobes=[1], refine=[1, 40])["recall"].to_pylist()
    assert 0.1 < few < 0.9
    assert every == 1.0  # 40 * 11 candidates are all rows


def test_recall_of_what_is_no_vector_index(searched):
    dataset = tables.open_table(searched.location, "items")
    with pytest.raises(RequestError, match="'by_words' is not a vector index") as caught:
        recall(dataset, IndexSpec("by_words", "fts", "words"))
    assert caught.value.code == "E3467"


def test_recall_of_more_neighbours_than_there_are(searched):
    dataset = tables.open_table(searched.location, "items")
    with pytest.raises(RequestError, match="has 399 others, fewer than k = 400") as caught:
        recall(dataset, IndexSpec("by_look", "ivf_flat", "look"), k=400)
    assert caught.value.code == "E3468"


def test_the_command_says_so_too(disk_lake, build_captions, capsys):
    assert main(["index", disk_lake.uri, build_captions, "--recall"]) == 1
    assert "is not a vector index" in capsys.readouterr().err


@pytest.fixture
def build_captions(disk_lake, build):
    """A lake with a full-text index; gives the index's name."""
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    disk_lake.ingest({"captions": build.captions(caption_id=[1, 2], image_id=[1, 1], text=["a dog", "a cat"])})
    disk_lake.sql("CREATE INDEX said ON captions USING fts (text)").to_arrow()
    disk_lake.sql("REFRESH ALL").to_arrow()
    return "said"
