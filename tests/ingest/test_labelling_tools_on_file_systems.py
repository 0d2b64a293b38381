"""Folders of labelling tools are read from any file system, and by lists and patterns of their files."""

from __future__ import annotations

import fsspec
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb

BOX = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"


def picture():
    return image_bytes(Image.new("RGB", (64, 48)))


def voc(name):
    return f"<annotation><filename>{name}.png</filename><object><name>cat</name>{BOX}</object></annotation>".encode()


FILES = {
    "voc/JPEGImages/a.png": picture(),
    "voc/JPEGImages/b.png": picture(),
    "voc/Annotations/a.xml": voc("a"),
    "voc/Annotations/b.xml": voc("b"),
    "yolo/images/a.png": picture(),
    "yolo/labels/a.txt": b"0 0.5 0.5 0.5 0.5\n",
    "yolo/data.yaml": b"names: [cat]\n",
    "cvat/images/a.png": picture(),
    "cvat/annotations.xml": b'<annotations><image name="a.png"><box label="cat" xtl="1" ytl="1" xbr="9" ybr="9"/></image></annotations>',
}


@pytest.mark.parametrize(("name", "boxes"), [("voc", 2), ("yolo", 1), ("cvat", 1)])
def test_in_memory(tmp_path, name, boxes):
    fsspec.filesystem("memory").pipe({f"/tools/{k}": v for k, v in FILES.items()})
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(f"memory://tools/{name}")
    assert (report.format, report.rejected, report.by_table["detections"].written) == (name, 0, boxes)
    assert lake.sql("SELECT count(*) FROM images WHERE width = 64").fetchall() == [(boxes,)]


@pytest.mark.parametrize("source", ["{0}/a.xml,{0}/b.xml", "{0}/*.xml", "{0}/{{a,b}}.xml"])
def test_lists_and_patterns(tmp_path, source):
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(source.format(tmp_path / "voc" / "Annotations"))
    assert (report.format, report.rejected, report.by_table["detections"].written) == ("voc", 0, 2)
    assert lake.sql("SELECT key FROM images ORDER BY key").fetchall() == [("JPEGImages/a.png",), ("JPEGImages/b.png",)]
