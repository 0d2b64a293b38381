"""Many ingests, and many chunks of one, leave few fragments and versions, and readers see what they saw."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.store import cleaning
from counterbalance.engine.write import stored_keys
from counterbalance.engine.write import tables as writers


@pytest.fixture
def lake(tmp_path):
    return cb.connect(tmp_path / "l.lake")


def images(ids):
    ids = np.array(ids, np.int64)
    return pa.table({"image_id": ids, "key": pa.array(ids).cast(pa.string()), "split": ["train"] * len(ids)})


def chunks(count, rows=10):
    """A source of so many chunks."""
    schema = images([0]).schema
    batches = (images(range(i * rows, (i + 1) * rows)).to_batches()[0] for i in range(count))
    return {"images": pa.RecordBatchReader.from_batches(schema, batches)}


def fragments(lake):
    return len(lake.lancedb().open_table("images").to_lance().get_fragments())


def versions(lake):
    return len(lake.lancedb().open_table("images").to_lance().versions())


def ids(lake, **options):
    return lake.sql("SELECT image_id FROM images ORDER BY 1", **options).to_arrow()["image_id"].to_pylist()


def test_little_ingests_are_put_together(lake):
    for number in range(36):
        lake.ingest({"images": images(range(number * 5, number * 5 + 5))})
    assert fragments(lake) < 8
    assert ids(lake) == list(range(180))
    assert list(lake.verify().findings) == []


def test_versions_that_nobody_saw_go(lake, monkeypatch):
    monkeypatch.setattr(writers, "_AT_ONCE", 8)
    monkeypatch.setattr(cleaning, "_MANY_LITTLE", 8)
    report = lake.ingest(chunks(100))
    assert report.written == 1000
    assert fragments(lake) < 20
    assert versions(lake) <= 2
    assert ids(lake) == list(range(1000))
    assert list(lake.verify().findings) == []
    again = lake.ingest(chunks(100))
    assert (again.unchanged, again.changed) == (1000, False)


def test_readers_keep_what_they_read(lake, monkeypatch):
    monkeypatch.setattr(writers, "_AT_ONCE", 8)
    monkeypatch.setattr(cleaning, "_MANY_LITTLE", 8)
    lake.ingest({"images": images(range(5000, 5010))})
    lake.tag("first")
    with lake.session() as session:
        lake.ingest(chunks(60))
        assert session.sql("SELECT count(*) FROM images").fetchall() == [(10,)]
    lake.ingest({"images": images(range(6000, 6010))})
    assert ids(lake, at="first") == list(range(5000, 5010))
    assert len(ids(lake)) == 620


def test_a_refresh_reads_what_no_reader_sees(lake, monkeypatch, row_function):
    """It begins while an ingest is at work, and reads on when that has ended."""
    monkeypatch.setattr(writers, "_AT_ONCE", 8)
    monkeypatch.setattr(cleaning, "_MANY_LITTLE", 8)
    lake.ingest({"images": images(range(5000, 5010))})
    halfway, computing = threading.Event(), threading.Event()

    def source():
        for number, batch in enumerate(chunks(60)["images"]):
            if number == 30:
                halfway.set()
                assert computing.wait(60)
            yield batch

    def size(text):
        if not computing.is_set():
            computing.set()
            ingest.join()
        return len(text)

    row_function("f_size", size, returns=pa.int64())
    lake.add_column("images", "size", "f_size(key)")
    reader = pa.RecordBatchReader.from_batches(images([0]).schema, source())
    ingest = threading.Thread(target=cb.connect(lake.location.path).ingest, args=({"images": reader},))
    ingest.start()
    assert halfway.wait(60)
    (stage,) = lake.refresh(executor="inline").stages
    assert (stage.mode, stage.message, stage.updated) == ("rebuild", "", 610)
    assert lake.sql("SELECT count(*), count(size) FROM images").fetchall() == [(610, 610)]


def test_a_kill_while_versions_go_is_no_damage(lake, monkeypatch):
    """Their digests go first. Another run has recorded them, while an ingest that was interrupted waited."""
    monkeypatch.setattr(writers, "_AT_ONCE", 8)
    monkeypatch.setattr(cleaning, "_MANY_LITTLE", 8)

    def interrupted():
        yield from chunks(60)["images"]
        raise ValueError("gone")

    lake.ingest({"images": images(range(5000, 5010))})
    with pytest.raises(pa.ArrowInvalid):
        lake.ingest({"images": pa.RecordBatchReader.from_batches(images([0]).schema, interrupted())})
    lake.add_column("images", "size", "length(key)")
    lake.refresh(executor="inline")
    assert list(lake.verify().findings) == []
    forget = cleaning.digests.forget
    before = versions(lake)

    def killed(*arguments):
        if versions(lake) < before:  # they went
            raise KeyboardInterrupt
        forget(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(cleaning.digests, "forget", killed)
        with pytest.raises(KeyboardInterrupt):
            lake.ingest(chunks(70))
    assert versions(lake) < before
    fresh = cb.connect(lake.location.path)
    assert [f for f in fresh.verify().findings if f.kind != "unrecorded"] == []
    fresh.ingest(chunks(70))
    assert list(fresh.verify().findings) == []
    assert len(ids(fresh)) == 710


def test_codes_and_tallies_hold(lake, monkeypatch):
    """What is counted without reading is what is read."""
    monkeypatch.setattr(cleaning, "_MANY_LITTLE", 4)
    monkeypatch.setattr(stored_keys, "_LARGE", 50)
    for number in range(10):
        rows = images(range(number * 10, number * 10 + 10))
        lake.ingest({"images": rows.set_column(2, "split", [["train", "val"] * 5])})
    found = lake.sql("SELECT split, count(*) AS n FROM images GROUP BY 1 ORDER BY 1").to_arrow().to_pylist()
    assert found == [{"split": "train", "n": 50}, {"split": "val", "n": 50}]
    assert fragments(lake) < 10


def test_generated_columns_stay(lake, monkeypatch):
    monkeypatch.setattr(cleaning, "_MANY_LITTLE", 4)
    lake.ingest({"images": images([0])})
    lake.add_column("images", "size", "length(key)")
    for number in range(9):
        lake.ingest({"images": images(range(number * 10, number * 10 + 10))})
        lake.refresh(executor="inline")
    assert fragments(lake) < 9
    (stage,) = lake.refresh(executor="inline").stages
    assert stage.mode == "no_op"
    rows = lake.sql("SELECT count(*) AS n, sum(size) AS s FROM images").to_arrow().to_pylist()
    assert rows == [{"n": 90, "s": 170}]


def test_pictures_are_not_written_again(lake, monkeypatch):
    """Fragments of many bytes are no little ones, though they have few rows."""
    monkeypatch.setattr(cleaning, "_MANY_LITTLE", 4)
    monkeypatch.setattr(cleaning, "_LITTLE_BYTES", 10_000)
    for number in range(6):
        rows = images(range(number * 2, number * 2 + 2))
        lake.ingest({"images": rows.append_column("image", pa.array([bytes(100_000)] * 2, pa.binary()))})
    assert fragments(lake) == 6


def test_an_ingest_that_was_interrupted_goes_on(lake, monkeypatch):
    monkeypatch.setattr(writers, "_AT_ONCE", 8)
    monkeypatch.setattr(cleaning, "_MANY_LITTLE", 8)

    def interrupted():
        yield from chunks(50)["images"]
        raise ValueError("gone")

    lake.ingest({"images": images(range(5000, 5010))})
    source = pa.RecordBatchReader.from_batches(images([0]).schema, interrupted())
    with pytest.raises(pa.ArrowInvalid):
        lake.ingest({"images": source})
    assert len(ids(lake)) == 10
    lake.ingest(chunks(70))
    assert len(ids(lake)) == 710
    assert list(lake.verify().findings) == []
