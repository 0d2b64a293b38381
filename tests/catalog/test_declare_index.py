"""An index is declared at once, with a kind and a name that fit where they are left out; the refresh builds it."""

from __future__ import annotations

import pytest

from counterbalance.engine.catalog import ddl, definitions
from counterbalance.engine.sql.statements import read
from counterbalance.engine.store import tables


def create(lake, text):
    return ddl.create_index(lake.location, read(text))


def test_definition_is_kept(lake):
    new = create(lake, "CREATE INDEX by_text ON captions USING fts (text) WITH (schedule = '@weekly', stem = true)")
    assert (new.kind, new.table, new.name, new.sql, new.schedule) == ("index", "captions", "by_text", "text", "@weekly")
    assert dict(new.options) == {"kind": "fts", "stem": True}
    assert new.reads == (("captions", "text"),)
    assert definitions.load(lake.location).indexes("captions") == {"by_text": new}
    assert tables.open_table(lake.location, "captions").describe_indices() == []


@pytest.mark.parametrize(
    ("column", "expression", "kind"),
    [
        ("text", None, "btree"),
        ("similarity", None, "btree"),
        ("words", "string_split(text, ' ')", "label_list"),
        ("vector", "[similarity, 1, 2, 3, 4, 5, 6, 7]::FLOAT[8]", "ivf_rq"),
        ("odd", "[similarity, 1, 2]::FLOAT[3]", "ivf_sq"),
    ],
)
def test_kind_and_name_that_are_left_out(lake, column, expression, kind):
    if expression is not None:
        ddl.add_column(lake.location, read(f"ALTER TABLE captions ADD COLUMN {column} AS ({expression})"))
    new = create(lake, f"CREATE INDEX ON captions ({column})")
    assert (new.name, new.options["kind"]) == (f"captions_{column}_{kind}", kind)


def test_an_index_of_a_view_that_was_not_refreshed(lake):
    text = "CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS SELECT image_id, list(text) AS texts FROM captions GROUP BY 1"
    ddl.create_view(lake.location, read(text))
    assert create(lake, "CREATE INDEX ON v (TEXTS)").reads == (("v", "texts"),)


def test_if_not_exists_takes_the_same_index_only(lake):
    first = create(lake, "CREATE INDEX i ON captions USING btree (text)")
    version = tables.latest_version(lake.location, "meta/definitions")
    assert create(lake, "CREATE INDEX IF NOT EXISTS i ON captions (text)") == first
    assert create(lake, "CREATE INDEX IF NOT EXISTS i ON captions USING BTREE (Text)") == first
    assert tables.latest_version(lake.location, "meta/definitions") == version


def test_refresh_builds_it(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"])})
    create(disk_lake, "CREATE INDEX ON images (key)")
    disk_lake.refresh(executor="inline")
    assert [i.name for i in tables.open_table(disk_lake.location, "images").describe_indices()] == ["images_key_btree"]
