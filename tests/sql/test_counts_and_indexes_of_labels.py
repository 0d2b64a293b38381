"""Filters and counts over coded columns give the same rows with an index on the strings, and by codes alone."""

from __future__ import annotations

import lance
import numpy as np
import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.backends.duckdb.pushdown import indexed_columns

WHERE = [
    "",
    "WHERE category = 'rare'",
    "WHERE category = 'common'",
    "WHERE category <> 'common'",
    "WHERE category IN ('rare', 'odd', 'nothing')",
    "WHERE category = 'rare' AND origin = 'human'",
    "WHERE category = 'rare' OR origin IS NULL",
    "WHERE NOT (category = 'common' OR category IS NULL)",
    "WHERE category IS NULL",
    "WHERE category = 'nothing'",
    "WHERE category LIKE 'r%' AND detection_id > 100",
    "WHERE detection_id BETWEEN 50 AND 700 AND category = 'odd'",
    "WHERE false",
]
QUERIES = [
    "SELECT count(*) FROM detections {w}",
    "SELECT count(*) AS n, count(*) + 0 AS m FROM detections AS d {w}",
    "SELECT count(*) AS a, count(*) AS b FROM detections d {w}",
    "SELECT sum(detection_id) AS s, min(category) AS c FROM detections {w}",
    "SELECT detection_id, category FROM detections {w} ORDER BY 1",
    "SELECT (SELECT count(*) FROM detections {w}) AS n FROM images LIMIT 1",
    "SELECT count(*) FROM (SELECT count(*) AS n FROM detections {w} UNION ALL SELECT 1)",
]


@pytest.fixture(scope="module")
def lakes(build, tmp_path_factory):
    """The same boxes in three lakes: no index, an index on one coded column, and on two."""
    draw = np.random.default_rng(2)
    count = 3_000
    kinds = draw.choice(["common", "rare", "odd", None], count, p=[0.9, 0.005, 0.045, 0.05]).tolist()
    origins = draw.choice(["human", "model", None], count).tolist()
    found = []
    for indexes in ((), ("category",), ("category", "origin")):
        lake = cb.connect(tmp_path_factory.mktemp("indexes") / "boxes.lake")
        lake.ingest({"images": build.images(image_id=[1])})
        rows = {"detection_id": range(count), "image_id": [1] * count, "category": kinds, "origin": origins}
        lake.ingest({"detections": build.detections(**rows)})
        for column in indexes:
            lake.sql(f"CREATE INDEX ON detections USING bitmap ({column})").to_arrow()
        lake.sql("REFRESH ALL").to_arrow()
        found.append(lake)
    return found


@pytest.mark.cases(4)
@pytest.mark.parametrize("query", QUERIES)
def test_same_rows(lakes, query):
    sessions = [lake.session() for lake in lakes]
    for where in WHERE:
        answers = [session.sql(query.format(w=where)).fetchall() for session in sessions]
        assert answers[1] == answers[0], where
        assert answers[2] == answers[0], where
    for session in sessions:
        session.close()


def test_counts_by_hand(lake):
    assert lake.sql("SELECT count(*) FROM captions").fetchall() == [(8,)]
    assert lake.sql("SELECT count(*) AS n FROM captions WHERE origin = 'human'").fetchall() == [(4,)]
    assert lake.sql("SELECT count(*) AS n FROM captions c WHERE c.text IS NULL").fetchall() == [(1,)]
    assert lake.sql("SELECT count(*) FROM captions").columns == ["count_star()"]
    assert lake.sql("SELECT count(*) FILTER (text IS NULL) AS n, count(*) AS m FROM captions").fetchall() == [(1, 8)]


def test_the_column_that_counts_is_no_column(lake):
    for query in ("SELECT rows__ FROM captions", "SELECT count(*) FROM captions WHERE rows__ = 0"):
        with pytest.raises(cb.CounterbalanceError):
            lake.sql(query).fetchall()
    assert "rows__" not in lake.sql("SELECT * FROM captions").columns


def test_a_count_reads_no_column(lakes):
    for lake in lakes:
        with lake.session() as session:
            plan = session.explain("SELECT count(*) FROM detections WHERE category = 'rare'")
            assert "detection_id" not in plan
            assert "rows__" in plan


def test_which_indexes_find_values(tmp_path):
    rows = pa.table({"a": ["x", "y"], "b": [1, 2], "c": [["x"], ["y"]], "d": ["x", "y"]})
    dataset = lance.write_dataset(rows, str(tmp_path / "t.lance"))
    for column, kind in (("a", "BITMAP"), ("b", "BTREE"), ("c", "LABEL_LIST")):
        dataset.create_scalar_index(column, kind)
    assert indexed_columns(lance.dataset(str(tmp_path / "t.lance"))) == {"a", "b"}
