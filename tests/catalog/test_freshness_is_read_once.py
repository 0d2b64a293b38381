"""Whether a column is fresh at a version is read once a process; another lake of the same place is another one."""

from __future__ import annotations

import shutil

import lance
import pytest

QUERY = "SELECT shout(text) AS loud FROM captions ORDER BY caption_id"


@pytest.fixture
def shout(row_function):
    import pyarrow as pa

    return row_function("shout", str.upper, returns=pa.string())


def add(lake, build, *texts, first=0):
    ids = list(range(first, first + len(texts)))
    lake.ingest(
        {
            "images": build.images(image_id=[1], key=["a"]),
            "captions": build.captions(caption_id=ids, image_id=[1] * len(ids), text=list(texts)),
        }
    )


def test_sessions_share_what_they_found(disk_lake, build, shout, monkeypatch):
    add(disk_lake, build, "a", "b")
    disk_lake.add_column("captions", "loud", "shout(text)")
    disk_lake.refresh(executor="inline")
    shout.taken()
    asked = []
    count_rows = lance.LanceDataset.count_rows

    def counted(self, *args, **options):
        asked.append(str((args, options)))
        return count_rows(self, *args, **options)

    monkeypatch.setattr(lance.LanceDataset, "count_rows", counted)
    for _ in range(3):
        assert disk_lake.sql(QUERY).fetchall() == [("A",), ("B",)]
    assert shout.taken() == []
    assert sum("loud__v" in how for how in asked) == 1


def test_a_lake_made_again_is_asked_again(disk_lake, build, shout):
    versions = []
    for is_refreshed in (True, False):
        add(disk_lake, build, "a", "b")
        disk_lake.add_column("captions", "loud", "shout(text)")
        disk_lake.refresh(executor="inline")
        add(disk_lake, build, "c", first=2)
        if is_refreshed:
            disk_lake.refresh(executor="inline")
        else:
            add(disk_lake, build, "d", first=2)
        with disk_lake.session() as session:
            versions.append(session.versions["captions"])
        shout.taken()
        found = [loud for (loud,) in disk_lake.sql(QUERY).fetchall()]
        assert found == ["A", "B", "C" if is_refreshed else "D"]
        assert (shout.taken() == []) is is_refreshed
        shutil.rmtree(disk_lake.location.path)
    assert versions[0] == versions[1]
