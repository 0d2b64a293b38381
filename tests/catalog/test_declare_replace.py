"""CREATE OR REPLACE: a view takes the place of one; what reads it must still find its columns, rows of another shape go."""

from __future__ import annotations

import shutil

import pytest
from declaring import declare

import counterbalance as cb
from counterbalance.engine.catalog import ddl, definitions
from counterbalance.engine.errors import RefusedError, SqlError
from counterbalance.engine.store import tables

FIRST = "SELECT image_id, count(*) AS n, min(text) AS first FROM captions GROUP BY image_id"


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory, build):
    lake = cb.connect(tmp_path_factory.mktemp("replace") / "test.lake")
    lake.ingest(
        {
            "images": build.images(image_id=[1, 2], key=["a", "b"]),
            "captions": build.captions(caption_id=[11, 12, 13], image_id=[1, 1, 2], text=["one", "two", "three"]),
        }
    )
    declare(lake, f"CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS {FIRST}")
    lake.refresh(executor="inline")
    return lake


@pytest.fixture
def viewed(refreshed, tmp_path):
    return cb.connect(shutil.copytree(refreshed.uri, tmp_path / "test.lake"))


def replace(lake, select, key="image_id"):
    return declare(lake, f"CREATE OR REPLACE MATERIALIZED VIEW v WITH (key = '{key}') AS {select}")


def test_a_view_that_is_not_there_is_made(viewed):
    declare(viewed, "CREATE OR REPLACE MATERIALIZED VIEW w WITH (key = 'a') AS SELECT 1 AS a")
    assert set(definitions.load(viewed.location).views()) == {"v", "w"}


def test_same_key_and_columns_keep_the_rows(viewed):
    version = tables.latest_version(viewed.location, "v")
    new = replace(viewed, FIRST.replace("min", "max"))
    assert not ddl.must_rebuild(viewed.location, new)
    assert tables.latest_version(viewed.location, "v") == version
    assert viewed.sql("SELECT image_id, first FROM v ORDER BY 1").fetchall() == [(1, "one"), (2, "three")]
    viewed.refresh(executor="inline")
    assert viewed.sql("SELECT image_id, first FROM v ORDER BY 1").fetchall() == [(1, "two"), (2, "three")]


@pytest.mark.parametrize(
    ("select", "key"),
    [
        ("SELECT image_id, count(*) AS n FROM captions GROUP BY image_id", "image_id"),
        (FIRST.replace("count(*)", "count(*)::INTEGER"), "image_id"),
        (FIRST, "first"),
    ],
)
def test_rows_of_another_shape_stay_until_the_refresh(viewed, select, key):
    new = replace(viewed, select, key)
    assert ddl.must_rebuild(viewed.location, new)
    assert viewed.sql("SELECT image_id, n FROM v ORDER BY 1").fetchall() == [(1, 2), (2, 1)]
    again = replace(viewed, select + " HAVING true", key)  # the rows are still those of the first shape
    assert ddl.must_rebuild(viewed.location, again)
    viewed.refresh(executor="inline")
    assert not ddl.must_rebuild(viewed.location, again)
    assert viewed.sql("SELECT image_id, n FROM v ORDER BY 1").fetchall() == [(1, 2), (2, 1)]


def test_a_new_key_that_the_stored_rows_repeat(viewed):
    declare(viewed, "CREATE MATERIALIZED VIEW w WITH (key = 'caption_id') AS SELECT caption_id, image_id FROM captions")
    viewed.refresh("w", executor="inline")
    select = "SELECT min(caption_id) AS caption_id, image_id FROM captions GROUP BY image_id"
    declare(viewed, f"CREATE OR REPLACE MATERIALIZED VIEW w WITH (key = 'image_id') AS {select}")
    viewed.refresh("w", executor="inline")
    assert viewed.sql("SELECT * FROM w ORDER BY 1").fetchall() == [(11, 1), (13, 2)]


def test_columns_that_others_read_must_stay(viewed):
    declare(viewed, "ALTER TABLE v ADD COLUMN twice AS (2 * n)")
    before = definitions.load(viewed.location), tables.latest_version(viewed.location, "v")
    with pytest.raises(RefusedError, match=r"n of view v is read by column v\.twice") as caught:
        replace(viewed, "SELECT image_id, min(text) AS first FROM captions GROUP BY image_id")
    assert caught.value.code == "E3212"
    with pytest.raises(RefusedError, match=r"n of view v is read by column v\.twice"):
        replace(viewed, FIRST.replace("count(*)", "min(text)"))
    with pytest.raises(SqlError, match="v has a generated column 'twice' already"):
        replace(viewed, FIRST.replace("min(text) AS first", "1 AS twice"))
    assert before == (definitions.load(viewed.location), tables.latest_version(viewed.location, "v"))
    replace(viewed, FIRST.replace("min(text) AS first", "1 AS other"))


def test_a_view_cannot_come_to_read_itself(viewed):
    declare(viewed, "ALTER TABLE v ADD COLUMN twice AS (2 * n)")
    declare(viewed, "CREATE MATERIALIZED VIEW w WITH (key = 'image_id') AS SELECT image_id, twice FROM v")
    declare(viewed, "CREATE MATERIALIZED VIEW x WITH (key = 'image_id') AS SELECT image_id, twice + 1 AS n FROM w")
    before = definitions.load(viewed.location)
    with pytest.raises(SqlError, match="v would read itself: v -> x -> w -> v"):
        replace(viewed, "SELECT image_id, n::BIGINT AS n, '' AS first FROM x")
    with pytest.raises(SqlError, match="v would read itself: v -> v"):
        replace(viewed, "SELECT image_id, n, first FROM v")
    assert definitions.load(viewed.location) == before
