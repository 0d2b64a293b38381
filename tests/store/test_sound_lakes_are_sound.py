"""``verify`` says nothing of what gc, other tools and killed runs leave; what was not written by a run of ours is unrecorded."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from counterbalance.engine.errors import NotFoundError, StorageError
from counterbalance.engine.store import digests


def kinds(lake):
    return [(f.kind, f.table) for f in lake.verify().findings]


def test_every_file_is_recorded(copied, files_of):
    lake = copied()
    found = lake.verify()
    files = files_of(lake.location.path)
    recorded = [
        e for name in digests.stored(lake.location)[0] for e in digests.read(lake.location, name).entries.values()
    ]
    assert (found.sound, found.findings, len(recorded)) == (True, [], len(files))
    assert sum(e.size for e in recorded) == sum(f.stat().st_size for f in files)
    assert 0 < found.files < len(files), "those of closed tables are not counted"


def test_nothing_is_written(copied):
    lake = copied()
    before = {p: p.stat().st_mtime_ns for p in lake.location.path.rglob("*")}
    lake.verify()
    assert {p: p.stat().st_mtime_ns for p in lake.location.path.rglob("*")} == before


def test_after_gc(copied, files_of):
    lake = copied()
    assert lake.gc(dt.timedelta(0), apply=True).bytes > 0
    found = lake.verify()
    assert found.findings == []
    recorded = sum(len(digests.read(lake.location, t).entries) for t in ("captions", "meta/runs"))
    there = [
        f
        for f in files_of(lake.location.path)
        if f.is_relative_to(lake.location.path / "captions.lance") or "runs.lance" in f.parts
    ]
    assert recorded == len(there)


def test_after_clean_up_by_another_tool(copied):
    lake = copied()
    dataset = lance.dataset(lake.location.table("captions"))
    dataset.cleanup_old_versions(older_than=dt.timedelta(0), delete_unverified=True, error_if_tagged_old_versions=False)
    assert len(dataset.versions()) < 5
    assert kinds(lake) == []


def test_rows_and_tables_of_another_tool(copied, fill):
    lake = copied()
    lake.lancedb().open_table("images").add(pa.table({"image_id": [9001], "key": ["theirs"]}))
    lake.lancedb().create_table("theirs", pa.table({"a": [1]}))
    found = lake.verify()
    assert [(f.kind, f.table) for f in found.findings] == [("unrecorded", "images"), ("unrecorded", "theirs")]
    assert found.sound
    assert lake.sql("SELECT count(*) FROM images WHERE key = 'theirs'").fetchall() == [(1,)]
    fill(lake, first=300, count=3)
    assert kinds(lake) == [("unrecorded", "theirs")]


def test_a_table_that_another_tool_made_anew(copied):
    lake = copied()
    rows = lake.lancedb().open_table("per_image").to_arrow()
    lake.lancedb().drop_table("per_image")
    lake.lancedb().create_table("per_image", rows)
    assert lake.sql("SELECT count(*) FROM per_image").fetchall() == [(len(rows),)]


def test_a_lake_of_an_earlier_release(copied, fill):
    lake = copied()
    for path in lake.location.path.rglob(digests.NAME):
        path.unlink()
    found = lake.verify()
    assert found.sound
    assert {f.kind for f in found.findings} == {"unrecorded"}
    fill(lake, first=300, count=3)
    assert lake.verify().findings == []


def test_a_killed_ingest(copied, fill, spawn):
    lake = copied()
    process = spawn("ingest_chunks", lake.uri, 10_000, 5, 30)
    assert process.stdout.readline() == "0\n"
    process.kill()
    process.communicate()
    found = lake.verify()
    assert found.sound
    assert ("unrecorded", "images") in {(f.kind, f.table) for f in found.findings}
    fill(lake, first=300, count=3)
    assert kinds(lake) == []


def test_a_folder_that_is_closed_to_this_user(copied, monkeypatch):
    lake = copied()
    monkeypatch.setattr(digests.os, "access", lambda folder, _: Path(folder).name != "sensitive")
    found = lake.verify()
    assert found.sound
    assert [(f.kind, f.table) for f in found.findings] == [("unrecorded", "sensitive")]


def test_a_lake_that_is_not_there(disk_lake):
    with pytest.raises(NotFoundError):
        disk_lake.verify()


def test_a_lake_in_memory(lake):
    with pytest.raises(StorageError, match="has no files"):
        lake.verify()
