"""A table that was recorded and is gone as a whole is a finding and an error, whichever table it is; so are lost digests."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest

from counterbalance.engine.catalog.verify import accept
from counterbalance.engine.errors import StorageError
from counterbalance.engine.store import digests

TABLES = (
    "captions",
    "per_image",
    "meta/definitions",
    "meta/codes",
    "meta/runs",
    "meta/tags",
    "sensitive/labels",
)


def found(lake):
    return [(f.kind, f.table, f.file) for f in lake.verify().findings]


def use(lake):
    lake.sql("SELECT count(*) FROM labels", sensitive="a test").fetchall()
    lake.tag("again")
    lake.refresh()


def gone(lake, table):
    shutil.rmtree(lake.location.table_path(table))


@pytest.mark.parametrize("table", TABLES)
def test_a_table(table, copied):
    lake = copied()
    gone(lake, table)
    assert found(lake) == [("lost", table, "")]
    with pytest.raises(StorageError, match=rf"table '{table}' .* is gone") as caught:
        use(lake)
    assert caught.value.code == "E6018"
    assert "counterbalance verify" in caught.value.hint


def test_counts_that_queries_can_do_without(copied):
    lake = copied()
    gone(lake, "meta/tallies")
    assert found(lake) == [("lost", "meta/tallies", "")]
    assert lake.sql("SELECT count(*) > 0 FROM labels WHERE attribute = 'weather'").fetchall() == [(True,)]


def test_all_system_tables(copied):
    lake = copied()
    expected = sorted(
        f"meta/{folder.name.removesuffix('.lance')}" for folder in (lake.location.path / "meta").iterdir()
    )
    shutil.rmtree(lake.location.path / "meta")
    assert [(f.kind, f.table) for f in lake.verify().findings] == [("lost", name) for name in expected]


def test_nothing_is_written_in_its_place(copied, build):
    lake = copied()
    gone(lake, "detections")
    with pytest.raises(StorageError, match=r"table 'detections' .* is gone"):
        lake.ingest({"detections": build.detections(detection_id=[1000], image_id=[1], category=["horse"])})


def test_what_is_closed_stays_closed_without_definitions(copied):
    lake = copied()
    lake.create_materialized_view(
        "genders",
        "SELECT image_id, value FROM labels WHERE attribute = 'perceived_gender'",
        "image_id",
        purpose="a test",
    )
    lake.refresh("genders")
    gone(lake, "meta/definitions")
    with pytest.raises(StorageError, match="is gone"):
        lake.sql("SELECT * FROM genders").fetchall()


@pytest.mark.parametrize("table", ["captions", "meta/runs", "sensitive/labels"])
def test_digests_of_a_table(table, copied):
    lake = copied()
    (lake.location.table_path(table) / digests.NAME).unlink()
    kinds = [(kind, name, file) for kind, name, file in found(lake) if kind != "unrecorded"]
    assert kinds == [("lost", table, "_digests")]
    assert lake.sql("SELECT count(*) > 0 FROM captions").fetchall() == [(True,)]


def test_the_list_of_tables(copied):
    lake = copied()
    (lake.location.path / digests.NAME).unlink()
    assert found(lake) == [("lost", "", "_digests")]
    accept(lake.location, lake.verify())
    assert found(lake) == []
    gone(lake, "per_image")
    assert found(lake) == [("lost", "per_image", "")]


def test_a_damaged_list_of_tables(copied):
    lake = copied()
    path = lake.location.path / digests.NAME
    path.write_bytes(path.read_bytes()[:-2])
    assert found(lake) == [("damaged", "", "_digests")]
    accept(lake.location, lake.verify())
    assert found(lake) == []


def test_what_is_accepted_is_gone(copied, build):
    lake = copied()
    gone(lake, "detections")
    accept(lake.location, lake.verify())
    assert found(lake) == []
    lake.ingest({"detections": build.detections(detection_id=[1000], image_id=[1], category=["horse"])})
    assert found(lake) == []


def test_what_we_drop(copied):
    lake = copied()
    lake.drop_materialized_view("per_image")
    assert found(lake) == []
    lake.tag("again")
    assert found(lake) == []


def test_tables_of_other_tools(copied, fill):
    lake = copied()
    lake.lancedb().create_table("theirs", pa.table({"a": [1]}))
    fill(lake, first=300, count=3)
    lake.lancedb().drop_table("theirs")
    assert found(lake) == []
