"""Images go by a condition or by names, with what hangs on them; it is told first, journaled, and said in the history."""

from __future__ import annotations

import pytest

from counterbalance.engine.catalog import runs
from counterbalance.engine.errors import BusyError, NotFoundError, RequestError, SqlError
from counterbalance.engine.store import lock, tables


def left(lake, table="images"):
    key = {"images": "image_id", "captions": "caption_id", "detections": "detection_id", "labels": "label_id"}[table]
    return [r[0] for r in lake.sql(f"SELECT {key} FROM {table} ORDER BY 1").fetchall()]


def test_a_dry_run_tells_and_removes_nothing(lake):
    before = {t: tables.latest_version(lake.location, t) for t in ("images", "captions", "meta/runs", "meta/removed")}
    report = lake.delete("split = 'train'")
    assert (report.images, report.applied, report.complete) == (3, False, None)
    assert report.rows == {"images": 3, "captions": 5, "detections": 3, "labels": 2}
    assert before == {t: tables.latest_version(lake.location, t) for t in before}


def test_what_hangs_on_them_goes_too(lake):
    report = lake.delete("split = 'train'", apply=True)
    assert report.rows == {"images": 3, "captions": 5, "detections": 3, "labels": 2}
    assert [left(lake, t) for t in ("images", "captions", "detections", "labels")] == [
        [3, 4, 5],
        [14, 15, 16],
        [24],
        [33, 34, 35],
    ]
    assert lake.sql("SELECT value, count(*) FROM labels GROUP BY ALL ORDER BY 1").fetchall() == [
        ("indoor", 1),
        ("outdoor", 1),
        ("rain", 1),
    ]


def test_closed_labels_go_too(lake, build):
    lake.ingest(
        {"labels": build.labels(label_id=[91, 92], image_id=[1, 2], attribute=["gender"] * 2, value=["a", "b"])}
    )
    told = lake.delete(ids=[1]).rows["labels"], lake.delete(ids=[1], apply=True).rows["labels"]
    assert told == (1, 1)  # of the open ones: how many closed ones an image has is not told
    closed = lake.sql("SELECT label_id FROM labels WHERE attribute = 'gender'", sensitive="a test of deletion")
    assert closed.fetchall() == [(92,)]


def test_a_condition_may_look_at_other_tables(lake):
    where = "image_id IN (SELECT image_id FROM captions WHERE text LIKE '%horse%')"
    assert lake.delete(where, apply=True).images == 1
    assert left(lake) == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("where", ["nope = 1", "image_id = ", "image_id = 1; DROP TABLE images", "text = 'a'"])
def test_a_wrong_condition_removes_nothing(where, lake):
    with pytest.raises((SqlError, RequestError, NotFoundError)):
        lake.delete(where, apply=True)
    assert len(left(lake)) == 6


def test_names_are_ids_keys_places_or_digests(empty_lake, build):
    digests = [f"{i:064x}" for i in range(5)]
    empty_lake.ingest(
        {
            "images": build.images(
                image_id=[1, 2, 3, 4, 5],
                key=["one", "1", "three", "four", "five"],
                uri=["u1", "u2", "http://x/3", "four", "http://x/3"],
                sha256=digests,
            )
        }
    )
    found = empty_lake.delete(ids=["1", "http://x/3", digests[3].upper(), "four", 99, "no such"])
    assert (found.images, found.asked, found.unknown) == (4, 6, 2)
    assert found.found_by == {"image_id": 1, "uri": 1, "sha256": 1, "key": 1}
    assert empty_lake.delete(ids=["1"], by="key", apply=True).images == 1
    assert left(empty_lake) == [1, 3, 4, 5]


@pytest.mark.parametrize("words", [{}, {"where": "true", "ids": [1]}, {"ids": [1], "by": "caption"}])
def test_it_must_be_said_which(words, lake):
    with pytest.raises(RequestError) as caught:
        lake.delete(**words)
    assert caught.value.hint


def test_the_history_says_who_and_how_many(lake):
    lake.delete(ids=["one", "two"], apply=True)
    (row,) = lake.sql(
        "SELECT kind, target, details, \"user\", rows_read FROM meta.runs WHERE kind = 'delete'"
    ).fetchall()
    assert row[:3] == ("delete", "images", "2 images, 3 captions, 3 detections, 2 labels")
    assert row[3]
    assert row[4] == 2
    assert "one" not in repr(row)


def test_unknown_names_change_nothing(lake):
    before = tables.latest_version(lake.location, "images")
    report = lake.delete(ids=["nobody"], apply=True)
    assert (report.images, report.unknown) == (0, 1)
    assert tables.latest_version(lake.location, "images") == before


def test_nobody_else_is_writing(lake):
    for name in (lock.NAME, lock.REFRESH):
        with lock.writer_lock(lake.location, "test", name=name), pytest.raises(BusyError):
            lake.delete(ids=[1], apply=True, wait=0.1)
    assert len(left(lake)) == 6


def test_views_lose_their_rows_or_are_stale(lake):
    lake.create_materialized_view("texts", "SELECT caption_id, text FROM captions", "caption_id")
    lake.create_materialized_view("boxes", "SELECT detection_id, category FROM detections", "detection_id")
    lake.create_materialized_view(
        "counts", "SELECT license, count(*) AS n FROM images WHERE license > '' GROUP BY 1", "license"
    )
    lake.create_materialized_view("licenses", "SELECT 1 AS one, n FROM counts WHERE license = 'CC0'", "one")
    lake.refresh()
    report = lake.delete(ids=[1], apply=True)
    assert report.views == ("boxes", "counts", "licenses", "texts")
    assert lake.sql("SELECT caption_id FROM texts ORDER BY 1").fetchall() == [(i,) for i in (13, 14, 15, 16, 17, 18)]
    assert lake.sql("SELECT n FROM counts WHERE license = 'CC BY'").fetchall() == [(2,)]
    assert {s.target for s in lake.refresh(dry_run=True).stages if s.reason} >= {"counts"}
    assert lake.delete(purge=True, apply=True).complete
    assert lake.sql("SELECT n FROM counts WHERE license = 'CC BY'").fetchall() == [(1,)]


def test_an_interrupted_ingest_is_completed_first(lake):
    from counterbalance.engine.catalog import snapshot

    seen = snapshot.take(lake.location)
    runs.Run(lake.location, "ingest", "x.csv").open(seen.versions, seen.coded)
    with pytest.raises(RequestError, match=r"x\.csv was interrupted") as caught:
        lake.delete(ids=[1], apply=True)
    assert caught.value.code == "E3084"


@pytest.mark.thorough
def test_a_lake_in_an_object_store(s3_lake, build):
    ids = list(range(20))
    s3_lake.ingest({"images": build.images(image_id=ids, key=[f"k{i}" for i in ids])})
    report = s3_lake.delete(ids=["k3", "k4"], apply=True, purge=True, wait=0.5)
    assert (report.images, report.complete) == (2, True)
    assert len(left(s3_lake)) == 18
    assert s3_lake.ingest({"images": build.images(image_id=ids, key=[f"k{i}" for i in ids])}).rejected == 2


def test_all_of_them(disk_lake, build):
    ids = list(range(30))
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[f"k{i}" for i in ids], split=["a"] * 30),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[f"text {i}" for i in ids]),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["scene"] * 30, value=["in"] * 30),
        }
    )
    disk_lake.create_index("captions", "text", "fts", name="words")
    disk_lake.create_materialized_view("counts", "SELECT count(*) AS n, 1 AS one FROM images", "one")
    disk_lake.refresh()
    report = disk_lake.delete("true", apply=True, purge=True)
    assert (report.images, report.complete) == (30, True)
    assert [left(disk_lake, t) for t in ("images", "captions", "labels")] == [[], [], []]
    assert disk_lake.sql("SELECT n FROM counts").fetchall() == [(0,)]
    more = {"images": build.images(image_id=[99], key=["new"], split=["a"])}
    assert (
        disk_lake.ingest({**more, "captions": build.captions(caption_id=[99], image_id=[99], text=["a"])}).written == 2
    )
    assert disk_lake.sql("SELECT split FROM images").fetchall() == [("a",)]
    assert {s.mode for s in disk_lake.refresh().stages} == {"rebuild", "incremental"}
