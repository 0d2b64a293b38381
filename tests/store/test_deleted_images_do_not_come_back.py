"""What was taken out is refused at the next ingest, counted, and not told of by name; and nothing else is refused."""

from __future__ import annotations

import hashlib

import pytest

PICTURE = b"a picture of four"


@pytest.fixture
def parts(build):
    """Six images; 5 and 6 show the same place, 4 has a picture, 3 and 4 bare names."""
    ids = [1, 2, 3, 4, 5, 6]
    return {
        "images": build.images(
            image_id=ids,
            key=["one", "two", "three", "four", "five", "six"],
            uri=["http://x/1.jpg", "/data/2.jpg", "3.jpg", "4.jpg", "http://x/5.jpg", "http://x/5.jpg"],
            image=[None, None, None, PICTURE, None, None],
        ),
        "captions": build.captions(caption_id=ids, image_id=ids, text=[f"text {i}" for i in ids]),
        "detections": build.detections(detection_id=[21, 22], image_id=[1, 2], category=["person"] * 2),
        "labels": build.labels(
            label_id=[31, 32, 33],
            image_id=[1, 2, None],
            detection_id=[None, None, 21],
            attribute=["scene", "perceived_gender", "pose"],
            value=["in", "man", "up"],
        ),
    }


def errors(lake):
    return lake.sql("SELECT table_name, code, position, message, key, source FROM meta.errors").fetchall()


def rows(lake, table):
    return lake.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0]


def test_the_same_source_does_not_bring_them_back(lake_with, parts):
    lake_with.delete(ids=[1, 2], apply=True)
    report = lake_with.ingest(parts)
    counts = {t: (c.written, c.unchanged, c.rejected) for t, c in report.by_table.items()}
    assert counts == {"images": (0, 4, 2), "captions": (0, 4, 2), "detections": (0, 0, 2), "labels": (0, 0, 3)}
    assert report.rejected == 9
    assert any("9 rows are of images that were removed" in note for note in report.notes)
    assert {e[1] for e in errors(lake_with)} == {"removed"}
    assert [rows(lake_with, t) for t in ("images", "captions", "detections", "labels")] == [4, 4, 0, 0]
    assert lake_with.ingest(parts, dry_run=True).rejected == 9


@pytest.mark.parametrize("column", ["uri", "key", "sha256", "image"])
def test_another_id_does_not_bring_them_back(lake_with, build, column):
    lake_with.delete(ids=[1, 4], apply=True)
    names = {
        "uri": ["http://x/1.jpg"],
        "key": ["four"],
        "sha256": [hashlib.sha256(PICTURE).hexdigest()],
        "image": [PICTURE],
    }
    rows_of = {"images": build.images(image_id=[77], **{"key": ["new"], column: names[column]})}
    report = lake_with.ingest({**rows_of, "captions": build.captions(caption_id=[77], image_id=[77], text=["again"])})
    assert (report.written, report.rejected) == (0, 2)
    assert {e[1] for e in errors(lake_with)} == {"removed"}


def test_refusals_name_nothing(lake_with, parts):
    lake_with.delete(ids=["one", "/data/2.jpg"], apply=True)
    lake_with.ingest(parts)
    told = repr(errors(lake_with))
    assert "one" not in told.replace("None", "")
    assert "2.jpg" not in told
    assert "text 1" not in told


def test_a_place_that_another_image_keeps_is_not_barred(lake_with, parts, build):
    lake_with.delete(ids=[5], apply=True)
    assert lake_with.ingest(parts).by_table["images"].rejected == 1
    more = build.images(image_id=[8], key=["eight"], uri=["http://x/5.jpg"])
    assert lake_with.ingest({"images": more}).written == 1


def test_a_key_that_another_image_keeps_is_not_barred(empty_lake, build):
    rows = build.images(image_id=[1, 2], key=["same", "same"])
    empty_lake.ingest({"images": rows})
    empty_lake.delete(ids=[1], apply=True)
    report = empty_lake.ingest({"images": rows})
    assert (report.unchanged, report.rejected) == (1, 1)


def test_a_bare_file_name_is_that_of_many(lake_with, build):
    lake_with.delete(ids=[3], apply=True)
    more = build.images(image_id=[8], key=["eight"], uri=["3.jpg"])
    assert lake_with.ingest({"images": more}).written == 1


def test_the_list_holds_digests_with_a_key_of_the_lake(lake_with, disk_lake, parts):
    from counterbalance.engine.catalog import meta

    disk_lake.ingest(parts)
    lists = []
    for lake in (lake_with, disk_lake):
        lake.delete(ids=[1], apply=True)
        lists.append(set(meta.read(lake.location, "removed")["digest"].to_pylist()))
    assert [len(found) for found in lists] == [4, 4]
    assert lists[0].isdisjoint(lists[1])
    assert hashlib.sha256(b"one").digest()[:16] not in lists[0]


def test_refusals_that_named_them_are_forgotten(lake_with, build):
    lake_with.ingest({"captions": build.captions(caption_id=[90, 91], image_id=[1, 700], text=["a", "b"])})
    lake_with.ingest({"captions": build.captions(caption_id=[92], image_id=[701], text=["c"])})
    lake_with.ingest({"images": build.images(image_id=[700], key=["seven"])})
    assert len(errors(lake_with)) == 2
    lake_with.delete(ids=[700], apply=True)
    assert [e[3] for e in errors(lake_with)] == ["no image 701 in the lake"]


@pytest.fixture
def lake_with(empty_lake, parts):
    """The parts in a lake in memory."""
    empty_lake.ingest(parts)
    return empty_lake
