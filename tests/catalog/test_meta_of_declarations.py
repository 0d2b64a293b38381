"""What is declared can be asked in SQL: ``meta.views``, ``meta.indexes``, ``meta.lineage``, and generated columns."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def declared(lake):
    lake.add_column("captions", "shout", "upper(text)")
    lake.create_materialized_view(
        "per_image", "SELECT image_id, count(shout) AS n FROM captions GROUP BY image_id", "image_id", schedule="@daily"
    )
    lake.create_index("captions", "text", "btree", name="texts")
    return lake


def test_views(declared):
    (row,) = declared.sql("FROM meta.views").to_arrow().to_pylist()
    assert (row["name"], row["key"], row["schedule"]) == ("per_image", ["image_id"], "@daily")
    assert row["sql"].startswith("SELECT image_id")


def test_indexes(declared):
    (row,) = declared.sql("FROM meta.indexes").to_arrow().to_pylist()
    assert (row["name"], row["table_name"], row["sql"]) == ("texts", "captions", "text")
    assert json.loads(row["options"])["kind"] == "btree"


def test_lineage_is_who_reads_what(declared):
    found = declared.sql("SELECT target, kind, relation, column_name FROM meta.lineage ORDER BY ALL").fetchall()
    assert found == [
        ("captions.shout", "column", "captions", "text"),
        ("per_image", "view", "captions", "image_id"),
        ("per_image", "view", "captions", "shout"),
        ("texts", "index", "captions", "text"),
    ]


def columns(lake, table):
    query = "SELECT column_name, type, doc FROM meta.columns WHERE table_name = $t"
    return {name: (kind, doc) for name, kind, doc in lake.sql(query, t=table).fetchall()}


def test_generated_columns_have_their_expression(declared):
    assert columns(declared, "captions")["shout"][1] == "AS (upper(text))"
    assert "AS" not in columns(declared, "captions")["text"][1].split()
    declared.refresh()
    assert columns(declared, "captions")["shout"] == ("string", "AS (upper(text))")
    assert columns(declared, "per_image").keys() == {"image_id", "n"}


def test_a_column_is_listed_once(declared):
    declared.refresh()
    query = "SELECT table_name, column_name FROM meta.columns GROUP BY ALL HAVING count(*) > 1"
    assert declared.sql(query).fetchall() == []


def test_a_dropped_one_is_gone(declared):
    declared.drop_materialized_view("per_image")
    declared.drop_index("texts")
    declared.drop_column("captions", "shout")
    for name in ("views", "indexes", "lineage"):
        assert declared.sql(f"SELECT count(*) FROM meta.{name}").fetchall() == [(0,)]
    assert "shout" not in columns(declared, "captions")


def test_runs_tell_versions_before_and_after(declared):
    declared.refresh()
    query = (
        "SELECT versions_in, versions, fingerprint FROM meta.runs WHERE target = 'captions.shout' AND kind = 'refresh'"
    )
    ((before, after, fingerprint),) = declared.sql(query).fetchall()
    assert json.loads(before)["captions"] < json.loads(after)["captions"]
    assert len(fingerprint) == 16
