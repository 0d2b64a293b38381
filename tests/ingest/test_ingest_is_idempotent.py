"""The same source twice changes nothing, and says so."""

from __future__ import annotations

import itertools
import os

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.engine.ingest_types import Chunk, Reject, Source
from counterbalance.engine.write.ingest import ingest


def everything(lake):
    tables = {}
    for name in ("images", "captions", "detections", "labels"):
        rows = lake.sql(f"SELECT * FROM {name} ORDER BY 1").to_arrow()
        tables[name] = repr(rows.to_pylist())  # as text, so that NaN is NaN
    return tables


def test_nothing_changes_the_second_time(disk_lake, build):
    source = {
        "images": build.images(image_id=[1, 2], key=["a", "b"], split=["train", None]),
        "captions": build.captions(
            caption_id=[5, 6], image_id=[1, 1], text=["x", None], similarity=[float("nan"), 0.5]
        ),
        "labels": build.labels(image_id=[1, 2], label_id=[8, 9], attribute=["scene", "weather"], value=["sea", "sun"]),
        "detections": build.detections(detection_id=[7], image_id=[2], keypoints=[[1.0, 2.0, 2.0]]),
    }
    first = disk_lake.ingest(source)
    assert (first.written, first.updated, first.unchanged, first.changed) == (7, 0, 0, True)
    before, versions = everything(disk_lake), disk_lake.session().versions
    again = disk_lake.ingest(source)
    assert (again.written, again.updated, again.unchanged, again.known, again.changed) == (0, 0, 7, 0, False)
    assert everything(disk_lake) == before
    assert "nan" in before["captions"]
    assert disk_lake.session().versions == versions
    assert [r[0] for r in disk_lake.sql("SELECT mode FROM meta.runs ORDER BY at").fetchall()] == [
        "incremental",
        "no_op",
    ]


def test_perceived_labels_are_the_same_though_it_is_not_said(disk_lake, build):
    """That nothing changed would tell that they were known to the letter."""
    labels = build.labels(image_id=[1, 2], label_id=[8, 9], attribute=["gender"] * 2, value=["female", "male"])
    source = {"images": build.images(image_id=[1, 2]), "labels": labels}
    disk_lake.ingest(source)
    rows = "SELECT * FROM labels ORDER BY label_id"
    before = disk_lake.sql(rows, sensitive="a test").to_arrow()
    again = disk_lake.ingest(source)
    assert (again.written, again.updated, again.unchanged, again.known, again.changed) == (0, 0, 2, 2, True)
    assert disk_lake.sql(rows, sensitive="a test").to_arrow().equals(before)


def test_row_order_and_chunks_do_not_matter(disk_lake, build):
    ids = list(range(50))
    rows = build.images(image_id=ids, key=[str(i) for i in ids], width=ids)
    disk_lake.ingest({"images": rows})
    shuffled = rows.take(pa.array(ids[::-1]))
    pieces = [{"images": shuffled.slice(at, 7)} for at in range(0, 50, 7)]
    report = ingest(disk_lake.location, build.source(pieces), "test")
    assert (report.unchanged, report.changed) == (50, False)


def test_pictures_are_stored_once(disk_lake, build):
    rows = build.images(image_id=[1, 2], sha256=["s1", "s2"], image=[b"\xff\xd8 one", b"\xff\xd8 two"])
    disk_lake.ingest({"images": rows})
    version = disk_lake.session().versions["images"]
    assert not disk_lake.ingest({"images": rows}).changed
    assert disk_lake.session().versions["images"] == version


def test_refused_items_are_recorded_once(disk_lake, build):
    def source():
        captions = build.captions(caption_id=[1, 2, None], image_id=[1, 99, 1], text=["a", "b", "c"])
        images = build.images(image_id=[1])
        rejects = (Reject("file.json", "annotations[7]", "bad_box", "a box of 3 numbers"),)
        return Source("file.json", iter([Chunk({"images": images, "captions": captions}, rejects, rows_read=5)]))

    reports = [ingest(disk_lake.location, source(), "test") for _ in range(3)]
    assert [r.rejected for r in reports] == [3, 3, 3]
    assert [r.rows_read for r in reports] == [5, 5, 5]
    codes = disk_lake.sql(
        "SELECT code, source, position, count(*) FROM meta.errors GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert codes == [
        ("bad_box", "file.json", "annotations[7]", 1),
        ("null_key", "file.json", "row 3", 1),
        ("unknown_image", "file.json", "row 2", 1),
    ]


def test_equal_refusals_of_several_batches_are_kept_apart(disk_lake, build):
    rows = build.captions(caption_id=[1, None, 2, None], image_id=[1, 1, 1, 1])
    batches = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(max_chunksize=2))
    report = disk_lake.ingest({"images": build.images(image_id=[1]), "captions": batches})
    assert report.rejected == 2
    assert disk_lake.sql("SELECT position FROM meta.errors ORDER BY 1").fetchall() == [("row 2",), ("row 4",)]


def test_a_dry_run_writes_nothing(disk_lake, build):
    source = {"images": build.images(image_id=[1, 2]), "captions": build.captions(caption_id=[1, 2], image_id=[1, 3])}
    dry = disk_lake.ingest(source, dry_run=True)
    assert (dry.written, dry.rejected, dry.dry_run) == (3, 1, True)
    assert not disk_lake.location.path.exists()
    assert disk_lake.ingest(source).written == dry.written
    assert disk_lake.ingest(source, dry_run=True).unchanged == 3


def test_a_key_twice_in_a_source_is_kept_once(disk_lake, build):
    same = build.images(image_id=[1, 1, 2], key=["a", "a", "b"])
    report = disk_lake.ingest({"images": same})
    assert (report.written, report.rejected) == (2, 0)
    other = build.images(image_id=[3, 3], key=["c", "d"])
    report = disk_lake.ingest({"images": other})
    assert (report.written, report.rejected) == (1, 1)
    assert disk_lake.sql("SELECT key FROM images WHERE image_id = 3").fetchall() == [("c",)]
    again = disk_lake.ingest({"images": other})
    assert (again.unchanged, again.updated, again.rejected) == (1, 0, 1)
    assert disk_lake.sql("SELECT code, count(*) FROM meta.errors GROUP BY 1").fetchall() == [("duplicate_key", 1)]


def test_the_first_of_two_rows_with_a_key_stays_across_chunks(disk_lake, build):
    def source():
        return build.source(
            [
                {"images": build.images(image_id=[1, 2], key=["first", "x"])},
                {"images": build.images(image_id=[3, 1], key=["y", "second"])},
                {"images": build.images(image_id=[1], key=["first"])},
            ]
        )

    first, again = (ingest(disk_lake.location, source(), "test") for _ in range(2))
    assert (first.written, first.updated, first.rejected) == (3, 0, 1)
    assert (again.written, again.updated, again.rejected) == (0, 0, 1)
    assert disk_lake.sql("SELECT key FROM images ORDER BY image_id").fetchall() == [("first",), ("x",), ("y",)]


@pytest.mark.parametrize("empty", [{}, {"images": 0}])
def test_an_empty_source_is_a_no_op(disk_lake, build, empty):
    report = disk_lake.ingest({name: build.images(image_id=[]) for name in empty})
    assert not report.changed
    assert disk_lake.sql("SELECT count(*) FROM images").fetchall() == [(0,)]


lakes = itertools.count()
keys = st.integers(-(2**63), 2**63 - 1)
texts = st.none() | st.text(max_size=6)


@settings(
    max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    data=st.lists(st.tuples(keys, texts, texts, st.none() | st.integers(0, 2**31 - 1)), max_size=12),
    cut=st.integers(1, 5),
)
def test_any_rows_twice_are_as_once(build, record_property, data, cut):
    record_property("sources", 1)
    lake = cb.connect(f"memory://idempotent-{next(lakes)}")

    def source():
        rows = build.images(
            image_id=[d[0] for d in data],
            key=[d[1] for d in data],
            split=[d[2] for d in data],
            width=[d[3] for d in data],
        )
        return build.source([{"images": rows.slice(at, cut)} for at in range(0, len(rows), cut)])

    expected: dict[int, tuple] = {}
    for key, *rest in data:
        expected.setdefault(key, (key, *rest))
    first = ingest(lake.location, source(), "test")
    assert first.written == len(expected)
    got = lake.sql("SELECT image_id, key, split, width FROM images ORDER BY 1").fetchall()
    again = ingest(lake.location, source(), "test")
    assert (again.changed, again.rejected) == (False, first.rejected)
    assert lake.sql("SELECT image_id, key, split, width FROM images ORDER BY 1").fetchall() == got
    if len(expected) == len(data):
        assert got == sorted(expected.values())


def test_a_bare_name_leaves_the_place_of_a_picture_as_it_is(disk_lake, build):
    """A second file of a split, read without --images, says only what its pictures are called."""
    disk_lake.ingest({"images": build.images(image_id=[1, 2], uri=["pictures/1.jpg", "pictures/2.jpg"])})
    again = disk_lake.ingest({"images": build.images(image_id=[1, 2], uri=["1.jpg", "12.jpg"], width=[7, None])})
    assert again.updated == 2
    rows = disk_lake.sql("SELECT image_id, uri, width FROM images ORDER BY image_id").fetchall()
    assert rows == [(1, "pictures/1.jpg", 7), (2, "12.jpg", rows[1][2])]
    moved = disk_lake.ingest({"images": build.images(image_id=[1], uri=["elsewhere/1.jpg"])})
    assert moved.updated == 1


def test_an_address_in_the_web_leaves_the_place_of_a_picture_as_it_is(disk_lake, build):
    """COCO's files name one for each picture, so the second file of a split says nothing new either."""
    web = ["http://a.org/1.jpg", "http://a.org/3.jpg"]
    disk_lake.ingest({"images": build.images(image_id=[1, 2], uri=["pictures/1.jpg", "pictures/2.jpg"])})
    assert disk_lake.ingest({"images": build.images(image_id=[1, 2], uri=web)}).updated == 1
    assert disk_lake.sql("SELECT uri FROM images ORDER BY image_id").fetchall() == [("pictures/1.jpg",), (web[1],)]
    assert disk_lake.ingest({"images": build.images(image_id=[2], uri=["https://b.org/3.jpg"])}).updated == 1
    assert disk_lake.ingest({"images": build.images(image_id=[2], uri=["pictures/3.jpg"])}).updated == 1
