"""On an object store the digests are the store's own, and nothing is read to take them."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import StorageError
from counterbalance.engine.store import digests


@pytest.fixture
def stored(s3_lake, build):
    s3_lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"])})
    s3_lake.ingest({"images": build.images(image_id=[3], key=["c"])})
    system, root = s3_lake.location.filesystem()
    return s3_lake, system, f"{root}/images.lance"


def objects(system, folder):
    system.invalidate_cache()
    return sorted(system.find(folder))


def test_it_is_sound(stored):
    lake, _, _ = stored
    found = lake.verify()
    assert (found.findings, found.files > 10) == ([], True)
    entries = digests.read(lake.location, "images").entries
    assert {e.digest.partition(":")[0] for e in entries.values()} == {"etag"}


@pytest.mark.thorough
def test_taking_them_reads_no_data(s3_lake, build, monkeypatch):
    read = []
    monkeypatch.setattr(digests, "measure", lambda *a, **k: read.append(a))
    s3_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    assert read == []


@pytest.mark.thorough
def test_an_object_with_other_bytes(stored):
    lake, system, folder = stored
    path = objects(system, f"{folder}/data")[0]
    content = bytearray(system.cat_file(path))
    content[0] ^= 1
    system.pipe_file(path, bytes(content))
    assert [(f.kind, f.table, f.file) for f in lake.verify().findings] == [
        ("damaged", "images", path.removeprefix(f"{folder}/"))
    ]


def test_a_lost_version(stored):
    lake, system, folder = stored
    system.rm_file(next(p for p in objects(system, f"{folder}/_versions") if p.endswith(".manifest")))
    assert [f.kind for f in lake.verify().findings] == ["reverted"]
    with pytest.raises(StorageError, match="was reverted"):
        lake.sql("SELECT count(*) FROM images").fetchall()


@pytest.mark.thorough
def test_a_lake_that_was_copied_there(disk_lake, s3_lake, fill):
    fill(disk_lake, count=6)
    system, root = s3_lake.location.filesystem()
    system.put(f"{disk_lake.location.path}/", f"{root}/", recursive=True)
    assert s3_lake.verify().findings == []
    path = next(p for p in objects(system, f"{root}/images.lance/data") if p.endswith(".lance"))
    content = bytearray(system.cat_file(path))
    content[9] ^= 4
    system.pipe_file(path, bytes(content))
    assert [(f.kind, f.table) for f in s3_lake.verify().findings] == [("damaged", "images")]
