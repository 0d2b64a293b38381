"""A file is the same under another spelling of its path: nothing is updated, and nothing is computed again."""

from __future__ import annotations

import pytest

import counterbalance as cb


@pytest.mark.parametrize("spelling", ["{}/./l.csv", "file://{}/l.csv", "{}/link.csv", "{}/l.cs?"])
def test_laion(tmp_path, spelling):
    (tmp_path / "l.csv").write_text("url,caption\nhttp://n/x,a dog\nhttp://n/y,a cat\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "l.csv")
    lake = cb.connect(tmp_path / "a.lake")
    assert lake.ingest(str(tmp_path / "l.csv"), "laion").written == 4
    again = lake.ingest(spelling.format(tmp_path), "laion")
    assert (again.written, again.updated, again.changed) == (0, 0, False)
    assert {row[0] for row in lake.sql("SELECT source FROM images").fetchall()} == {str(tmp_path / "l.csv")}


def test_a_source_that_was_not_told_is_told_later(tmp_path, build):
    (tmp_path / "l.csv").write_text("key,url,caption\n7,http://n/x,a dog\n")
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest({"images": build.images(image_id=[7], key=["7"])})
    assert lake.ingest(str(tmp_path / "l.csv"), "laion").updated == 1
    assert lake.sql("SELECT source FROM images").fetchall() == [(str(tmp_path / "l.csv"),)]
