"""Perceived labels are as closed on Spark as on DuckDB: rows are refused, and small cells hidden before rows leave this process."""

from __future__ import annotations

import pytest
from spark_marks import ON_SPARK

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

pytestmark = ON_SPARK
RARE = "rare-secret"
COMMON = ("common-m", "common-f", "common-x")
IMAGES = 90
G = "image_labels('perceived_gender')"


@pytest.fixture(scope="module")
def both(tmp_path_factory, build):
    lake = cb.connect(tmp_path_factory.mktemp("spark") / "a.lake")
    ids = list(range(1, IMAGES + 1))
    given = [RARE if i <= 3 else COMMON[i % 3] for i in ids]
    tables = {
        "images": build.images(image_id=ids, key=[f"k{i}" for i in ids], width=[100] * IMAGES, height=[100] * IMAGES),
        "captions": build.captions(
            caption_id=ids, image_id=ids, text=[f"a man {'runs' if i % 2 else 'sits'}" for i in ids]
        ),
        "labels": build.labels(
            label_id=[*ids, *(1000 + i for i in ids)],
            image_id=[*ids, *ids],
            attribute=["perceived_gender"] * IMAGES + ["scene"] * IMAGES,
            value=[*given, *["out"] * IMAGES],
            annotator=["ann"] * (2 * IMAGES),
        ),
    }
    lake.ingest(tables)
    with lake.session() as duckdb, lake.session(engine="spark") as spark:
        yield lake, duckdb, spark


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "audit",
    [
        f"demographics({G})",
        f"cooccurrence({G}, word_concepts)",
        f"balance({G})",
        f"intersections({G}, image_labels('scene'))",
    ],
)
def test_small_cells_are_hidden(both, audit):
    _, duckdb, spark = both
    ours, theirs = (session.sql(f"SELECT * FROM {audit}").to_arrow() for session in (duckdb, spark))
    assert theirs.schema == ours.schema
    assert theirs.to_pylist() == ours.to_pylist()
    assert ours.num_rows
    assert not [row for row in theirs.to_pylist() if RARE in row.values() and 3 in row.values()]


@pytest.mark.cases(1)
@pytest.mark.parametrize("query", ["SELECT * FROM labels", "SELECT DISTINCT value FROM labels", "SUMMARIZE labels"])
def test_open_labels_alone_are_rows(both, query):
    _, duckdb, spark = both
    assert "secret" not in str(spark.sql(query).fetchall())
    assert sorted(map(str, spark.sql(query).fetchall())) == sorted(map(str, duckdb.sql(query).fetchall()))


@pytest.mark.parametrize("query", [f"SELECT * FROM {G}", f"SELECT image_id FROM {G} WHERE label = '{RARE}'"])
def test_rows_of_people_are_refused(both, query):
    _, _, spark = both
    with pytest.raises(SensitiveError):
        spark.sql(query).fetchall()


def test_a_purpose_is_logged(both):
    lake, _, _ = both
    with lake.session(sensitive="a test of the wall", engine="spark") as session:
        rows = session.sql("SELECT value, count(*) AS n FROM labels GROUP BY value ORDER BY value").fetchall()
        assert (RARE, 3) in rows
        logged = session.sql("SELECT purpose, sql FROM meta.access").fetchall()
    assert any("SELECT value" in query for _, query in logged)
