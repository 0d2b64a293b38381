"""Pascal VOC becomes pictures, boxes and labels of boxes: those that torchvision's own parser reads."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from PIL import Image

import counterbalance as cb

XML = """<annotation>
	<folder>VOC2012</folder>
	<filename>2007_000027.jpg</filename>
	<source><database>The VOC2007 Database</database><annotation>PASCAL VOC2007</annotation><image>flickr</image></source>
	<size><width>486</width><height>500</height><depth>3</depth></size>
	<segmented>0</segmented>
	<object>
		<name>person</name><pose>Unspecified</pose><truncated>0</truncated><difficult>1</difficult>
		<bndbox><xmin>174</xmin><ymin>101</ymin><xmax>349</xmax><ymax>351</ymax></bndbox>
		<part><name>head</name><bndbox><xmin>169</xmin><ymin>104</ymin><xmax>209</xmax><ymax>146</ymax></bndbox></part>
		<actions><jumping>0</jumping><walking>1</walking></actions>
	</object>
	<object>
		<name>dog</name><pose>Left</pose><truncated>1</truncated><occluded>0</occluded><difficult>0</difficult>
		<attributes><attribute><name>gender</name><value>Female</value></attribute></attributes>
		<bndbox><xmax>486</xmax><xmin>1</xmin><ymax>500</ymax><ymin>1</ymin></bndbox>
	</object>
</annotation>
"""


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "VOC2012"
    for sub in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (root / sub).mkdir(parents=True)
    for name in ("2007_000027", "2007_000032", "2007_000033"):
        Image.new("RGB", (486, 500)).save(root / "JPEGImages" / f"{name}.jpg")
    (root / "Annotations" / "2007_000027.xml").write_text(XML)
    (root / "Annotations" / "2007_000032.xml").write_text(
        "<annotation><filename>2007_000032.jpg</filename></annotation>"
    )
    (root / "ImageSets" / "Main" / "train.txt").write_text("2007_000027\n")
    (root / "ImageSets" / "Main" / "val.txt").write_text("2007_000032\n")
    (root / "ImageSets" / "Main" / "trainval.txt").write_text("2007_000027\n2007_000032\n")
    (root / "ImageSets" / "Main" / "dog_val.txt").write_text("2007_000032 -1\n")
    return root


def boxes_of(lake):
    return lake.sql("SELECT category, x, y, width, height, origin FROM detections ORDER BY category").fetchall()


def test_boxes_as_torchvision_reads_them(tmp_path, folder):
    detection = pytest.importorskip("torchvision.datasets.voc").VOCDetection
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(folder))
    assert (report.format, report.rejected) == ("voc", 0)
    parsed = detection.parse_voc_xml(ET.fromstring(XML))["annotation"]["object"]
    expected = []
    for one in (
        [*parsed, *parsed[0]["part"]] if isinstance(parsed[0].get("part"), list) else [*parsed, parsed[0]["part"]]
    ):
        left, top, right, bottom = (int(one["bndbox"][c]) for c in ("xmin", "ymin", "xmax", "ymax"))
        expected.append((one["name"], left - 1, top - 1, right - left + 1, bottom - top + 1, "human"))
    assert boxes_of(lake) == sorted(expected)


def test_pictures_and_splits(tmp_path, folder):
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder))
    assert lake.sql("SELECT key, split, width FROM images ORDER BY key").fetchall() == [
        ("JPEGImages/2007_000027.jpg", "train", 486),
        ("JPEGImages/2007_000032.jpg", "val", 486),
        ("JPEGImages/2007_000033.jpg", None, 486),
    ]
    assert lake.ingest(str(folder / "Annotations"), "voc").written == 0


def test_what_is_said_of_an_object_is_a_label_of_its_box(tmp_path, folder):
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder), annotator="alice")
    sql = "SELECT category, attribute, value, annotator FROM labels JOIN detections USING (detection_id) ORDER BY ALL"
    rows = [("dog", "pose", "Left"), ("dog", "truncated", "1")]
    people = [("person", "difficult", "1"), ("person", "jumping", "0"), ("person", "walking", "1")]
    assert lake.sql(sql).fetchall() == [(*row, "alice") for row in rows + people]
    shown = cb.connect(tmp_path / "l.lake").session(sensitive="a test").sql(sql).fetchall()
    assert ("dog", "perceived_gender", "female", "alice") in shown


def test_without_pictures_the_annotations_say_their_sizes(tmp_path, folder):
    (folder / "JPEGImages").rename(tmp_path / "elsewhere")
    lake = cb.connect(tmp_path / "l.lake")
    assert lake.ingest(str(folder)).rejected == 0
    rows = lake.sql("SELECT key, uri, width, height FROM images ORDER BY key").fetchall()
    assert rows == [
        ("2007_000027.jpg", "2007_000027.jpg", 486, 500),
        ("2007_000032.jpg", "2007_000032.jpg", None, None),
    ]
    assert lake.ingest(str(folder), images=str(tmp_path / "elsewhere")).by_table["images"].updated == 2


def test_boxes_that_will_not_do_are_refused_one_by_one(tmp_path, folder):
    bad = XML.replace("<xmax>349</xmax>", "<xmax>9999</xmax>").replace("<xmin>169</xmin>", "<xmin>left</xmin>")
    (folder / "Annotations" / "2007_000027.xml").write_text(bad)
    (folder / "Annotations" / "x.xml").write_text("<annotation><filename>../../etc/passwd</filename></annotation>")
    (folder / "Annotations" / "y.xml").write_text("<annotation><object></annotation>")
    (folder / "JPEGImages" / "2007_000032.jpg").write_bytes(b"<html>")
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder))
    rows = lake.sql("SELECT position, code FROM meta.errors ORDER BY ALL").fetchall()
    assert rows == [
        ("Annotations/2007_000027.xml: object 1", "bad_box"),
        ("Annotations/2007_000027.xml: object 1, part 'head'", "bad_box"),
        ("Annotations/2007_000032.xml", "missing_image"),
        ("Annotations/x.xml", "bad_file_name"),
        ("Annotations/y.xml", "bad_xml"),
        ("JPEGImages/2007_000032.jpg", "not_an_image"),
    ]
    assert [row[0] for row in boxes_of(lake)] == ["dog"]
