"""Folders of labelling tools are told by their content, with the pictures, captions and COCO files that lie beside."""

from __future__ import annotations

import json

import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.auto import told


@pytest.fixture
def pictures(tmp_path):
    root = tmp_path / "set"
    (root / "images").mkdir(parents=True)
    for name in ("a", "b"):
        Image.new("RGB", (64, 48), "navy").save(root / "images" / f"{name}.jpg")
    return root


def yolo(root):
    (root / "labels").mkdir()
    (root / "labels" / "a.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    (root / "data.yaml").write_text("train: images\nnames: [person]\n")


def voc(root):
    (root / "Annotations").mkdir()
    box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
    text = f"<annotation><filename>a.jpg</filename><object><name>person</name>{box}</object></annotation>"
    (root / "Annotations" / "a.xml").write_text(text)
    (root / "ImageSets" / "Main").mkdir(parents=True)
    (root / "ImageSets" / "Main" / "train.txt").write_text("a\n")


def cvat(root):
    box = '<box label="person" xtl="1" ytl="1" xbr="9" ybr="9"/>'
    text = f'<annotations><image name="a.jpg" width="64" height="48">{box}</image></annotations>'
    (root / "annotations.xml").write_text(text)


@pytest.mark.parametrize("make", [yolo, voc, cvat])
def test_with_captions_beside(tmp_path, pictures, make):
    make(pictures)
    (pictures / "captions.csv").write_text("image,caption\na.jpg,a man\nb.jpg,a woman\n")
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(pictures))
    assert report.format == f"{make.__name__}, captions"
    rows = "SELECT key, text, category FROM images JOIN captions USING (image_id) LEFT JOIN detections USING (image_id)"
    assert sorted(lake.sql(rows).fetchall(), key=str) == [
        ("images/a.jpg", "a man", "person"),
        ("images/b.jpg", "a woman", None),
    ]


@pytest.mark.parametrize(("make", "name"), [(yolo, "data.yaml"), (voc, "Annotations/a.xml"), (cvat, "annotations.xml")])
def test_a_file_of_them(pictures, make, name):
    make(pictures)
    assert [p.format for p in told(str(pictures / name), ReadOptions())[0]] == [make.__name__]


def test_pictures_with_other_texts_stay_pictures(pictures):
    (pictures / "classes.txt").write_text("person\n")
    (pictures / "notes.yaml").write_text("names: 7\n")
    (pictures / "images" / "a.txt").write_text("a man on a horse\n")
    assert [p.format for p in told(str(pictures), ReadOptions())[0]] == ["imagefolder"]


def test_xml_of_another_kind(tmp_path, pictures):
    (pictures / "feed.xml").write_text("<rss/>")
    parts, notes = told(str(pictures), ReadOptions())
    assert [p.format for p in parts] == ["imagefolder"]
    assert "neither of Pascal VOC nor of CVAT" in notes[0]
    with pytest.raises(SourceError, match="neither of Pascal VOC") as caught:
        told(str(pictures / "feed.xml"), ReadOptions())
    assert caught.value.code == "E4014"


def test_beside_a_coco_file(tmp_path, pictures):
    """Each is read; ids of COCO and paths of pictures are images of their own."""
    cvat(pictures)
    images = [{"id": 1, "file_name": "a.jpg", "width": 64, "height": 48}]
    (pictures / "coco.json").write_text(json.dumps({"images": images, "annotations": []}))
    assert [p.format for p in told(str(pictures), ReadOptions())[0]] == ["coco", "cvat"]


def test_several_tools_and_other_xml_in_one_folder(tmp_path, pictures):
    cvat(pictures)
    voc(pictures)
    (pictures / "zpom.xml").write_text("<project><image name='annotation'/></project>")
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(pictures))
    assert (report.format, report.rejected) == ("voc, cvat", 0)
    assert any("zpom.xml" in note and "outermost" in note for note in report.notes)
    assert lake.sql("SELECT count(*) FROM detections").fetchall() == [(2,)]


def test_a_folder_without_documents_of_the_named_tool(tmp_path, pictures):
    voc(pictures)
    with pytest.raises(SourceError, match="XML of another kind") as caught:
        cb.connect(tmp_path / "l.lake").ingest(str(pictures), "cvat")
    assert caught.value.code == "E4026"
