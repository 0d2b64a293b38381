"""An open session says which versions it reads; what nobody stands behind any more is not believed."""

from __future__ import annotations

import datetime as dt
import gc
import json
import os
import sys
import threading
import time

import pytest

from counterbalance.engine.errors import NotFoundError
from counterbalance.engine.store import pins


@pytest.fixture
def filled(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    return disk_lake


def folder(lake):
    return lake.location.path / pins.FOLDER


def write(lake, name, **note):
    folder(lake).mkdir(exist_ok=True)
    (folder(lake) / name).write_text(json.dumps(note))


def now(**ago):
    return (dt.datetime.now(dt.UTC) - dt.timedelta(**ago)).isoformat()


def test_a_session_pins_what_it_reads(filled):
    with filled.session() as session:
        assert pins.pinned(filled.location) == ({"images": {session.versions["images"]}}, 0)
        note = json.loads(next(folder(filled).iterdir()).read_text())
        assert note["pid"] == os.getpid()
    assert not folder(filled).exists()


def test_sessions_at_two_versions(filled, build):
    with filled.session() as old:
        filled.ingest({"images": build.images(image_id=[2], key=["b"])})
        with filled.session() as new:
            versions = {old.versions["images"], new.versions["images"]}
            assert len(versions) == 2
            assert pins.pinned(filled.location) == ({"images": versions}, 0)


def test_attached_lakes_are_pinned(filled, tmp_path, build):
    import counterbalance as cb

    other = cb.connect(tmp_path / "other.lake")
    other.ingest({"images": build.images(image_id=[1], key=["a"])})
    with filled.session(attach={"other": other}):
        assert pins.pinned(other.location)[0] == {"images": {1}}
    assert pins.pinned(other.location) == ({}, 0)


def test_a_session_that_is_forgotten_lets_go(filled):
    session = filled.session()
    assert folder(filled).exists()
    del session
    gc.collect()
    assert pins.pinned(filled.location) == ({}, 0)


def test_a_session_that_does_not_open_leaves_nothing(filled):
    with pytest.raises(NotFoundError):
        filled.session(at="nope")
    gc.collect()
    assert not folder(filled).exists()


def test_where_no_lake_is_nothing_is_made(tmp_path):
    import counterbalance as cb

    with pytest.raises(NotFoundError):
        cb.connect(tmp_path / "none.lake").session()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root writes anywhere")
def test_a_lake_that_cannot_be_written_to_is_read(filled):
    filled.location.path.chmod(0o555)
    try:
        assert filled.sql("SELECT count(*) FROM images").fetchall() == [(1,)]
    finally:
        filled.location.path.chmod(0o755)


def test_a_pin_that_cannot_be_written_is_no_error(filled):
    folder(filled).write_text("a file in the way")
    assert filled.sql("SELECT count(*) FROM images").fetchall() == [(1,)]


def test_a_dead_process_of_this_machine_is_not_believed(filled):
    host = pins._host()
    write(filled, "dead.json", host=host, pid=2**22 + 1, since=now(), versions={"images": 1})
    write(filled, "own.json", host=host, pid=os.getpid(), since=now(days=30), versions={"images": 7})
    assert pins.pinned(filled.location) == ({"images": {7}}, 0)
    assert pins.dead(filled.location) == 1
    pins.forget_dead(filled.location)
    assert [p.name for p in folder(filled).iterdir()] == ["own.json"]


def test_another_machine_is_believed_for_a_day(filled):
    write(filled, "young.json", host="elsewhere", pid=1, since=now(hours=23), versions={"images": 1})
    write(filled, "old.json", host="elsewhere", pid=1, since=now(hours=25), versions={"images": 2})
    assert pins.pinned(filled.location) == ({"images": {1}}, 0)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"host": 1}', '{"host": "x", "pid": "y", "since": "z"}'])
def test_a_note_that_says_nothing_is_not_believed(filled, text):
    folder(filled).mkdir()
    (folder(filled) / "odd.json").write_text(text)
    assert pins.pinned(filled.location) == ({}, 0)
    assert pins.dead(filled.location) == 1


def test_a_reader_that_has_not_chosen_is_waited_for(filled, monkeypatch):
    from counterbalance.engine.refresh import gc as collecting
    from counterbalance.engine.store import tables

    pin = pins.Pin(filled.location)
    assert pins.pinned(filled.location) == ({}, 1)
    tables.delete(filled.location, "images", "image_id = 1")
    monkeypatch.setattr(collecting, "_PATIENCE", 0.2)
    report = collecting.gc(filled.location, older_than=dt.timedelta(0), apply=True)
    assert any("a reader is just opening" in note for note in report.notes)
    assert tables.open_table(filled.location, "images", 1).count_rows() == 1
    pin.release()
    assert collecting.gc(filled.location, older_than=dt.timedelta(0), apply=True).notes == ()


def test_in_memory_too(lake):
    with lake.session() as session:
        assert pins.pinned(lake.location)[0] == {t: {v} for t, v in session.pinned.items()}
    assert pins.pinned(lake.location) == ({}, 0)


def test_garbage_of_an_object_store_does_not_wait_for_the_network(s3_lake, build, monkeypatch):
    """It may be collected in the very thread that answers the network, which would then wait for itself."""
    s3_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    session, threads, remove = s3_lake.session(), [], pins._remove

    def noted(location, name):
        if location.uri == s3_lake.uri:  # others' garbage may be collected now, too
            threads.append(threading.current_thread().name)
        remove(location, name)

    monkeypatch.setattr(pins, "_remove", noted)
    assert pins.pinned(s3_lake.location)[0]["images"] == {session.versions["images"]}
    del session
    gc.collect()
    for _ in range(100):
        if not pins.pinned(s3_lake.location)[0]:
            break
        time.sleep(0.1)
    assert pins.pinned(s3_lake.location) == ({}, 0)
    assert threads == ["counterbalance-pins"]
