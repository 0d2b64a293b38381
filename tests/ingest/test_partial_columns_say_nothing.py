"""A column that a source lacks, or a NULL in it, says nothing: what is stored stays."""

from __future__ import annotations

import lance
import pytest


def test_a_missing_column_leaves_what_is_stored(lake, build):
    before = lake.sql("SELECT * FROM images ORDER BY 1").fetchall()
    report = lake.ingest({"images": build.images(image_id=[1, 2, 3], width=[640, 320, 200])})
    assert (report.updated, report.unchanged) == (0, 3)
    assert lake.sql("SELECT * FROM images ORDER BY 1").fetchall() == before


def test_a_null_leaves_what_is_stored(lake, build):
    report = lake.ingest({"images": build.images(image_id=[1], key=[None], split=[None], width=[641], height=[None])})
    assert report.updated == 1
    got = lake.sql("SELECT key, split, width, height, license FROM images WHERE image_id = 1").fetchall()
    assert got == [("one", "train", 641, 480, "CC BY")]
    assert lake.sql("SELECT image_id FROM images WHERE split = 'train' ORDER BY 1").fetchall() == [(1,), (2,), (6,)]


def test_keys_alone_say_that_rows_are_there(lake, build):
    report = lake.ingest({"images": build.images(image_id=[1, 2, 70])})
    assert (report.written, report.updated, report.unchanged) == (1, 0, 2)


def test_an_empty_text_is_a_text(lake, build):
    lake.ingest({"captions": build.captions(caption_id=[11, 17], image_id=[1, 6], text=["", "found"])})
    got = lake.sql("SELECT text FROM captions WHERE caption_id IN (11, 17) ORDER BY caption_id").fetchall()
    assert got == [("",), ("found",)]


def test_an_empty_list_is_a_list(lake, build):
    lake.ingest({"detections": build.detections(detection_id=[21, 22], image_id=[1, 1], keypoints=[[], None])})
    got = lake.sql("SELECT keypoints FROM detections WHERE detection_id IN (21, 22) ORDER BY detection_id").fetchall()
    assert got == [([],), (None,)]


@pytest.mark.parametrize("again", [{"image": [None]}, {}])
def test_a_picture_stays_when_a_source_has_none(disk_lake, build, again):
    disk_lake.ingest({"images": build.images(image_id=[1], sha256=["a"], image=[b"bytes"])})
    assert disk_lake.ingest({"images": build.images(image_id=[1], key=["new key"], **again)}).updated == 1
    dataset = lance.dataset(disk_lake.location.table("images"))
    assert bytes(dataset.take_blobs("image", indices=[0])[0].read()) == b"bytes"
    assert disk_lake.sql("SELECT key, sha256 FROM images").fetchall() == [("new key", "a")]


def test_columns_that_no_source_gave_are_null(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1])})
    row = disk_lake.sql("SELECT * FROM images").to_arrow().to_pylist()
    assert row == [{"image_id": 1} | dict.fromkeys(list(row[0])[1:])]
    assert "image" not in row[0]
