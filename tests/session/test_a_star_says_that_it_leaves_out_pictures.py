"""A star of the outermost select leaves pictures out and says how they are selected, where there are any."""

from __future__ import annotations

import pytest
from PIL import Image

import counterbalance as cb

TOLD = ["* leaves out the pictures of images: SELECT image, * has them"]


@pytest.fixture(params=[True, False], ids=["stored", "where they lie"])
def lake(tmp_path, request):
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (8, 6)).save(tmp_path / "pictures" / "a.png")
    made = cb.connect(tmp_path / "a.lake")
    made.ingest(tmp_path / "pictures", store_images=request.param)
    return made


def test_a_star(lake):
    for query in ("SELECT * FROM images", "FROM images AS i", "SELECT i.*, 1 FROM images AS i, (SELECT 2) AS b"):
        assert lake.sql(query).notes == TOLD
    assert "image" in lake.sql("SELECT image, * FROM images").columns


@pytest.mark.parametrize(
    "query",
    [
        "SELECT image, * FROM images",
        "SELECT key FROM images",
        "SELECT count(*) FROM images",
        "SELECT b.* FROM images AS i, (SELECT 2) AS b",
        "SELECT key FROM (SELECT * FROM images)",
        "DESCRIBE images",
        "SUMMARIZE images",
        "SELECT * FROM meta.tables",
    ],
)
def test_what_leaves_out_none(lake, query):
    assert lake.sql(query).notes == []


def test_a_star_that_stands_for_them(lake):
    with lake.session(with_bytes=True) as session:
        assert session.sql("SELECT * FROM images").notes == []


def test_no_picture_that_can_be_read(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1, 2], uri=["http://a/1.png", "/nowhere/2.png"])})
    assert disk_lake.sql("SELECT * FROM images").notes == []
