"""Links that lead out of a folder of pictures are refused, and nothing of what they lead to is kept; others are followed."""

from __future__ import annotations

import pytest
from image_files import image_bytes
from PIL import Image

SECRET = "TOP-SECRET of somebody else"


def picture(number):
    return image_bytes(Image.new("RGB", (30 + number, 20), (number, 1, 2)))


@pytest.fixture
def folder(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "data"
    (outside / "more").mkdir(parents=True)
    (inside / "sub").mkdir(parents=True)
    (outside / "key.png").write_text(SECRET)
    (outside / "good.png").write_bytes(picture(1))
    (outside / "more" / "b.png").write_bytes(picture(2))
    (outside / "metadata.csv").write_text(f"file_name,{SECRET}\nown.png,{SECRET}\n")
    (inside / "own.png").write_bytes(picture(3))
    return inside


def refused(lake):
    return lake.sql("SELECT position, code FROM meta.errors ORDER BY position").fetchall()


def keys(lake):
    return [r[0] for r in lake.sql("SELECT key FROM images ORDER BY key").fetchall()]


def nothing_leaked(lake):
    assert SECRET[:8] not in str(lake.sql("SELECT * FROM meta.errors").fetchall())
    assert SECRET[:8] not in str(lake.sql("SELECT * FROM labels").fetchall())


@pytest.mark.parametrize("store", [False, True])
def test_links_out_are_refused(folder, disk_lake, store):
    outside = folder.parent / "outside"
    (folder / "key.png").symlink_to(outside / "key.png")
    (folder / "sub" / "good.png").symlink_to("../../outside/good.png")
    (folder / "linked").symlink_to(outside / "more")
    (folder / "metadata.csv").symlink_to(outside / "metadata.csv")
    report = disk_lake.ingest(str(folder), format="imagefolder", store_images=store)
    assert keys(disk_lake) == ["own.png"]
    found = refused(disk_lake)
    assert {("key.png", "link_out"), ("metadata.csv", "link_out"), ("sub/good.png", "link_out")} <= set(found)
    assert {code for _, code in found} == {"link_out"}
    assert report.rows_read == len(found) + 1
    nothing_leaked(disk_lake)


def test_links_inside_are_followed(folder, disk_lake):
    (folder / "again.png").symlink_to("own.png")
    (folder / "sub" / "up.png").symlink_to("../own.png")
    (folder / "sub" / "whole.png").symlink_to(folder / "own.png")
    disk_lake.ingest(str(folder), format="imagefolder")
    assert keys(disk_lake) == ["again.png", "own.png", "sub/up.png", "sub/whole.png"]
    assert refused(disk_lake) == []


def test_the_folder_itself_may_be_a_link(folder, disk_lake):
    (folder.parent / "named").symlink_to(folder)
    disk_lake.ingest(str(folder.parent / "named"), format="imagefolder")
    assert keys(disk_lake) == ["own.png"]
    assert refused(disk_lake) == []


def test_a_neighbour_whose_name_begins_alike_is_outside(folder, disk_lake):
    other = folder.parent / "data-of-others"
    other.mkdir()
    (other / "key.png").write_text(SECRET)
    (folder / "key.png").symlink_to(other / "key.png")
    disk_lake.ingest(str(folder), format="imagefolder")
    assert refused(disk_lake) == [("key.png", "link_out")]
    nothing_leaked(disk_lake)


@pytest.mark.parametrize("pattern", ["{0}/*.png", "{0},{1}", "{0}/own.png,{0}/key.png"])
def test_globs_and_lists(folder, disk_lake, pattern):
    second = folder.parent / "second"
    second.mkdir()
    (second / "two.png").write_bytes(picture(4))
    (folder / "key.png").symlink_to(folder.parent / "outside" / "key.png")
    (folder / "across.png").symlink_to(second / "two.png")
    disk_lake.ingest(pattern.format(folder, second), format="imagefolder")
    codes = [code for position, code in refused(disk_lake) if position.endswith("key.png")]
    assert codes == ["link_out"]
    nothing_leaked(disk_lake)
