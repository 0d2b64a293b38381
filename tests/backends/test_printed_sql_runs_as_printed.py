"""``--expand --dialect`` prints SQL that another engine runs as it stands, on a lake whose tables it knows."""

from __future__ import annotations

import re

import duckdb
import pytest
import sqlglot
from repeats import chosen

import counterbalance as cb
from counterbalance.engine.errors import RequestError

IMAGES = 60
CALLS = [
    "SELECT * FROM demographics(image_labels('scene'))",
    "SELECT * FROM cooccurrence(image_labels('scene'), word_concepts, min_count := 0)",
    "SELECT * FROM ratio(captions)",
    "SELECT label, count(*) AS n FROM image_labels('scene') GROUP BY label",
    "SELECT term, class FROM lists.crime_words",
    "SELECT wilson_low(width, 700) AS low, width / (width - 100) AS q FROM images",
]
OURS = "SELECT gender_label(text) AS g, count(*) AS n FROM captions GROUP BY 1"
"""Calls a function in Python, as ``ratio`` does, which Spark plans for long."""


@pytest.fixture(scope="module")
def printed(tmp_path_factory, build):
    lake = cb.connect(tmp_path_factory.mktemp("printed") / "a.lake")
    ids = list(range(1, IMAGES + 1))
    tables = {
        "images": build.images(image_id=ids, key=[f"k{i}" for i in ids], width=[100 + i for i in ids], height=ids),
        "captions": build.captions(
            caption_id=ids, image_id=ids, text=[f"a {'man' if i % 3 else 'girl'} runs" for i in ids]
        ),
        "labels": build.labels(
            label_id=[*ids, *(1000 + i for i in ids)],
            image_id=[*ids, *ids],
            attribute=["scene"] * IMAGES + ["perceived_gender"] * IMAGES,
            value=[*("in" if i % 2 else "out" for i in ids), *["closed-secret"] * IMAGES],
            annotator=["ann"] * (2 * IMAGES),
        ),
    }
    lake.ingest(tables)
    return lake


def told(rows):
    shown = [tuple(float(f"{v:.12g}") if isinstance(v, float) else str(v) for v in row.values()) for row in rows]
    return sorted(map(str, shown))


@pytest.mark.parametrize("query", [call for call in CALLS if "ratio(" not in call and "wilson" not in call])
def test_on_duckdb(printed, query):
    with printed.session() as session:
        text = session.expand(query, dialect="duckdb")
        wanted = session.sql(session.expand(query)).to_arrow().to_pylist()
        tables = {
            name: session.sql(f"FROM {name}").to_arrow() for name in ("images", "captions", "labels", "detections")
        }
    with duckdb.connect() as plain:
        for name, rows in tables.items():
            plain.register(name, rows)
        found = plain.sql(text).to_arrow_table().to_pylist()
    assert wanted
    assert told(found) == told(wanted)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("query", chosen([*CALLS, OURS], CALLS[0], *CALLS[3:], OURS))
def test_on_spark(spark, printed, query):
    from counterbalance.spark import register

    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    assert {"images", "captions", "labels", "gender_label"} <= set(register(own, printed))
    with printed.session() as session:
        text = session.expand(query, dialect="spark")
        wanted = session.sql(session.expand(query)).to_arrow().to_pylist()
    found = own.sql(text).toArrow().to_pylist()
    assert wanted
    assert told(found) == told(wanted)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_perceived_labels_are_not_registered(spark, printed):
    from counterbalance.spark import register

    own = spark.newSession()
    register(own, printed, names=[])
    assert "closed-secret" not in str(own.sql("SELECT * FROM labels").toArrow().to_pylist())


@pytest.mark.parametrize("query", [call for call in CALLS if "ratio(" not in call])
def test_trinos_reads_base_tables_alone(printed, query):
    with printed.session() as session:
        text = session.expand(query, dialect="trino")
    (tree,) = sqlglot.parse(text, dialect="trino")
    names = {t.name for t in tree.find_all(sqlglot.exp.Table)} - {cte.alias for cte in tree.find_all(sqlglot.exp.CTE)}
    assert names <= {"images", "captions", "labels", "detections"}
    assert not re.search(r"\blists\.", text)


def test_trino_has_no_functions_in_python(printed):
    with printed.session() as session, pytest.raises(RequestError, match="gender_label") as caught:
        session.expand("SELECT * FROM caption_gender", dialect="trino")
    assert caught.value.code == "E3476"
