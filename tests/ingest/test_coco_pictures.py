"""Picture bytes come from the images folder only, are bounded, and what will not do is refused alone."""

from __future__ import annotations

import hashlib
import json

import fsspec
import pytest
from image_files import image_bytes
from PIL import Image
from reading import rejects_of

from counterbalance.engine.errors import NotFoundError, RequestError, SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest import coco_pictures
from counterbalance.ingest.coco import read


def picture(width=20, height=10, kind="JPEG", color=0):
    return image_bytes(Image.new("RGB", (width, height), (color, 0, 0)), kind)


@pytest.fixture
def folder(tmp_path):
    pictures = tmp_path / "pictures"
    (pictures / "sub").mkdir(parents=True)
    (pictures / "a.jpg").write_bytes(picture())
    (pictures / "sub" / "b.png").write_bytes(picture(7, 9, "PNG"))
    (pictures / "page.jpg").write_text("<html>not found</html>")
    (pictures / "empty.jpg").write_bytes(b"")
    (tmp_path / "secret.jpg").write_bytes(picture(color=9))
    return tmp_path


def load(folder, items, split=None, name="x.json", **options):
    (folder / name).write_text(json.dumps({"images": items}))
    options = {"images": str(folder / "pictures"), "store_images": True} | options
    chunks = list(read(str(folder / name), ReadOptions(split=split, **options)).chunks)
    rows = [r for c in chunks for t in c.tables.values() for r in t.to_pylist()]
    rejects = rejects_of(chunks)
    assert sum(c.rows_read for c in chunks) == len(rows) + len(rejects)
    return rows, rejects, chunks


def test_bytes_digest_and_missing_sizes(folder):
    images = [{"id": 1, "file_name": "a.jpg", "width": 640, "height": 480}, {"id": 2, "file_name": "sub/b.png"}]
    rows, rejects, _ = load(folder, images)
    assert not rejects
    for row, name in zip(rows, ("a.jpg", "sub/b.png"), strict=True):
        data = (folder / "pictures" / name).read_bytes()
        assert (row["image"], row["sha256"]) == (data, hashlib.sha256(data).hexdigest())
        assert row["uri"] == str(folder / "pictures" / name)
    assert [(r["width"], r["height"]) for r in rows] == [(640, 480), (7, 9)]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *((n, "bad_file_name") for n in ("../secret.jpg", "/etc/passwd", "sub/../../secret.jpg", "a\\b.jpg", "")),
        *((n, "bad_file_name") for n in ("http://h/a.jpg", "file:///etc/passwd", "memory::a.jpg", "~/a.jpg", None)),
        ("nope.jpg", "missing_image"),
        ("sub", "unreadable_image"),
        ("a.jpg/b", "unreadable_image"),
        ("page.jpg", "not_an_image"),
        ("empty.jpg", "empty_image"),
    ],
)
def test_one_bad_picture_is_refused_alone(folder, name, code):
    images = [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": name}, {"id": 3, "file_name": "sub/b.png"}]
    rows, rejects, _ = load(folder, images)
    assert rejects == [("images[1]", code)]
    assert [r["image_id"] for r in rows] == [1, 3]


def test_a_picture_larger_than_the_limit(folder, monkeypatch):
    monkeypatch.setattr(coco_pictures, "MAX_BYTES", 500)
    (folder / "pictures" / "big.png").write_bytes(picture() + b"\0" * 1000)
    _, rejects, _ = load(folder, [{"id": 1, "file_name": "big.png"}])
    assert rejects == [("images[0]", "too_big")]


def test_chunks_are_bounded_by_bytes(folder, monkeypatch):
    size = len(picture())
    monkeypatch.setattr(coco_pictures, "CHUNK_BYTES", 3 * size)
    monkeypatch.setattr("counterbalance.ingest.chunking.CHUNK_BYTES", 3 * size)
    images = [{"id": i, "file_name": "nope.jpg" if i == 4 else "a.jpg"} for i in range(10)]
    rows, rejects, chunks = load(folder, images)
    assert [r["image_id"] for r in rows] == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert rejects == [("images[4]", "missing_image")]
    for chunk in chunks:
        if "images" in chunk.tables:
            assert chunk.tables["images"].num_rows <= 3
            assert list(chunk.positions["images"]) == [
                f"images[{i}]" for i in chunk.tables["images"]["image_id"].to_pylist()
            ]


def test_without_storing_names_are_joined_and_nothing_is_opened(folder):
    images = [{"id": 1, "file_name": "page.jpg", "coco_url": "http://h/page.jpg"}, {"id": 2, "file_name": "../x.jpg"}]
    rows, rejects, _ = load(folder, images, store_images=None)
    assert [r["uri"] for r in rows] == [str(folder / "pictures" / "page.jpg")]
    assert "image" not in rows[0]
    assert rejects == [("images[1]", "bad_file_name")]


def test_a_folder_named_as_the_split_is_taken(folder):
    (folder / "pictures" / "val2017").mkdir()
    (folder / "pictures" / "val2017" / "a.jpg").write_bytes(picture(3, 3))
    rows, _, _ = load(folder, [{"id": 1, "file_name": "a.jpg"}], name="captions_val2017.json")
    assert (rows[0]["width"], rows[0]["uri"]) == (3, str(folder / "pictures" / "val2017" / "a.jpg"))
    rows, _, _ = load(folder, [{"id": 1, "file_name": "a.jpg"}], name="captions_train2017.json")
    assert rows[0]["uri"] == str(folder / "pictures" / "a.jpg")


def test_pictures_in_another_file_system(folder):
    fsspec.filesystem("memory").pipe({"/cocopics/a.jpg": picture(5, 6)})
    rows, rejects, _ = load(
        folder, [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}], images="memory://cocopics"
    )
    assert [(r["uri"], r["width"], r["height"]) for r in rows] == [("memory:///cocopics/a.jpg", 5, 6)]
    assert rejects == [("images[1]", "missing_image")]


def test_storing_needs_a_folder_that_is_there(folder):
    with pytest.raises(RequestError, match="folder") as caught:
        load(folder, [{"id": 1, "file_name": "a.jpg"}], images=None)
    assert "--images" in caught.value.hint
    with pytest.raises(NotFoundError, match="no folder of pictures"):
        load(folder, [{"id": 1, "file_name": "a.jpg"}], images=str(folder / "nope"))


def test_a_folder_of_this_machine_is_there_though_nothing_is_stored(folder):
    with pytest.raises(NotFoundError, match="no folder of pictures") as caught:
        load(folder, [{"id": 1, "file_name": "a.jpg"}], images=str(folder / "nope"), store_images=None)
    assert "--images" in caught.value.hint


def test_pictures_that_are_not_in_the_folder_are_counted_once(folder):
    names = ["a.jpg", "sub/b.png", "sub/nope.png", "no/c.jpg"]
    for name in ("captions_val.json", "instances_val.json"):
        (folder / name).write_text(json.dumps({"images": [{"id": i, "file_name": n} for i, n in enumerate(names)]}))
    base = folder / "pictures"
    source = read(f"{folder}/*_val.json", ReadOptions(images=str(base)))
    assert [c.tables["images"]["uri"].to_pylist() for c in source.chunks] == [[f"{base}/{n}" for n in names]] * 2
    assert source.notes == [f"2 of 4 pictures were not found in {base}, such as {base}/sub/nope.png"]
    fsspec.filesystem("memory").pipe({"/cocolooked/a.jpg": picture()})
    source = read(f"{folder}/captions_val.json", ReadOptions(images="memory://cocolooked"))
    assert sum(len(c.tables["images"]) for c in source.chunks if c.tables) == 4
    assert [n.partition(" were ")[0] for n in source.notes] == ["3 of 4 pictures"]


def test_a_folder_without_any_of_the_pictures_is_refused(folder):
    with pytest.raises(SourceError, match=r"none of the 2 pictures .* such as .*/pictures/x\.jpg") as caught:
        load(folder, [{"id": 1, "file_name": "x.jpg"}, {"id": 2, "file_name": "y.jpg"}], store_images=None)
    assert caught.value.code == "E4024"
    assert "--images" in caught.value.hint


def test_a_picture_that_several_files_list_is_read_once(folder):
    items = [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "nope.jpg"}]
    (folder / "captions_val.json").write_text(json.dumps({"images": items}))
    (folder / "instances_val.json").write_text(json.dumps({"images": [*items, {"id": 3, "file_name": "sub/b.png"}]}))
    options = ReadOptions(images=str(folder / "pictures"), store_images=True)
    first, second = read(f"{folder}/*_val.json", options).chunks
    assert first.tables["images"].select(["image_id", "sha256"]).to_pylist() == [
        {"image_id": 1, "sha256": hashlib.sha256(picture()).hexdigest()}
    ]
    rows = second.tables["images"].to_pylist()
    assert [(r["image_id"], r["image"] is None, r["sha256"] is None) for r in rows] == [
        (3, False, False),
        (1, True, True),
    ]
    assert list(second.positions["images"]) == ["images[2]", "images[0]"]
    assert [[(r.position, r.code) for r in c.rejects] for c in (first, second)] == [
        [("images[1]", "missing_image")]
    ] * 2
    assert (first.rows_read, second.rows_read) == (2, 3)
