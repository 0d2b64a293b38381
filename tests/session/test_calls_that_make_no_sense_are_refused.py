"""Calls of a lake with a name, an option or rows that do not fit are refused, each with the code of its cause."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from counterbalance.engine.errors import CounterbalanceError

REFUSED = {
    "E1007": lambda lake: lake.sql("SELECT 1", at="no-such-tag").fetchall(),
    "E1010": lambda lake: lake.ingest("captions.csv", "laoin"),
    "E1054": lambda lake: lake.audit("./nowhere.sql"),
    "E1160": lambda lake: lake.recipe("laion4000m"),
    "E1271": lambda lake: lake.export("images", "out", to="cocoo"),
    "E3011": lambda lake: lake.tag("2026-11-01"),
    "E3020": lambda lake: lake.ingest({"images": pa.table({"image_id": [1], "hue": [0.5]})}),
    "E3041": lambda lake: lake.sql("SELECT 1", memory="lots").fetchall(),
    "E3045": lambda lake: lake.ingest("captions.csv", format="arrow"),
    "E3052": lambda lake: lake.ingest({"images": pa.table({"image_id": [1]})}, format="coco"),
    "E3081": lambda lake: lake.gc(older_than=dt.timedelta(days=-1)),
    "E3083": lambda lake: lake.delete(ids=["one"], by="nickname"),
    "E4009": lambda lake: lake.ingest({"captions": pa.table({"caption_id": [99], "image_id": [99]})}, strict=True),
    "E4030": lambda lake: lake.ingest({"images": pa.table({"image_id": ["one"], "key": ["one"]})}),
    "E6019": lambda lake: lake.verify(),
}


@pytest.mark.parametrize("code", REFUSED)
def test_refused(lake, code):
    with pytest.raises(CounterbalanceError) as caught:
        REFUSED[code](lake)
    assert caught.value.code == code


def test_labels_need_an_attribute(lake):
    with pytest.raises(CounterbalanceError, match="no column attribute") as caught:
        lake.ingest({"labels": pa.table({"image_id": [1], "value": ["x"]})})
    assert caught.value.code == "E3020"


def test_rows_are_a_table_and_no_list(lake):
    with pytest.raises(CounterbalanceError, match=r"^list cannot be read") as caught:
        lake.ingest({"images": [{"image_id": 1}]})
    assert caught.value.code == "E3052"


def test_a_session_of_the_past_changes_nothing(lake):
    lake.tag("first")
    with pytest.raises(CounterbalanceError) as caught:
        lake.session(at="first").sql("REFRESH").fetchall()
    assert caught.value.code == "E3208"


def test_a_view_has_no_rows_before_its_first_refresh(lake):
    lake.sql("CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS SELECT image_id FROM images").fetchall()
    with pytest.raises(CounterbalanceError) as caught:
        lake.sql("SELECT * FROM v").fetchall()
    assert caught.value.code == "E1035"


def test_an_audit_of_ones_own_takes_no_name_that_is_taken(lake, tmp_path):
    (tmp_path / "demographics.sql").write_text("SELECT 1")
    with pytest.raises(CounterbalanceError) as caught:
        lake.audit(str(tmp_path / "demographics.sql"))
    assert caught.value.code == "E3031"


def test_only_values_go_to_the_process_of_a_query(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["one"])})
    with pytest.raises(CounterbalanceError) as caught:
        disk_lake.sql("SELECT $x", x=object(), isolated=True).fetchall()
    assert caught.value.code == "E3049"
