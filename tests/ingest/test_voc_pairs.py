"""Annotations of Pascal VOC meet the pictures of their own folder, and no picture is lost for its name."""

from __future__ import annotations

import pytest
from PIL import Image

import counterbalance as cb

BOX = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"


@pytest.fixture
def lake(tmp_path):
    return cb.connect(tmp_path / "l.lake")


@pytest.fixture
def put(tmp_path):
    """Return a function that makes a picture, or an annotation of ``1.jpg``."""

    def made(path, category="dog"):
        file = tmp_path / "set" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".jpg"):
            Image.new("RGB", (64, 48)).save(file)
        else:
            objects = f"<object><name>{category}</name>{BOX}</object>"
            file.write_text(f"<annotation><filename>1.jpg</filename>{objects}</annotation>")
        return str(tmp_path / "set")

    return made


def found(lake):
    sql = "SELECT key, category FROM images LEFT JOIN detections USING (image_id) ORDER BY key"
    return lake.sql(sql).fetchall()


def test_a_picture_without_annotation_whose_name_has_one_elsewhere(lake, put):
    put("train/1.jpg")
    put("val/1.jpg")
    assert lake.ingest(put("val/1.xml")).format == "voc"
    assert found(lake) == [("train/1.jpg", None), ("val/1.jpg", "dog")]


def test_folders_below(lake, put):
    for sub, category in (("x", "dog"), ("y", "cat")):
        put(f"JPEGImages/{sub}/1.jpg")
        root = put(f"Annotations/{sub}/1.xml", category)
    lake.ingest(root)
    assert found(lake) == [("JPEGImages/x/1.jpg", "dog"), ("JPEGImages/y/1.jpg", "cat")]


def test_a_picture_is_not_given_to_the_annotation_of_one_that_is_gone(lake, put):
    put("JPEGImages/x/1.jpg")
    put("Annotations/x/1.xml")
    lake.ingest(put("Annotations/y/1.xml", "cat"))
    assert found(lake) == [("JPEGImages/x/1.jpg", "dog")]
    rows = lake.sql("SELECT position, code FROM meta.errors").fetchall()
    assert rows == [("Annotations/y/1.xml", "missing_image")]


def test_a_name_that_may_be_several_pictures(lake, put):
    put("x/1.jpg")
    put("y/1.jpg")
    lake.ingest(put("Annotations/1.xml"))
    assert found(lake) == [("x/1.jpg", None), ("y/1.jpg", None)]
    assert "may be 2 pictures" in lake.sql("SELECT message FROM meta.errors").fetchall()[0][0]
