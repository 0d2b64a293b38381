"""A table whose newest version was lost is an error of ours, not an older table, and ``verify`` tells."""

from __future__ import annotations

import datetime as dt
import shutil

import pytest

from counterbalance.engine.errors import StorageError

TABLES = ("captions", "images", "labels", "sensitive/labels", "meta/runs", "meta/definitions", "per_image")


def newest(lake, table):
    return min((lake.location.path / f"{table}.lance" / "_versions").glob("*.manifest"))


@pytest.mark.parametrize("table", TABLES)
def test_the_newest_manifest(table, copied):
    lake = copied()
    gone = newest(lake, table)
    gone.unlink()
    (told,) = lake.verify().findings
    assert (told.kind, told.table, told.file) == ("reverted", table, f"_versions/{gone.name}")
    with pytest.raises(StorageError, match=rf"table '{table}' .* was reverted") as caught:
        lake.sql("SELECT count(*) FROM captions", sensitive="a test").fetchall()
    assert caught.value.code == "E6018"
    assert "counterbalance verify" in caught.value.hint


@pytest.mark.parametrize("table", TABLES)
def test_a_damaged_manifest(table, copied):
    lake = copied()
    path = newest(lake, table)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(StorageError) as caught:
        lake.sql("SELECT count(*) FROM captions", sensitive="a test").fetchall()
    assert caught.value.code in {"E6001", "E6018"}
    assert "counterbalance verify" in caught.value.hint


def test_an_older_manifest_that_was_cut_hides_no_other_finding(copied):
    """Lance raises an error of no kind of its own where it lists the versions of a table."""
    lake = copied()
    folder = lake.location.path / "captions.lance" / "_versions"
    older = max(folder.glob("*.manifest"))
    assert older != newest(lake, "captions")
    older.write_bytes(older.read_bytes()[:-1])
    gone = newest(lake, "images")
    gone.unlink()
    found = {(f.table, f.file) for f in lake.verify().findings}
    assert {("captions", f"_versions/{older.name}"), ("images", f"_versions/{gone.name}")} <= found
    with pytest.raises(StorageError):
        lake.gc(dt.timedelta(0), apply=True)


def test_nothing_is_written_upon_a_table_that_was_reverted(copied, build):
    lake = copied()
    newest(lake, "images").unlink()
    with pytest.raises(StorageError, match="was reverted"):
        lake.ingest({"images": build.images(image_id=[1000], key=["new"])})


def test_an_older_version(copied):
    lake = copied()
    manifests = sorted((lake.location.path / "captions.lance" / "_versions").glob("*.manifest"))
    manifests[1].unlink()
    assert [(f.kind, f.file) for f in lake.verify().findings] == [("lost", f"_versions/{manifests[1].name}")]
    assert lake.sql("SELECT count(*) > 0 FROM captions").fetchall() == [(True,)]


def test_a_file_that_a_version_needs(copied):
    lake = copied()
    for path in sorted((lake.location.path / "captions.lance").glob("_deletions/*")):
        path.unlink()
    assert {(f.kind, f.table, f.problem) for f in lake.verify().findings} == {("lost", "captions", "it is gone")}


@pytest.mark.parametrize("table", ["labels", "sensitive/labels"])
def test_a_whole_table(table, copied):
    lake = copied()
    shutil.rmtree(lake.location.path / f"{table}.lance")
    assert [(f.kind, f.table, f.problem) for f in lake.verify().findings] == [
        ("lost", table, "the whole table is gone")
    ]


def test_all_manifests_of_a_table(copied):
    lake = copied()
    shutil.rmtree(lake.location.path / "detections.lance" / "_versions")
    assert {f.kind for f in lake.verify().findings} >= {"reverted"}
    with pytest.raises(StorageError, match="no version is there"):
        lake.sql("SELECT count(*) FROM detections").fetchall()


def test_damaged_digests(copied):
    lake = copied()
    path = lake.location.path / "captions.lance" / "_digests"
    path.write_bytes(path.read_bytes().replace(b" 1", b" 2", 1))
    assert [(f.kind, f.file) for f in lake.verify().findings] == [("damaged", "_digests")]
    with pytest.raises(StorageError, match="digests of table 'captions'") as caught:
        lake.sql("SELECT 1").fetchall()
    assert caught.value.code == "E6018"


def test_what_is_accepted_is_sound(copied, build):
    from counterbalance.engine.catalog.verify import accept

    lake = copied()
    newest(lake, "images").unlink()
    accept(lake.location, lake.verify())
    assert lake.verify().sound
    assert lake.ingest({"images": build.images(image_id=[1000], key=["new"])}).written == 1
    assert lake.verify().findings == []
