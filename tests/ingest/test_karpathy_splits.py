"""Karpathy's splits are captions of images that are called as COCO, or the files of Flickr, call them."""

from __future__ import annotations

import json

import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import SourceError


def written(path, images):
    path.write_text(json.dumps({"images": images, "dataset": "flickr30k"}))
    return path


def image(number, *texts, **more):
    sentences = [{"tokens": t.lower().split(), "raw": t, "imgid": number, "sentid": i} for i, t in enumerate(texts)]
    ids = [s["sentid"] for s in sentences]
    return {
        "sentids": ids,
        "imgid": number,
        "sentences": sentences,
        "split": "train",
        "filename": f"{number}.jpg",
    } | more


@pytest.fixture
def lake(tmp_path):
    return cb.connect(tmp_path / "a.lake")


def rows(lake):
    query = "SELECT key, split, text FROM images JOIN captions USING (image_id) ORDER BY ALL"
    return lake.sql(query).fetchall()


def test_images_and_sentences(lake, tmp_path):
    path = written(
        tmp_path / "dataset_flickr30k.json", [image(36, "A man.", "A dog."), image(37, "A cat.", split="val")]
    )
    report = lake.ingest(path)
    assert rows(lake) == [("36", "train", "A dog."), ("36", "train", "A man."), ("37", "val", "A cat.")]
    assert report.rejected == 0
    assert lake.ingest(path).changed == 0


def test_they_meet_the_images_of_coco(lake, tmp_path):
    listed = [{"id": 391895, "file_name": "COCO_val2014_000000391895.jpg", "width": 4, "height": 3}]
    (tmp_path / "coco.json").write_text(json.dumps({"images": listed, "annotations": []}))
    lake.ingest(tmp_path / "coco.json")
    before = lake.sql("SELECT count(*) FROM images").fetchall()
    own = image(0, "A man on a bike.", filepath="val2014", filename="COCO_val2014_000000391895.jpg", cocoid=391895)
    lake.ingest(written(tmp_path / "dataset_coco.json", [own | {"split": "restval"}]))
    assert lake.sql("SELECT count(*) FROM images").fetchall() == before
    assert [key for key, _, _ in rows(lake)] == ["391895"]


def test_pictures_beside_are_theirs(lake, tmp_path):
    folder = tmp_path / "flickr"
    (folder / "flickr30k-images").mkdir(parents=True)
    Image.new("RGB", (8, 6)).save(folder / "flickr30k-images" / "36.jpg")
    written(folder / "dataset_flickr30k.json", [image(36, "A man.")])
    lake.ingest(folder)
    assert lake.sql("SELECT width, text FROM images JOIN captions USING (image_id)").fetchall() == [(8, "A man.")]


def test_what_is_no_image_is_refused_one_by_one(lake, tmp_path):
    odd = [7, {"filename": "a.jpg"}, image(1, "A man."), image(2, "No name.", filename=None), image(3, "A cat.")]
    odd[4]["sentences"] += [{"tokens": []}, 5, "Plain text."]
    report = lake.ingest(written(tmp_path / "a.json", odd))
    assert rows(lake) == [("1", "train", "A man."), ("3", "train", "A cat."), ("3", "train", "Plain text.")]
    assert report.rejected == 5


def test_a_file_of_something_else_is_refused(lake, tmp_path):
    path = written(tmp_path / "a.json", [])
    with pytest.raises(SourceError) as caught:
        lake.ingest(path, format="karpathy")
    assert caught.value.code == "E4029"


def test_names_and_texts_that_cannot_be_stored(lake, tmp_path):
    odd = [image(n, "A man.", filename=name) for n, name in enumerate(("../2", "a\n.jpg", "\ud800.jpg", "/etc/passwd"))]
    odd += [image(5, "\ud800", "A cat."), image(6, "A dog.", cocoid=True)]
    lake.ingest(written(tmp_path / "a.json", odd))
    assert rows(lake) == [("5", "train", "A cat."), ("6", "train", "A dog.")]
    codes = lake.sql("SELECT code FROM meta.errors ORDER BY 1").fetchall()
    assert [c for (c,) in codes] == ["bad_file_name"] * 3 + ["bad_utf8"] * 2
