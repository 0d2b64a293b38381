"""Captions, boxes and labels of an image that the lake does not hold are refused one by one, with their place."""

from __future__ import annotations

import pytest

from counterbalance.engine.ingest_types import Chunk, Source
from counterbalance.engine.write.ingest import ingest


@pytest.mark.parametrize(
    ("table", "key", "more"),
    [
        ("captions", "caption_id", {"text": ["a", "b", "c"]}),
        ("detections", "detection_id", {"category": ["a", "b", "c"]}),
        ("labels", "label_id", {"attribute": ["x", "y", "z"], "value": ["a", "b", "c"]}),
        ("labels", "label_id", {"attribute": ["sex", "sex", "sex"], "value": ["a", "b", "c"]}),
    ],
)
def test_the_row_is_refused_and_the_others_stay(disk_lake, build, table, key, more):
    rows = getattr(build, table)(**{key: [1, 2, 3], "image_id": [1, 77, None]}, **more)
    report = disk_lake.ingest({"images": build.images(image_id=[1]), table: rows})
    assert (report.written, report.rejected) == (2, 2)
    assert report.by_table[table].rejected == 2
    got = disk_lake.sql(f"SELECT {key} FROM {table}", sensitive="a test").fetchall()
    assert got == [(1,)]
    errors = disk_lake.sql("SELECT table_name, code, position, message FROM meta.errors ORDER BY position").fetchall()
    assert errors == [
        (table, "unknown_image", "row 2", "no image 77 in the lake"),
        (table, "unknown_image", "row 3", "no image None in the lake"),
    ]


def test_an_image_of_the_same_chunk_or_an_earlier_one_is_known(disk_lake, build):
    def chunks():
        yield Chunk({"images": build.images(image_id=[1])})
        yield Chunk(
            {
                "images": build.images(image_id=[2]),
                "captions": build.captions(caption_id=[1, 2, 3], image_id=[1, 2, 3]),
            }
        )
        yield Chunk({"images": build.images(image_id=[3])})

    report = ingest(disk_lake.location, Source("s", chunks()), "test")
    assert (report.written, report.rejected) == (5, 1)


def test_a_dry_run_refuses_the_same(disk_lake, build):
    source = {"images": build.images(image_id=[1]), "captions": build.captions(caption_id=[1, 2], image_id=[1, 9])}
    assert disk_lake.ingest(source, dry_run=True).rejected == disk_lake.ingest(source).rejected == 1


def test_a_refused_row_comes_in_once_its_image_is_there(disk_lake, build):
    captions = build.captions(caption_id=[1, 2], image_id=[1, 2])
    disk_lake.ingest({"images": build.images(image_id=[1]), "captions": captions})
    report = disk_lake.ingest({"images": build.images(image_id=[2]), "captions": captions})
    assert (report.written, report.rejected) == (2, 0)
    assert disk_lake.sql("SELECT count(*) FROM captions").fetchall() == [(2,)]


def test_minus_one_is_an_ordinary_image(disk_lake, build):
    source = {"images": build.images(image_id=[-1]), "captions": build.captions(caption_id=[-1, -2], image_id=[-1, -2])}
    report = disk_lake.ingest(source)
    assert (report.written, report.rejected) == (2, 1)


def test_a_label_of_a_box_gets_the_image_of_the_box(lake, build):
    rows = build.labels(label_id=[91, 92], detection_id=[24, 999], attribute=["pose", "pose"], value=["sits", "stands"])
    report = lake.ingest({"labels": rows})
    assert (report.written, report.rejected) == (1, 1)
    assert lake.sql("SELECT image_id, value FROM labels WHERE label_id = 91").fetchall() == [(4, "sits")]


def test_the_key_is_shown_as_the_source_has_it(disk_lake, build, tmp_path):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a/1"])})
    labels = tmp_path / "labels.csv"
    labels.write_text("key,detection_id,attribute,value\na/2,,x,1\n,box 7,x,1\na/3,,perceived_gender,female\n")
    assert disk_lake.ingest(str(labels), "labels").rejected == 3
    boxes = tmp_path / "boxes.csv"
    boxes.write_text("file_name,x,y,w,h,gender\nb/4.jpg,1,1,2,2,male\n")
    report = disk_lake.ingest(str(boxes), "detections")
    assert (report.rejected, {t: c.rejected for t, c in report.by_table.items()}) == (1, {"detections": 1, "labels": 0})
    told = disk_lake.sql("SELECT table_name, position, message FROM meta.errors ORDER BY ALL").fetchall()
    assert told == [
        ("detections", "line 2", "no image 'b/4' in the lake"),
        ("labels", "line 2", "no image 'a/2' in the lake"),
        ("labels", "line 3", "no box 'box 7' in the lake"),
        ("labels", "line 4", "no image 'a/3' in the lake"),
    ]
