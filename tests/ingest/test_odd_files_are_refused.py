"""What is not a plain file, or has a name that is not a text, is one refused item; it is never opened, and the others are read."""

from __future__ import annotations

import json
import os
import socket

import pytest
from archives import tar_bytes
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.errors import SourceError


def picture(number):
    return image_bytes(Image.new("RGB", (30 + number, 20), (number, 1, 2)))


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "data"
    inside.mkdir()
    for number in range(3):
        (inside / f"{number}.png").write_bytes(picture(number))
    return inside


def found(lake):
    keys = [key for (key,) in lake.sql("SELECT key FROM images ORDER BY 1").fetchall()]
    return keys, lake.sql("SELECT position, code FROM meta.errors ORDER BY 1").fetchall()


@pytest.mark.parametrize("store", [False, True])
def test_names_that_are_no_text_are_refused_one_by_one(folder, disk_lake, store):
    (folder / os.fsdecode(b"sub\xfe")).mkdir()
    for name in (b"b\xff.png", b"sub\xfe/c.png"):
        (folder / os.fsdecode(name)).write_bytes(picture(9))
    report = disk_lake.ingest(str(folder), format="imagefolder", store_images=store)
    keys, refused = found(disk_lake)
    assert keys == ["0.png", "1.png", "2.png"]
    assert refused == [("'b\\udcff.png'", "bad_name"), ("'sub\\udcfe/c.png'", "bad_name")]
    assert report.rows_read == 5


@pytest.mark.timeout(60)
@pytest.mark.parametrize("store", [False, True])
def test_what_is_no_file_is_refused_unopened(folder, disk_lake, store, monkeypatch):
    os.mkfifo(folder / "pipe.png")
    os.mkfifo(folder / "pipe")
    (folder / "nowhere.jpg").symlink_to("nothing.jpg")
    monkeypatch.chdir(folder)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as ear:
        ear.bind("ear.jpg")
        report = disk_lake.ingest(str(folder), format="imagefolder", store_images=store)
    keys, refused = found(disk_lake)
    assert keys == ["0.png", "1.png", "2.png"]
    assert refused == [
        ("ear.jpg", "not_a_file"),
        ("nowhere.jpg", "unreadable"),
        ("pipe", "not_a_file"),
        ("pipe.png", "not_a_file"),
    ]
    assert report.rows_read == 7


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("kind", "ending"), [("webdataset", "tar"), ("laion", "csv"), ("coco", "json")])
@pytest.mark.parametrize("named", ["itself", "folder", "glob"])
def test_a_source_that_is_a_pipe_is_an_error(tmp_path, disk_lake, kind, ending, named):
    inside = tmp_path / "data"
    inside.mkdir()
    os.mkfifo(inside / f"a.{ending}")
    uri = {"itself": inside / f"a.{ending}", "folder": inside, "glob": inside / f"*.{ending}"}[named]
    with pytest.raises(SourceError, match="is a pipe, not a file") as caught:
        disk_lake.ingest(str(uri), format=kind)
    assert caught.value.code == "E4004"


@pytest.mark.timeout(60)
def test_a_picture_of_a_document_that_is_a_pipe_is_refused(folder, tmp_path, disk_lake):
    os.mkfifo(folder / "pipe.png")
    images = [{"id": i + 1, "file_name": name} for i, name in enumerate(["0.png", "pipe.png"])]
    source = tmp_path / "captions.json"
    source.write_text(json.dumps({"images": images, "annotations": []}))
    disk_lake.ingest(str(source), format="coco", images=str(folder), store_images=True)
    assert found(disk_lake)[1] == [("images[1]", "unreadable_image")]


def test_a_source_whose_own_name_is_no_text_is_an_error(tmp_path, disk_lake):
    home = tmp_path / os.fsdecode(b"pictures\xff")
    home.mkdir()
    (home / "a.png").write_bytes(picture(1))
    with pytest.raises(SourceError, match="is not UTF-8") as caught:
        disk_lake.ingest(str(home), format="imagefolder")
    assert caught.value.code == "E4005"


def test_a_shard_whose_name_is_no_text_is_told_readably(tmp_path, disk_lake):
    home = tmp_path / "shards"
    home.mkdir()
    with open(os.fsencode(home) + b"/\xff.tar", "wb") as file:  # noqa: PTH123 - a Path has no name that is not UTF-8
        file.write(tar_bytes([("a.png", picture(1))]))
    disk_lake.ingest(str(home), format="webdataset")
    [(uri,)] = disk_lake.sql("SELECT uri FROM images").fetchall()
    assert uri == f"{home}/\\xff.tar#a.png"


def test_links_to_folders_are_told_and_not_followed(folder, disk_lake, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "far.png").write_bytes(picture(9))
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "loop").symlink_to(folder)
    disk_lake.ingest(str(folder), format="imagefolder")
    keys, errors = found(disk_lake)
    assert keys == ["0.png", "1.png", "2.png"]
    assert errors == [("loop", "not_a_file"), ("out", "link_out")]
