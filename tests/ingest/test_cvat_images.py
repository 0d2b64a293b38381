"""CVAT's document of pictures becomes pictures, boxes, and labels of both, beside the pictures or without them."""

from __future__ import annotations

import pytest
from PIL import Image

import counterbalance as cb

XML = """<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta><task><id>4</id><name>people</name><labels><label><name>person</name></label></labels></task></meta>
  <image id="0" name="day/1.jpg" subset="Train" task_id="4" width="64" height="48">
    <box label="person" source="manual" occluded="1" xtl="1.50" ytl="2.00" xbr="20.00" ybr="30.00" z_order="0">
      <attribute name="gender">Female</attribute>
      <attribute name="hat">yes</attribute>
    </box>
    <box label="turned" source="manual" occluded="0" rotation="90.0" xtl="10" ytl="20" xbr="30" ybr="24" z_order="0"></box>
    <polygon label="dog" source="manual" occluded="0" points="1.00,2.00;3.00,4.00;5.00,1.00" z_order="0"></polygon>
    <ellipse label="ball" source="manual" occluded="0" cx="10" cy="10" rx="4" ry="2" z_order="0"></ellipse>
    <mask label="cat" source="semi-auto" occluded="0" rle="1, 1" left="3" top="4" width="2" height="1" z_order="0"></mask>
    <polyline label="way" source="manual" occluded="0" points="1,2;3,4" z_order="0"></polyline>
    <tag label="outdoor" source="manual"><attribute name="weather">dry</attribute></tag>
  </image>
  <image id="1" name="night/1.jpg" subset="default" width="64" height="48"></image>
</annotations>
"""


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "task"
    for part in ("day", "night", "extra"):
        (root / "images" / part).mkdir(parents=True)
        Image.new("RGB", (64, 48), "navy" if part == "day" else "red").save(root / "images" / part / "1.jpg")
    (root / "annotations.xml").write_text(XML)
    return root


def test_shapes(tmp_path, folder):
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(folder))
    assert (report.format, report.rejected) == ("cvat", 1)
    rows = lake.sql("SELECT category, x, y, width, height, origin FROM detections ORDER BY category").fetchall()
    assert rows == [
        ("ball", 6, 8, 8, 4, "human"),
        ("cat", 3, 4, 2, 1, "human"),
        ("dog", 1, 1, 4, 3, "human"),
        ("person", 1.5, 2, 18.5, 28, "human"),
        ("turned", 18, 12, 4, 20, "human"),
    ]
    assert lake.sql("SELECT position, code FROM meta.errors").fetchall() == [
        ("annotations.xml: image 1, polyline 6", "unknown_shape")
    ]
    assert lake.ingest(str(folder)).written == 0


def test_pictures_are_met_by_their_paths(tmp_path, folder):
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder))
    assert lake.sql("SELECT key, split FROM images ORDER BY key").fetchall() == [
        ("images/day/1.jpg", "train"),
        ("images/extra/1.jpg", None),
        ("images/night/1.jpg", None),
    ]


def test_attributes_and_tags_are_labels(tmp_path, folder):
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder))
    sql = "SELECT attribute, value, detection_id IS NULL FROM labels ORDER BY attribute"
    assert lake.sql(sql).fetchall() == [
        ("hat", "yes", False),
        ("occluded", "1", False),
        ("tag", "outdoor", True),
        ("weather", "dry", True),
    ]
    shown = lake.session(sensitive="a test").sql(sql).fetchall()
    assert ("perceived_gender", "female", False) in shown


def test_the_document_alone(tmp_path, folder):
    lake = cb.connect(tmp_path / "l.lake")
    (tmp_path / "alone").mkdir()
    document = (folder / "annotations.xml").rename(tmp_path / "alone" / "people.xml")
    assert lake.ingest(str(document)).format == "cvat"
    rows = lake.sql("SELECT key, uri, width FROM images ORDER BY key").fetchall()
    assert rows == [("day/1.jpg", "day/1.jpg", 64), ("night/1.jpg", "night/1.jpg", 64)]


@pytest.mark.parametrize("angle", ["inf", "nan", "much"])
def test_an_angle_that_is_none(tmp_path, folder, angle):
    (folder / "annotations.xml").write_text(XML.replace('rotation="90.0"', f'rotation="{angle}"'))
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder))
    assert lake.sql("SELECT position FROM meta.errors WHERE code = 'bad_box'").fetchall() == [
        ("annotations.xml: image 1, box 2",)
    ]


def test_names_and_values_that_are_too_long(tmp_path, folder):
    long = "x" * 20_000
    text = XML.replace(">yes<", f">{long}<").replace('label="dog"', f'label="{long}"').replace(">dry<", f">{long}<")
    (folder / "annotations.xml").write_text(text)
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder))
    assert lake.sql("SELECT position FROM meta.errors WHERE code = 'too_long' ORDER BY 1").fetchall() == [
        ("annotations.xml: image 1, box 1",),
        ("annotations.xml: image 1, polygon 3",),
        ("images/day/1.jpg",),
    ]
    assert lake.sql("SELECT category FROM detections ORDER BY 1").fetchall() == [("ball",), ("cat",), ("turned",)]


def test_what_will_not_do_is_refused(tmp_path, folder):
    bad = XML.replace('xbr="20.00"', 'xbr="2000"').replace("1.00,2.00", "1.00").replace("night/1.jpg", "../night.jpg")
    track = '<track id="0" label="person"><box frame="0" xtl="1" ytl="1" xbr="2" ybr="2"/></track></annotations>'
    (folder / "annotations.xml").write_text(bad.replace("</annotations>", track))
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder / "annotations.xml"))
    assert lake.sql("SELECT position, code FROM meta.errors ORDER BY ALL").fetchall() == [
        ("annotations.xml: image 1, box 1", "bad_box"),
        ("annotations.xml: image 1, polygon 3", "bad_box"),
        ("annotations.xml: image 1, polyline 6", "unknown_shape"),
        ("annotations.xml: image 2", "bad_file_name"),
        ("annotations.xml: track 3", "bad_item"),
    ]
