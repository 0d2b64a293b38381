"""Tables that other tools made are read; what needs a key, stable row ids or a column that is gone is an error."""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest

from counterbalance.engine.errors import CounterbalanceError


def codes(report):
    return [stage.code for stage in report.stages]


def test_a_table_without_a_key_takes_no_column(disk_lake):
    lance.write_dataset(pa.table({"image_id": [1], "scene": ["sea"]}), disk_lake.location.table("scenes"))
    with pytest.raises(CounterbalanceError) as caught:
        disk_lake.add_column("scenes", "loud", "upper(scene)")
    assert caught.value.code == "E3210"


def test_rows_without_stable_ids_are_not_computed(disk_lake, build):
    rows = build.captions(caption_id=[1], image_id=[1], text=["a man"])
    lance.write_dataset(rows, disk_lake.location.table("captions"), enable_stable_row_ids=False)
    disk_lake.add_column("captions", "loud", "upper(text)")
    assert codes(disk_lake.refresh(executor="inline")) == ["E3425"]


def test_a_key_that_is_gone_stops_its_view(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["one"])})
    place = disk_lake.location.table("scenes")
    lance.write_dataset(pa.table({"scene_id": [1], "scene": ["sea"]}), place)
    disk_lake.sql("CREATE MATERIALIZED VIEW v WITH (key = 'scene_id') AS SELECT * FROM scenes").fetchall()
    lance.write_dataset(pa.table({"scene": ["sea"]}), place, mode="overwrite")
    assert codes(disk_lake.refresh(executor="inline")) == ["E1042"]
