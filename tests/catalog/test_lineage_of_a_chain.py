"""Lineage of a chain table -> column -> view -> column -> index, up and down, column by column."""

from __future__ import annotations

import pytest
from declaring import declare

import counterbalance as cb
from counterbalance.engine.catalog.lineage import SCHEMA, lineage
from counterbalance.engine.errors import NotFoundError

SELECT = "SELECT c.image_id, max(c.size) AS longest, count(*) AS n FROM captions AS c JOIN images AS i USING (image_id) WHERE i.width > 1 GROUP BY 1"


@pytest.fixture(scope="module")
def chained(tmp_path_factory, build):
    lake = cb.connect(tmp_path_factory.mktemp("lineage") / "test.lake")
    lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    for text in (
        "ALTER TABLE captions ADD COLUMN size AS (length(text))",
        f"CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS {SELECT}",
        "ALTER TABLE v ADD COLUMN twice AS (2 * longest)",
        "CREATE INDEX by_twice ON v (twice)",
        "CREATE MATERIALIZED VIEW g WITH (key = 'image_id') AS SELECT image_id, label FROM caption_gender",
    ):
        declare(lake, text)
    return lake


ASKED = {}


def rows_of(lake, name):
    """Rows of lineage, asked once: the lake is not changed here."""
    if (lake.uri, name) not in ASKED:
        ASKED[lake.uri, name] = lineage(lake.location, name)
    return ASKED[lake.uri, name]


def steps(lake, name, direction):
    rows = rows_of(lake, name)
    assert rows.schema == SCHEMA
    return [(r["depth"], r["name"], r["kind"]) for r in rows.to_pylist() if r["direction"] == direction]


def test_upstream_of_the_index(chained):
    assert steps(chained, "by_twice", "upstream") == [
        (1, "v.twice", "column"),
        (2, "v.longest", "column"),
        (3, "captions.size", "column"),
        (4, "captions.text", "column"),
    ]
    assert steps(chained, "by_twice", "downstream") == []


def test_downstream_of_the_first_column(chained):
    down = steps(chained, "captions.text", "downstream")
    assert down == [
        (1, "captions.size", "column"),
        (1, "g", "view"),
        (1, "g.label", "column"),
        (2, "v", "view"),
        (2, "v.longest", "column"),
        (3, "by_twice", "index"),
        (3, "v.twice", "column"),
    ]


def test_a_view_as_a_whole_reads_what_it_filters_by(chained):
    assert steps(chained, "v", "upstream") == [
        (1, "captions.image_id", "column"),
        (1, "captions.size", "column"),
        (1, "images.image_id", "column"),
        (1, "images.width", "column"),
        (2, "captions.text", "column"),
    ]
    assert steps(chained, "v", "downstream") == [(1, "by_twice", "index"), (1, "v.twice", "column")]


def test_a_column_of_a_view_is_made_of_the_columns_in_its_value(chained):
    assert steps(chained, "v.longest", "upstream") == [(1, "captions.size", "column"), (2, "captions.text", "column")]
    assert steps(chained, "v.n", "upstream") == []
    assert [n for _, n, _ in steps(chained, "g.label", "upstream")] == ["captions.text", "lists.gender_words.class"]


def test_a_table_as_a_whole(chained):
    names = [n for _, n, _ in steps(chained, "images", "downstream")]
    assert names == ["v", "by_twice", "v.twice"]
    assert steps(chained, "images", "upstream") == []


def test_how_is_the_sql_of_the_step(chained):
    how = {r["name"]: r["how"] for r in rows_of(chained, "by_twice").to_pylist()}
    assert how == {
        "v.twice": "btree (twice)",
        "v.longest": "2 * longest",
        "captions.size": "max(c.size)",
        "captions.text": "length(text)",
    }


def test_the_select_of_a_view_stands_once(chained):
    ups = [r["how"] for r in rows_of(chained, "v").to_pylist() if r["direction"] == "upstream"]
    assert ups == [SELECT, None, None, None, "length(text)"]
    down = {r["name"]: r["how"] for r in rows_of(chained, "captions.size").to_pylist()}
    assert down == {
        "captions.text": "length(text)",
        "v": SELECT,
        "v.longest": "max(c.size)",
        "v.twice": "2 * longest",
        "by_twice": "btree (twice)",
    }


def test_a_thing_without_relations_has_no_rows(chained):
    assert len(lineage(chained.location, "detections.score")) == 0


@pytest.mark.parametrize(
    ("name", "near"), [("captions.sise", "captions.size"), ("by_twyce", "by_twice"), ("captons", "captions")]
)
def test_unknown_name(chained, name, near):
    with pytest.raises(NotFoundError, match=f"did you mean '{near}'"):
        lineage(chained.location, name)


def test_letter_case_does_not_matter(chained):
    assert lineage(chained.location, "V.Twice") == lineage(chained.location, "v.twice")
