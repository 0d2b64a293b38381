"""Codes that are stored beside texts appear in no rows, schema or export of a lake; SUMMARIZE tells of open rows only."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from counterbalance.engine.store import tables


@pytest.fixture
def lake(empty_lake, build):
    ids = list(range(1, 31))
    labels = ["perceived_gender"] * 30 + ["scene"] * 30
    empty_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[f"k{i}" for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=["a beach"] * 30, origin=["coco"] * 30),
            "labels": build.labels(
                label_id=list(range(60)),
                image_id=ids * 2,
                attribute=labels,
                value=["female"] * 30 + ["beach"] * 30,
            ),
        }
    )
    return empty_lake


@pytest.mark.parametrize("table", ["images", "captions", "labels"])
def test_rows_and_schemas_have_none(lake, tmp_path, table):
    stored = tables.existing(lake.location, table).schema.names
    assert any(name.endswith("__code") for name in stored)
    lake.export(f"SELECT * FROM {table}", tmp_path / "out", "parquet")
    shown = [
        *lake.sql(f"SELECT * FROM {table}").columns,
        *(row[0] for row in lake.sql(f"DESCRIBE {table}").fetchall()),
        *(row[0] for row in lake.sql(f"SUMMARIZE {table}").fetchall()),
        *pq.read_schema(next((tmp_path / "out").glob("*.parquet"))).names,
    ]
    assert not [name for name in shown if "__" in name]


def test_summarize_tells_of_open_rows_only(lake):
    found = {row["column_name"]: row for row in lake.sql("SUMMARIZE labels").to_arrow().to_pylist()}
    assert (found["attribute"]["min"], found["attribute"]["max"]) == ("scene", "scene")
    assert "female" not in str(found)
    assert {row["count"] for row in found.values()} == {30}
    with lake.session(sensitive="a test of summaries") as session:
        assert "female" in str(session.sql("SUMMARIZE labels").fetchall())
