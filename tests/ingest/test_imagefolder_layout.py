"""A folder of pictures becomes images; folders are splits and classes; bad files are refused one by one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from image_files import image_bytes
from PIL import Image
from reading import rejects_of, rows_of

from counterbalance.engine.errors import NotFoundError, SourceError
from counterbalance.engine.images import sha256
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest import picture_rows
from counterbalance.ingest.hashing import hash63
from counterbalance.ingest.imagefolder import read

DATA = Path(os.environ.get("COUNTERBALANCE_DATA") or Path(__file__).parents[3] / "shared" / "data")


def picture(n=0, kind="PNG"):
    return image_bytes(Image.new("RGB", (40 + n, 30), (n, 1, 2)), kind)


def fill(folder, files):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def load(uri, **options):
    source = read(str(uri), ReadOptions(**options))
    chunks = list(source.chunks)
    tables, rejects = rows_of(chunks), rejects_of(chunks)
    assert sum(c.rows_read for c in chunks) == len(tables["images"]) + len(rejects)
    return tables, rejects, source, chunks


def test_images(tmp_path):
    fill(tmp_path, {"a.png": picture(), "sub/b.jpg": picture(2, "JPEG"), "notes.txt": b"x", ".hidden/c.png": picture()})
    tables, rejects, source, chunks = load(tmp_path)
    assert not rejects
    assert [i["key"] for i in tables["images"]] == ["a.png", "sub/b.jpg"]
    assert tables["images"][1] == {
        "image_id": hash63("sub/b.jpg"),
        "key": "sub/b.jpg",
        "split": None,
        "uri": f"{tmp_path}/sub/b.jpg",
        "width": 42,
        "height": 30,
        "license": None,
        "nsfw": None,
        "source": str(tmp_path),
        "sha256": None,
    }
    assert tables["labels"] == []
    assert sum(c.bytes_read for c in chunks) == source.total_bytes
    assert list(chunks[0].positions["images"]) == ["a.png", "sub/b.jpg"]


def test_stored_pictures(tmp_path, monkeypatch):
    monkeypatch.setattr(picture_rows, "CHUNK_BYTES", 200)
    fill(tmp_path, {f"{i}.png": picture(i) for i in range(9)})
    tables, _, _, chunks = load(tmp_path, store_images=True)
    assert [i["image"] for i in tables["images"]] == [picture(i) for i in range(9)]
    assert [i["sha256"] for i in tables["images"]] == [sha256(picture(i)) for i in range(9)]
    assert len(chunks) > 2


def test_splits_and_classes(tmp_path, hash_columns):
    names = ["train/cat/1.png", "train/dog/2.png", "test/cat/3.png", "test/4.png"]
    fill(tmp_path, {n: picture(i) for i, n in enumerate(names)})
    tables, _, _, _ = load(tmp_path)
    assert [(i["key"], i["split"]) for i in tables["images"]] == [
        ("test/4.png", "test"),
        ("test/cat/3.png", "test"),
        ("train/cat/1.png", "train"),
        ("train/dog/2.png", "train"),
    ]
    assert [b["value"] for b in tables["labels"]] == ["cat", "cat", "dog"]
    ids = hash_columns([hash63("train/dog/2.png")], [None], ["label"], ["folder"]).to_pylist()
    assert tables["labels"][2] == {
        "label_id": ids[0],
        "image_id": hash63("train/dog/2.png"),
        "attribute": "label",
        "value": "dog",
        "annotator": "folder",
    }
    tables, _, _, _ = load(tmp_path, split="all", annotator="me")
    assert {i["split"] for i in tables["images"]} == {"all"}
    assert {b["annotator"] for b in tables["labels"]} == {"me"}


def test_one_folder_is_no_class(tmp_path):
    fill(tmp_path, {f"images/{i}.png": picture() for i in range(2)})
    assert load(tmp_path)[0]["labels"] == []


def test_bad_files_are_refused_and_the_others_are_taken(tmp_path, monkeypatch):
    from counterbalance.ingest import imagefolder

    monkeypatch.setattr(imagefolder, "MAX_BYTES", 5000)
    bad = {"0.png": b"", "1.jpg": b"<html>", "2.png": picture()[:20], "3.tif": b"II*\0", "4.svg": b"<svg/>"}
    fill(tmp_path, bad | {"5.png": picture(), "6.bmp": picture(0, "BMP") + bytes(9000), "7:8.png": picture()})
    (tmp_path / "9.png").symlink_to(tmp_path / "gone.png")
    tables, rejects, _, chunks = load(tmp_path)
    assert [i["key"] for i in tables["images"]] == ["5.png"]
    assert rejects == [
        ("0.png", "empty_image"),
        ("1.jpg", "not_an_image"),
        ("2.png", "bad_image"),
        ("3.tif", "unsupported_format"),
        ("4.svg", "unsupported_format"),
        ("6.bmp", "too_big"),
        ("'7:8.png'", "bad_name"),
        ("9.png", "unreadable"),
    ]
    assert {r.source for c in chunks for r in c.rejects} == {str(tmp_path)}


def test_a_file_that_cannot_be_opened_is_refused(tmp_path, monkeypatch):
    from counterbalance.ingest.files import File

    fill(tmp_path, {"a.png": picture(), "b.png": picture()})
    opened = File.open

    def fails(self):
        if self.name == "a.png":
            raise SourceError("cannot read a.png: I/O error", code="E4001")
        return opened(self)

    monkeypatch.setattr(File, "open", fails)
    tables, rejects, _, _ = load(tmp_path)
    assert rejects == [("a.png", "unreadable")]
    assert len(tables["images"]) == 1


@pytest.mark.parametrize("limit", [1, 2, 9])
def test_limit(tmp_path, limit):
    fill(tmp_path, {f"{i}.png": picture(i) for i in range(3)})
    assert len(load(tmp_path, limit=limit)[0]["images"]) == min(limit, 3)


def test_globs_and_memory(tmp_path):
    import fsspec

    fill(tmp_path, {"a/1.png": picture(), "b/2.png": picture(), "b/3.jpg": picture(0, "JPEG")})
    assert [i["key"] for i in load(f"{tmp_path}/*/*.png")[0]["images"]] == ["a/1.png", "b/2.png"]
    fsspec.filesystem("memory").pipe("/folder-test/train/x.png", picture())
    tables, _, _, _ = load("memory://folder-test")
    assert [(i["key"], i["split"], i["uri"]) for i in tables["images"]] == [
        ("train/x.png", "train", "memory:///folder-test/train/x.png")
    ]


def test_a_folder_without_pictures_is_one_error(tmp_path):
    with pytest.raises(NotFoundError):
        read(str(tmp_path / "nowhere"), ReadOptions())
    (tmp_path / "metadata.csv").write_text("file_name\n1.png\n")
    with pytest.raises(SourceError, match="holds no pictures"):
        read(str(tmp_path), ReadOptions())


def test_real_photographs():
    folder = DATA / "coco-mini"
    if not folder.exists():
        pytest.skip(f"no real data at {DATA}; set COUNTERBALANCE_DATA")
    tables, rejects, _, _ = load(folder)
    assert not rejects
    assert len(tables["images"]) == 159
    assert {i["split"] for i in tables["images"]} == {"train2017", "val2017"}
    for row in tables["images"]:
        with Image.open(row["uri"]) as opened:
            assert (row["width"], row["height"]) == opened.size
    assert tables["labels"] == []


def test_files_that_are_not_called_like_pictures_are_counted(tmp_path):
    fill(tmp_path, {"a.png": picture(1), "b": picture(2), "c.dat": b"x", "d/e": b"y", ".hidden": b"z", "f": b"u"})
    source = read(str(tmp_path), ReadOptions())
    assert sum(len(c.tables.get("images", ())) for c in source.chunks) == 1
    assert source.notes == ["4 files are not called like a picture: b, c.dat, e, …"]
