"""A lake in memory: the same surface, gone with the process."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError


def test_the_same_name_is_the_same_lake(empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1, 2])})
    assert cb.connect(empty_lake.uri).sql("SELECT count(*) FROM images").fetchall() == [(2,)]


def test_other_names_are_other_lakes(empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1, 2])})
    with pytest.raises(NotFoundError, match="no lake at memory://") as caught:
        cb.connect(empty_lake.uri + "-other").sql("SELECT 1")
    assert caught.value.code == "E1005"


def test_every_base_table_is_there(lake):
    names = [r[0] for r in lake.sql("SELECT name FROM meta.tables WHERE rows > 0 ORDER BY name").fetchall()]
    assert names == ["captions", "detections", "images", "labels"]


def test_past_versions(empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1])})
    empty_lake.tag("one")
    empty_lake.ingest({"images": build.images(image_id=[2])})
    assert empty_lake.sql("SELECT count(*) FROM images", at="one").fetchall() == [(1,)]


def test_lakes_of_both_kinds_attach(lake, disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["disk"])})
    with lake.session(attach={"disk": disk_lake}) as session:
        query = "SELECT images.key, d.key FROM images JOIN disk.images AS d USING (image_id)"
        assert session.sql(query).fetchall() == [("one", "disk")]


def test_a_name_with_blanks_makes_no_folder(build, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lake = cb.connect("memory://a name with blanks")
    lake.ingest({"images": build.images(image_id=[1])})
    assert lake.sql("SELECT count(*) FROM images").fetchall() == [(1,)]
    assert not [*tmp_path.iterdir()]
