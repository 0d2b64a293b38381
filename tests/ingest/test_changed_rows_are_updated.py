"""Rows that say something new are updated in place; equal ones are left alone."""

from __future__ import annotations

import itertools
import os

import lance
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.engine.ingest_types import Chunk, Source
from counterbalance.engine.write.ingest import ingest

lakes = itertools.count()


def test_counts_and_values(lake, build):
    report = lake.ingest({"images": build.images(image_id=[1, 2, 99], key=["ONE", "two", "new"], width=[640, 321, 5])})
    assert (report.written, report.updated, report.unchanged) == (1, 2, 0)
    got = lake.sql("SELECT image_id, key, width, height, split FROM images WHERE image_id IN (1, 2, 99) ORDER BY 1")
    assert got.fetchall() == [(1, "ONE", 640, 480, "train"), (2, "two", 321, 240, "train"), (99, "new", 5, None, None)]


def test_only_changed_rows_are_rewritten(disk_lake, build):
    ids = list(range(100))
    disk_lake.ingest({"images": build.images(image_id=ids, key=["k"] * 100)})
    version = disk_lake.session().versions["images"]
    disk_lake.ingest({"images": build.images(image_id=ids, key=["k"] * 99 + ["changed"])})
    dataset = lance.dataset(disk_lake.location.table("images"))
    moved = dataset.to_table(columns=["image_id"], filter=f"_row_last_updated_at_version > {version}")
    assert moved["image_id"].to_pylist() == [99]


def test_coded_columns_follow(lake, build):
    """Filters and groups run on codes: they must say what the strings say."""
    lake.ingest({"images": build.images(image_id=[1, 2, 5], split=["val", "never seen", "val"])})
    assert lake.sql("SELECT split, count(*) FROM images GROUP BY split ORDER BY split").fetchall() == [
        ("never seen", 1),
        ("train", 1),
        ("val", 4),
    ]
    assert lake.sql("SELECT image_id FROM images WHERE split = 'never seen'").fetchall() == [(2,)]
    assert lake.sql("SELECT image_id FROM images WHERE split <> 'val' ORDER BY 1").fetchall() == [(2,), (6,)]


def test_lists_and_floats_are_compared_by_value(lake, build):
    same = build.detections(detection_id=[21, 24], image_id=[1, 4], score=[0.9, 0.4], keypoints=[[1, 2, 2], [0, 0, 0]])
    assert not lake.ingest({"detections": same}).changed
    nan = build.captions(caption_id=[16], image_id=[5], similarity=[float("nan")])
    assert not lake.ingest({"captions": nan}).changed
    new = build.detections(detection_id=[21], image_id=[1], keypoints=[[1, 2, 0]])
    assert lake.ingest({"detections": new}).updated == 1
    assert lake.sql("SELECT keypoints FROM detections WHERE detection_id = 21").fetchall() == [([1.0, 2.0, 0.0],)]


def test_a_new_picture_replaces_the_old(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1, 2], sha256=["a", "b"], image=[b"old 1", b"old 2"])})
    report = disk_lake.ingest({"images": build.images(image_id=[1, 2], sha256=["a", "c"], image=[b"old 1", b"new 2"])})
    assert (report.updated, report.unchanged) == (1, 1)
    dataset = lance.dataset(disk_lake.location.table("images"))
    stored = dict(zip([1, 2], [bytes(f.read()) for f in dataset.take_blobs("image", indices=[0, 1])], strict=True))
    assert sorted(stored.values()) == [b"new 2", b"old 1"]


def test_a_picture_killed_before_its_digest_is_written_again(disk_lake, build, monkeypatch):
    """Bytes go before the digest that would say that they are there."""
    from counterbalance.engine.store import tables

    disk_lake.ingest({"images": build.images(image_id=[1], sha256=["a"], image=[b"old"])})
    source = {"images": build.images(image_id=[1], sha256=["b"], image=[b"new"])}
    fills = []

    def fill(*arguments):
        fills.append(arguments)
        if len(fills) == 2:
            raise KeyboardInterrupt
        return filled(*arguments)

    filled = tables.fill
    monkeypatch.setattr(tables, "fill", fill)
    with pytest.raises(KeyboardInterrupt):
        disk_lake.ingest(source)
    monkeypatch.setattr(tables, "fill", filled)
    disk_lake.ingest(source)
    dataset = lance.dataset(disk_lake.location.table("images"))
    assert bytes(dataset.take_blobs("image", indices=[0])[0].read()) == b"new"
    assert disk_lake.sql("SELECT sha256 FROM images").fetchall() == [("b",)]


def test_several_files_of_a_source_meet_in_one_image(disk_lake, build):
    """What one file knows of an image completes what the other knows."""

    def source():
        captions = Chunk(
            {"images": build.images(image_id=[1], key=["a"], width=[10])}, rows_read=1, source="captions.json"
        )
        boxes = Chunk({"images": build.images(image_id=[1], key=["a"], height=[20])}, rows_read=1, source="boxes.json")
        return Source("folder", iter([captions, boxes]))

    ingest(disk_lake.location, source(), "test")
    assert disk_lake.sql("SELECT key, width, height FROM images").fetchall() == [("a", 10, 20)]
    assert not ingest(disk_lake.location, source(), "test").changed


values = st.none() | st.sampled_from(["a", "b", "Ä", ""])
rows = st.dictionaries(st.integers(0, 6), st.tuples(values, values, st.none() | st.integers(0, 3)), max_size=6)


@settings(
    max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(rows, min_size=2, max_size=4))
def test_any_sequence_of_sources_is_as_a_dictionary(build, steps):
    lake = cb.connect(f"memory://changed-{next(lakes)}")
    expected: dict[int, tuple] = {}
    for step in steps:
        items = sorted(step.items())
        source = build.images(
            image_id=[k for k, _ in items],
            key=[v[0] for _, v in items],
            split=[v[1] for _, v in items],
            width=[v[2] for _, v in items],
        )
        report = lake.ingest({"images": source})
        before = dict(expected)
        for key, row in items:
            old = expected.get(key, (None, None, None))
            expected[key] = tuple(o if n is None else n for n, o in zip(row, old, strict=True))
        assert report.written == len(expected.keys() - before.keys())
        assert report.updated == sum(before[k] != expected[k] for k in before)
    got = lake.sql("SELECT image_id, key, split, width FROM images").fetchall()
    assert {r[0]: r[1:] for r in got} == expected
    grouped = lake.sql("SELECT split, count(*) FROM images GROUP BY ALL").fetchall()
    assert dict(grouped) == {s: [v[1] for v in expected.values()].count(s) for s in {v[1] for v in expected.values()}}


@pytest.mark.parametrize(
    ("table", "of", "name", "rest"),
    [
        ("labels", "value", "score", {"label_id": [1], "image_id": [1], "attribute": ["scene"]}),
        ("captions", "text", "similarity", {"caption_id": [1], "image_id": [1]}),
        ("detections", "category", "score", {"detection_id": [1], "image_id": [1]}),
    ],
)
def test_a_score_goes_with_what_it_was_of(disk_lake, build, table, of, name, rest):
    """What an earlier answer was sure of says nothing of another answer."""
    images = build.images(image_id=[1])

    def told(text, **more):
        rows = {of: [text], **{n: pa.array([v], pa.float32()) for n, v in more.items()}}
        disk_lake.ingest({"images": images, table: pa.table({**rest, **rows})})
        return disk_lake.sql(f"SELECT {of}, round({name}::DOUBLE, 2) FROM {table}").fetchall()

    assert told("one", **{name: 0.9}) == [("one", 0.9)]
    assert told("one") == [("one", 0.9)]
    assert told("two") == [("two", None)]
    assert told("two", **{name: 0.3}) == [("two", 0.3)]
    assert told("one", **{name: None}) == [("one", None)]
    assert told("one", **{name: 0.5}) == [("one", 0.5)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("stored", [None, "old"])
def test_a_score_of_another_file_of_the_same_source_stays(disk_lake, build, order, stored):
    """Files tell of an answer and of its score in any order, and the same source again changes nothing."""
    images = build.images(image_id=[1])
    key = {"caption_id": [1], "image_id": [1]}
    disk_lake.ingest({"images": images})
    if stored is not None:
        disk_lake.ingest({"captions": pa.table({**key, "text": [stored], "similarity": pa.array([0.9], pa.float32())})})
    parts = [
        pa.table({**key, "text": ["new"]}),
        pa.table({**key, "similarity": pa.array([0.5], pa.float32())}),
    ]

    def told():
        chunks = [Chunk({"captions": parts[i]}, rows_read=1, source=f"{i}.json") for i in order]
        report = ingest(disk_lake.location, Source("folder", iter(chunks)), "test")
        return report, disk_lake.sql("SELECT text, similarity FROM captions").fetchall()

    assert told()[1] == [("new", 0.5)]
    report, found = told()
    assert (report.changed, found) == (False, [("new", 0.5)])


def test_what_fills_in_an_answer_changes_none(disk_lake, build):
    key = {"caption_id": [1], "image_id": [1]}
    disk_lake.ingest({"images": build.images(image_id=[1])})
    disk_lake.ingest({"captions": pa.table({**key, "similarity": pa.array([0.5], pa.float32())})})
    disk_lake.ingest({"captions": pa.table({**key, "text": ["a man"]})})
    assert disk_lake.sql("SELECT text, similarity FROM captions").fetchall() == [("a man", 0.5)]
