"""Dropping: refused with the list of what stands on it, or all of it with CASCADE; stored things go with their definition."""

from __future__ import annotations

import shutil

import pytest
from declaring import declare

import counterbalance as cb
from counterbalance.engine.catalog import definitions, snapshot
from counterbalance.engine.errors import NotFoundError, RefusedError, SqlError
from counterbalance.engine.store import tables


def dropped(lake, text):
    return {d.target for d in declare(lake, text)}


def state(lake):
    names = [*snapshot.known_tables(lake.location), "meta/definitions", "meta/runs"]
    return {n: tables.latest_version(lake.location, n) for n in names}, definitions.load(lake.location)


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory, build):
    """captions.size -> v -> v.twice -> w, with an index on v and one on captions; other things beside."""
    lake = cb.connect(tmp_path_factory.mktemp("drop") / "test.lake")
    lake.ingest(
        {
            "images": build.images(image_id=[1, 2], key=["a", "b"]),
            "captions": build.captions(caption_id=[11, 12, 13], image_id=[1, 1, 2], text=["one", "two", "three"]),
        }
    )
    for text in (
        "ALTER TABLE captions ADD COLUMN size AS (length(text))",
        "ALTER TABLE captions ADD COLUMN other AS (upper(text))",
        "CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS SELECT image_id, max(size) AS n FROM captions GROUP BY 1",
        "ALTER TABLE v ADD COLUMN twice AS (2 * n)",
        "CREATE MATERIALIZED VIEW w WITH (key = 'image_id') AS SELECT image_id, twice FROM v",
        "CREATE MATERIALIZED VIEW x WITH (key = 'caption_id') AS SELECT caption_id FROM captions",
        "CREATE INDEX by_twice ON v (twice)",
        "CREATE INDEX by_text ON captions (text)",
    ):
        declare(lake, text)
    for target in ("v.twice", "w", "x", "by_twice", "by_text", "captions.other"):
        lake.refresh(target, executor="inline")
    return lake


@pytest.fixture
def chained(refreshed, tmp_path):
    return cb.connect(shutil.copytree(refreshed.uri, tmp_path / "test.lake"))


@pytest.mark.parametrize(
    ("text", "readers"),
    [
        (
            "ALTER TABLE captions DROP COLUMN size",
            "captions.size is read by column v.twice, index by_twice, view v, view w",
        ),
        ("DROP MATERIALIZED VIEW v", "view v is read by column v.twice, index by_twice, view w"),
        ("ALTER TABLE v DROP COLUMN twice", "v.twice is read by index by_twice, view w"),
    ],
)
def test_refused_with_the_list(refreshed, text, readers):
    before = state(refreshed)
    with pytest.raises(RefusedError) as caught:
        declare(refreshed, text)
    assert caught.value.message == readers
    assert "CASCADE" in caught.value.hint
    assert state(refreshed) == before


def test_cascade_drops_all_that_stands_on_it_and_nothing_else(chained):
    everything = {"captions.size", "v", "v.twice", "w", "by_twice"}
    assert dropped(chained, "ALTER TABLE captions DROP COLUMN size CASCADE") == everything
    assert set(definitions.load(chained.location).by_target) == {"captions.other", "x", "by_text"}
    assert tables.open_table(chained.location, "v") is None
    assert tables.open_table(chained.location, "w") is None
    assert chained.sql("SELECT * FROM captions").columns == [
        "caption_id",
        "image_id",
        "text",
        "origin",
        "similarity",
        "other",
    ]
    assert chained.sql("SELECT other FROM captions ORDER BY caption_id").fetchall() == [("ONE",), ("TWO",), ("THREE",)]
    assert len(chained.sql("FROM x")) == 3


def test_dependents_are_dropped_first(chained):
    order = [d.target for d in declare(chained, "DROP MATERIALIZED VIEW v CASCADE")]
    assert order[-1] == "v"
    assert order.index("w") < order.index("v.twice")
    assert order.index("by_twice") < order.index("v.twice")


@pytest.mark.parametrize(
    ("target", "another"),
    [
        ("captions.size", "ALTER TABLE captions ADD COLUMN IF NOT EXISTS size AS (1)"),
        ("captions.other", "ALTER TABLE captions ADD COLUMN IF NOT EXISTS other AS (1)"),
        ("v", "CREATE MATERIALIZED VIEW IF NOT EXISTS v WITH (key = 'n') AS SELECT 1 AS n"),
    ],
)
def test_what_makes_way_for_another_definition_is_told(chained, target, another):
    with pytest.raises(SqlError) as caught:
        declare(chained, another)
    command, _, along = caught.value.hint.partition("or first: ")[2].partition(" CASCADE, with ")
    told = set(along.removesuffix(" and their values").split(", ")) - {""}
    assert dropped(chained, f"{command} CASCADE" if along else command) == {*told, target}
    declare(chained, another)


def test_a_dropped_column_is_gone_with_its_stamp(chained):
    assert dropped(chained, "ALTER TABLE captions DROP COLUMN other") == {"captions.other"}
    assert not {n for n in tables.open_table(chained.location, "captions").schema.names if n.startswith("other")}
    declare(chained, "ALTER TABLE captions ADD COLUMN other AS (length(text))")
    assert chained.sql("SELECT count(other) FROM captions").fetchall() == [(0,)]


def test_a_dropped_index_is_gone_from_its_table(chained):
    assert [i.name for i in tables.open_table(chained.location, "captions").describe_indices()] == ["by_text"]
    assert dropped(chained, "DROP INDEX by_text") == {"by_text"}
    assert tables.open_table(chained.location, "captions").describe_indices() == []


def test_a_dropped_view_may_be_declared_anew(chained):
    assert dropped(chained, "DROP MATERIALIZED VIEW x") == {"x"}
    declare(chained, "CREATE MATERIALIZED VIEW x WITH (key = 'image_id') AS SELECT image_id FROM images")
    chained.refresh("x", executor="inline")
    assert chained.sql("SELECT * FROM x ORDER BY 1").fetchall() == [(1,), (2,)]


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE captions DROP COLUMN IF EXISTS nothing",
        "ALTER TABLE nothing DROP COLUMN IF EXISTS nothing",
        "DROP MATERIALIZED VIEW IF EXISTS nothing",
        "DROP INDEX IF EXISTS nothing",
    ],
)
def test_if_exists_is_content_without(refreshed, text):
    before = state(refreshed)
    assert declare(refreshed, text) == []
    assert state(refreshed) == before


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (
            "ALTER TABLE captions DROP COLUMN siz",
            "E1034",
            "no generated column 'siz' of captions; did you mean 'size'?",
        ),
        ("ALTER TABLE captons DROP COLUMN size", "E1001", "no table 'captons'; did you mean 'captions'?"),
        ("DROP MATERIALIZED VIEW y", "E1034", "no materialized view 'y'"),
        ("DROP MATERIALIZED VIEW captions", "E1034", "no materialized view 'captions'"),
        ("DROP INDEX by_txt", "E1034", "no index 'by_txt'; did you mean 'by_text'?"),
    ],
)
def test_missing(refreshed, text, code, message):
    before = state(refreshed)
    with pytest.raises(NotFoundError) as caught:
        declare(refreshed, text)
    assert (caught.value.message, caught.value.code) == (message, code)
    assert state(refreshed) == before


def test_columns_that_were_ingested_stay(refreshed):
    with pytest.raises(RefusedError, match=r"captions\.text is not a generated column") as caught:
        declare(refreshed, "ALTER TABLE captions DROP COLUMN text CASCADE")
    assert caught.value.code == "E3216"
