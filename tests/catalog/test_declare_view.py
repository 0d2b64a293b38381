"""A materialized view is declared at once, over what is stored and over what is only declared."""

from __future__ import annotations

import pyarrow as pa
import pytest
from declaring import declare

from counterbalance.engine.catalog import definitions, planning
from counterbalance.engine.errors import NotFoundError


def test_definition_is_kept_and_nothing_is_computed(lake):
    select = "SELECT image_id, count(*) AS n FROM captions -- each\nWHERE origin = 'human' GROUP BY image_id"
    new = declare(lake, f"CREATE MATERIALIZED VIEW v WITH (key = 'IMAGE_ID', schedule = '@weekly') AS {select}")
    assert (new.target, new.sql, new.key, new.schedule) == ("v", select, ("image_id",), "@weekly")
    assert new.reads == (("captions", "image_id"), ("captions", "origin"))
    assert definitions.load(lake.location).views() == {"v": new}
    with pytest.raises(NotFoundError):
        lake.sql("SELECT * FROM v").fetchall()


def test_a_chain_may_be_declared_before_anything_is_refreshed(disk_lake, build):
    disk_lake.ingest(
        {
            "images": build.images(image_id=[1, 2], key=["a", "b"]),
            "captions": build.captions(caption_id=[11, 12, 13], image_id=[1, 1, 2], text=["one", "two", "three"]),
        }
    )
    notes: list[str] = []
    declare(disk_lake, "ALTER TABLE captions ADD COLUMN size AS (length(text))")
    declare(
        disk_lake,
        "CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS SELECT image_id, sum(size)::BIGINT AS n FROM captions GROUP BY 1",
    )
    declare(disk_lake, "ALTER TABLE v ADD COLUMN twice AS (2 * n)")
    declare(
        disk_lake,
        "CREATE MATERIALIZED VIEW w WITH (key = 'twice') AS SELECT twice, list(image_id) AS ids FROM v GROUP BY 1",
        notes=notes,
    )
    declare(disk_lake, "CREATE INDEX ON w USING label_list (ids)")
    assert notes == ["the key is checked by the first refresh: the view reads what was not refreshed yet"]
    assert [d.target for d in definitions.load(disk_lake.location).order()] == [
        "captions.size",
        "v",
        "v.twice",
        "w",
        "w_ids_label_list",
    ]
    for target in ("v.twice", "w"):
        disk_lake.refresh(target, executor="inline")
    assert disk_lake.sql("SELECT * FROM v ORDER BY image_id").fetchall() == [(1, 6, 12), (2, 5, 10)]
    assert disk_lake.sql("SELECT * FROM w ORDER BY twice").fetchall() == [(10, [2]), (12, [1])]


def test_a_table_function_is_tried_on_few_rows_and_the_key_checked_later(lake):
    notes: list[str] = []
    select = "SELECT query_id, item_id, rank FROM top_k(queries := (SELECT caption_id, text FROM captions), items := 'captions', k := 2)"
    new = declare(lake, f"CREATE MATERIALIZED VIEW v WITH (key = 'query_id, rank') AS {select}", notes=notes)
    assert new.reads == (("captions", "*"),)
    assert notes == ["the key is checked by the first refresh: the view calls a table function"]


def test_types_of_what_is_only_declared(lake):
    declare(
        lake,
        "CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS SELECT image_id, avg(similarity) AS s FROM captions GROUP BY 1",
    )
    declare(lake, "ALTER TABLE v ADD COLUMN low AS (s < 0.5)")
    types = planning.Catalog(lake.location).types("v")
    assert types == {"image_id": pa.int64(), "s": pa.float64(), "low": pa.bool_()}


@pytest.mark.parametrize(
    ("select", "reads"),
    [
        ("SELECT count(*) AS n FROM images", {("images", "image_id")}),
        ("SELECT * FROM (VALUES (1)) AS t(n)", set()),
        ("FROM captions SELECT caption_id AS n WHERE origin = 'human'", {("captions", "caption_id"), ("captions", "origin")}),
        (
            "SELECT c.caption_id AS n FROM captions c JOIN images i USING (image_id) WHERE i.width > 1",
            {("captions", "caption_id"), ("captions", "image_id"), ("images", "image_id"), ("images", "width")},
        ),
        ("WITH q AS (SELECT caption_id AS n, text FROM captions) SELECT n FROM q", {("captions", "caption_id"), ("captions", "text")}),
        (
            "SELECT image_id AS n FROM images i WHERE EXISTS (SELECT 1 FROM detections d WHERE d.image_id = i.image_id)",
            {("images", "image_id"), ("detections", "image_id")},
        ),
        (
            "SELECT caption_id AS n, w FROM captions, unnest(string_split(text, ' ')) AS t(w) WHERE caption_id < 0",
            {("captions", "caption_id"), ("captions", "text")},
        ),
        (
            "SELECT DISTINCT term AS n FROM lists.crime_words",
            {("lists.crime_words", "term")},
        ),
        (
            "SELECT image_id AS n, label FROM caption_gender",
            {("captions", c) for c in ("caption_id", "image_id", "text")} | {("lists.gender_words", c) for c in ("term", "class")},
        ),
        (
            "SELECT query_id * 100 + rank AS n FROM top_k(queries := 'captions', items := 'captions', k := 2)",
            {("captions", "*")},
        ),
    ],
)  # fmt: skip
def test_reads_are_columns_of_stored_relations(lake, select, reads):
    new = declare(lake, f"CREATE MATERIALIZED VIEW v WITH (key = 'n') AS {select}")
    assert set(new.reads) == reads


def test_reads_of_a_star_are_the_columns_it_stands_for(lake):
    declare(lake, "ALTER TABLE labels ADD COLUMN size AS (length(value))")
    new = declare(lake, "CREATE MATERIALIZED VIEW v WITH (key = 'label_id') AS SELECT * FROM labels")
    columns = ("annotator", "attribute", "detection_id", "image_id", "label_id", "score", "size", "value")
    assert new.reads == tuple(("labels", c) for c in columns)


def test_if_not_exists_takes_the_same_query_only(lake):
    first = declare(lake, "CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS SELECT image_id, width FROM images")
    again = declare(
        lake,
        "CREATE MATERIALIZED VIEW IF NOT EXISTS v WITH (key = 'image_id') AS select image_id,\n width FROM images -- same",
    )
    assert again == first


def test_a_sample_with_a_seed_and_a_key_of_two_columns(lake):
    text = "SELECT caption_id, image_id FROM captions USING SAMPLE reservoir(5 ROWS) REPEATABLE (7)"
    assert declare(lake, f"CREATE MATERIALIZED VIEW v WITH (key = 'image_id, caption_id') AS {text}").key == (
        "image_id",
        "caption_id",
    )


def test_a_key_column_called_like_anything(lake):
    new = declare(lake, "CREATE MATERIALIZED VIEW v WITH (key = 'n') AS SELECT 7 AS n, 1 AS r UNION ALL SELECT 8, 1")
    assert new.key == ("n",)


def test_a_query_that_takes_long_is_declared_with_a_note(lake, monkeypatch):
    monkeypatch.setattr(planning, "CHECK_SECONDS", 0.2)
    notes: list[str] = []
    slow = "SELECT count(*) AS n FROM range(3000000) a, range(3000000) b WHERE hash(a.range + b.range) % 7 = 1"
    declare(lake, f"CREATE MATERIALIZED VIEW v WITH (key = 'n') AS {slow}", notes=notes)
    assert notes == ["the key is checked by the first refresh: the query takes longer than a declaration may"]
