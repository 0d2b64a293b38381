"""Declaring, refreshing and dropping on an object store."""

from __future__ import annotations

import pytest

from counterbalance.engine.catalog import ddl, definitions
from counterbalance.engine.catalog.lineage import lineage
from counterbalance.engine.sql.statements import read
from counterbalance.engine.store import tables


@pytest.mark.thorough
def test_a_chain_on_an_object_store(s3_lake, build):
    s3_lake.ingest(
        {
            "images": build.images(image_id=[1, 2], key=["a", "b"]),
            "captions": build.captions(caption_id=[11, 12, 13], image_id=[1, 1, 2], text=["one", "two", "three"]),
        }
    )
    location = s3_lake.location
    ddl.add_column(location, read("ALTER TABLE captions ADD COLUMN size AS (length(text))"))
    text = (
        "CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS SELECT image_id, max(size) AS n FROM captions GROUP BY 1"
    )
    ddl.create_view(location, read(text))
    s3_lake.refresh("v", executor="inline")
    assert s3_lake.sql("SELECT * FROM v ORDER BY 1").fetchall() == [(1, 3), (2, 5)]
    assert lineage(location, "v.n")["name"].to_pylist() == ["captions.size", "captions.text"]
    ddl.drop_column(location, read("ALTER TABLE captions DROP COLUMN size CASCADE"))
    assert definitions.load(location).by_target == {}
    assert tables.open_table(location, "v") is None
    assert "size" not in s3_lake.sql("FROM captions").columns
