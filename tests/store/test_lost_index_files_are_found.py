"""``verify`` finds files of indexes that are gone while a version of the table has the index, and no others."""

from __future__ import annotations

import datetime as dt
import shutil

import pytest


@pytest.fixture
def indexed(copied):
    lake = copied()
    lake.create_index("captions", "text", "fts", name="words")
    lake.refresh("captions")
    return lake


def folders(lake):
    return sorted((lake.location.path / "captions.lance" / "_indices").iterdir())


def found(lake):
    return [(f.kind, f.table, f.file) for f in lake.verify().findings]


def test_a_file(indexed):
    for folder in folders(indexed):
        for path in sorted(folder.iterdir()):
            content = path.read_bytes()
            path.unlink()
            (told,) = indexed.verify().findings
            assert (told.kind, told.table, told.problem) == ("lost", "captions", "it is gone")
            assert told.file == f"_indices/{folder.name}/{path.name}"
            assert told.version
            path.write_bytes(content)
    assert found(indexed) == []


def test_every_index_of_a_table(indexed):
    expected = [
        ("lost", "captions", f"_indices/{f.parent.name}/{f.name}")
        for d in folders(indexed)
        for f in sorted(d.iterdir())
    ]
    shutil.rmtree(indexed.location.path / "captions.lance" / "_indices")
    assert found(indexed) == expected


def test_versions_of_a_damaged_file_are_told(indexed):
    path = min(folders(indexed)[0].iterdir())
    path.write_bytes(path.read_bytes()[:-1])
    (told,) = indexed.verify().findings
    assert (told.kind, bool(told.version)) == ("damaged", True)


def test_a_dropped_index(indexed):
    indexed.drop_index("words")
    indexed.drop_index("texts")
    indexed.gc(dt.timedelta(0), apply=True)
    assert found(indexed) == []


def test_another_tool_cleaned_up(indexed):
    import lance

    indexed.drop_index("words")
    dataset = lance.dataset(indexed.location.table("captions"))
    before = folders(indexed)
    dataset.cleanup_old_versions(older_than=dt.timedelta(0), delete_unverified=True, error_if_tagged_old_versions=False)
    assert len(folders(indexed)) < len(before)
    assert found(indexed) == []
