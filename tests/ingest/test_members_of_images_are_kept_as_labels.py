"""Members of the images of JSON documents are labels of those images where ``--keep`` names them."""

from __future__ import annotations

import json

import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError

COCO = {
    "images": [
        {"id": 7, "file_name": "a.jpg", "Photographer": "Ann", "year": 1999, "tags": ["x"]},
        {"id": 8, "file_name": "b.jpg", "year": None, "tags": "y"},
        {"id": "nine", "file_name": "c.jpg", "Photographer": "Eve", "year": 2001.0},
    ],
    "annotations": [],
}
KARPATHY = {
    "images": [
        {"filename": "1.jpg", "imgid": 3, "sentids": [7], "split": "val", "sentences": [{"raw": "a"}, {"raw": "b"}]}
    ]
}


@pytest.fixture
def lake(tmp_path):
    return cb.connect(tmp_path / "a.lake")


def labels(lake):
    return lake.sql(
        "SELECT key, attribute, value, annotator FROM labels JOIN images USING (image_id) ORDER BY ALL"
    ).fetchall()


def written(path, document):
    path.write_text(json.dumps(document))
    return path


def test_of_coco(lake, tmp_path):
    report = lake.ingest(written(tmp_path / "a.json", COCO), keep=["photographer", "year", "tags"])
    assert labels(lake) == [
        ("7", "Photographer", "Ann", "source"),
        ("7", "tags", '["x"]', "source"),
        ("7", "year", "1999", "source"),
        ("8", "tags", "y", "source"),
        ("nine", "Photographer", "Eve", "source"),
        ("nine", "year", "2001", "source"),
    ]
    assert not [note for note in report.notes if "tags" in note]
    assert lake.ingest(tmp_path / "a.json", keep=["photographer", "year", "tags"]).changed == 0


def test_of_coco_whose_pictures_are_stored(lake, tmp_path):
    for name in "ab":
        Image.new("RGB", (8, 6)).save(tmp_path / f"{name}.jpg")
    document = {"images": COCO["images"][:2], "annotations": []}
    report = lake.ingest(
        written(tmp_path / "a.json", document),
        "coco",
        images=str(tmp_path),
        store_images=True,
        keep="Photographer",
        annotator="eve",
    )
    assert (labels(lake), report.rejected) == ([("7", "Photographer", "Ann", "eve")], 0)


def test_of_karpathys_files(lake, tmp_path):
    lake.ingest(written(tmp_path / "a.json", KARPATHY), keep="imgid")
    assert labels(lake) == [("1", "imgid", "3", "source")]


@pytest.mark.parametrize("document", [COCO, KARPATHY])
def test_a_member_that_is_not_there(lake, tmp_path, document):
    with pytest.raises(NotFoundError, match="no column 'hue'") as caught:
        lake.ingest(written(tmp_path / "a.json", document), keep="hue")
    assert caught.value.code == "E1002"
    assert not (tmp_path / "a.lake").exists()


def test_in_a_folder_with_tables(lake, tmp_path):
    (tmp_path / "set").mkdir()
    written(tmp_path / "set" / "a.json", COCO)
    (tmp_path / "set" / "b.csv").write_text("image,caption,mood\n7,a cat,calm\n")
    report = lake.ingest(tmp_path / "set", keep=["mood", "year"])
    assert report.format == "coco, captions"
    assert [(key, attribute) for key, attribute, *_ in labels(lake)] == [("7", "mood"), ("7", "year"), ("nine", "year")]
