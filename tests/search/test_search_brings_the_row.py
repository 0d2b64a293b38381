"""What a search finds are rows of its table: key, rank and score, and the other columns, read only when asked for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from counterbalance.engine.backends.duckdb.scan import visible_schema
from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.search.index_search import Stored, vector_search
from counterbalance.engine.search.indexes import IndexSpec, build
from counterbalance.engine.search.late_materialization import Found
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from counterbalance.engine.lake import Lake

WIDTH, ROWS = 8, 300
VECTORS = np.random.default_rng(3).normal(size=(ROWS, WIDTH)).astype(np.float32)
NEAR = "vector_search(pictures, 'look', (SELECT look FROM pictures WHERE picture_id = 250), k := 5)"


def _vectors(values: np.ndarray) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


@pytest.fixture
def pictures(disk_lake: Lake, build: object) -> Lake:
    """Keys descending, a column ``score`` of its own, bytes, and rows that were updated and deleted."""
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    rows = {
        "picture_id": pa.array(range(ROWS, 0, -1), pa.int64()),
        "words": [f"word{i % 7} all" for i in range(ROWS)],
        "look": _vectors(VECTORS),
        "Score": [i / 4 for i in range(ROWS)],
        "raw": pa.array([b"x"] * ROWS),
    }
    tables.append(disk_lake.location, "pictures", pa.table(rows))
    dataset = tables.open_table(disk_lake.location, "pictures")
    dataset.update({"words": "words || ' again'"}, where="picture_id % 3 = 1")
    dataset.delete("picture_id % 10 = 7")
    dataset.optimize.compact_files()
    return disk_lake


def _stored(lake: Lake) -> dict[int, tuple[str, list[float]]]:
    rows = tables.open_table(lake.location, "pictures").to_table(columns=["picture_id", "words", "look"]).to_pylist()
    return {r["picture_id"]: (r["words"], r["look"]) for r in rows}


def test_a_star_has_the_other_columns_behind_the_score(pictures: Lake) -> None:
    found = pictures.sql(f"SELECT * FROM {NEAR} ORDER BY rank").to_arrow()
    assert found.column_names == ["picture_id", "rank", "score", "words", "look"]
    assert found.schema.types[:3] == [pa.int64(), pa.int32(), pa.float64()]
    assert found["rank"].to_pylist() == [1, 2, 3, 4, 5]
    assert found["score"][0].as_py() == pytest.approx(1.0)  # the search's, not the table's own
    stored = _stored(pictures)
    for row in found.to_pylist():
        assert (row["words"], row["look"]) == stored[row["picture_id"]]


def test_other_columns_filter_and_sort(pictures: Lake) -> None:
    stored = _stored(pictures)
    text = (
        f"SELECT picture_id FROM {NEAR.replace('5)', '40)')} WHERE words LIKE '%again' ORDER BY words, picture_id DESC"
    )
    got = [key for (key,) in pictures.sql(text).fetchall()]
    every = [k for (k,) in pictures.sql(f"SELECT picture_id FROM {NEAR.replace('5)', '40)')}").fetchall()]
    again = [k for k in every if stored[k][0].endswith("again")]
    assert 0 < len(again) < 40
    assert got == sorted(sorted(again, reverse=True), key=lambda k: stored[k][0])


@pytest.mark.parametrize(
    "call",
    [
        "full_text_search(pictures, 'words', 'word3', k := 9)",
        "hybrid_search(pictures, 'look', 'words', (SELECT look FROM pictures WHERE picture_id = 250), 'word3', k := 9)",
    ],
)
def test_words_and_both(pictures: Lake, call: str) -> None:
    build(tables.open_table(pictures.location, "pictures"), IndexSpec("w", "fts", "words"), device="cpu")
    stored = _stored(pictures)
    got = pictures.sql(f"SELECT picture_id, words FROM {call}").fetchall()
    assert len(got) == 9
    assert all(words == stored[key][0] for key, words in got)


def test_what_is_not_asked_for_is_not_read(pictures: Lake) -> None:
    """The file of a column is taken away: only queries that ask for that column notice."""
    dataset = tables.open_table(pictures.location, "pictures")
    folder = Path(dataset.uri.removeprefix("file://")) / "data"
    before = set(folder.iterdir())
    dataset.add_columns({"note": "concat('note ', cast(picture_id as string))"})
    text = f"SELECT note FROM {NEAR} ORDER BY rank LIMIT 1"
    assert pictures.sql(text).fetchall() == [("note 250",)]
    (added,) = set(folder.iterdir()) - before
    added.unlink()
    for sparing in ("picture_id, score", "picture_id, score, words", "count(*)"):
        assert pictures.sql(f"SELECT {sparing} FROM {NEAR}").fetchall()
    with pytest.raises((CounterbalanceError, OSError)):
        pictures.sql(text).fetchall()


def test_the_plan_shows_which_columns_are_read(pictures: Lake) -> None:
    with pictures.session() as session:
        plan = session.explain(f"SELECT picture_id, score FROM {NEAR}")
        assert "words" not in plan
        assert "look" not in plan
        assert "words" in session.explain(f"SELECT words FROM {NEAR}")


def test_rows_of_a_key_of_two_columns(pictures: Lake) -> None:
    """The first column alone does not tell them apart; each hit has its own row."""
    tables.append(
        pictures.location,
        "edits",
        pa.table({"image_id": [1, 1, 2], "seed": [7, 8, 7], "look": _vectors(np.eye(3, 4, dtype=np.float32))}),
    )
    text = "SELECT image_id, seed, rank FROM vector_search(edits, 'look', [0.5, 1, 0.25, 0], k := 3) ORDER BY rank"
    assert pictures.sql(text).fetchall() == [(1, 8, 1), (1, 7, 2), (2, 7, 3)]


def test_nothing_found(pictures: Lake) -> None:
    call = NEAR.replace("5)", "5, where := 'picture_id < 0')")
    assert pictures.sql(f"SELECT * FROM {call}").fetchall() == []


def test_closed_columns_need_a_purpose(lake: Lake) -> None:
    lake.add_column("captions", "shade", "lower(text)", sensitive=True)
    lake.create_index("captions", "text", "fts")
    lake.refresh(executor="inline")
    found = "FROM full_text_search(captions, 'text', 'man')"
    assert "shade" not in lake.sql(f"SELECT * {found}").columns
    with pytest.raises(CounterbalanceError):
        lake.sql(f"SELECT shade {found}").fetchall()
    rows = lake.sql(f"SELECT shade, text {found}", sensitive="a test of columns").fetchall()
    assert rows
    assert all(shade == text.lower() for shade, text in rows)


def test_without_the_source_protocol_all_is_read_at_once(pictures: Lake) -> None:
    dataset = tables.open_table(pictures.location, "pictures")
    schema = visible_schema(dataset)
    table = Stored("pictures", schema, dataset, pictures.location, "pictures")
    hits = vector_search(table, "look", VECTORS[50].tolist(), 3)
    connection = duckdb.connect()
    Found(table, hits).register(SimpleNamespace(register=connection.register), "found")
    got = connection.sql("SELECT picture_id, words FROM found ORDER BY rank").fetchall()
    stored = _stored(pictures)
    assert got == [(key, stored[key][0]) for key in hits["picture_id"].to_pylist()]
    assert got[0][0] == 250
