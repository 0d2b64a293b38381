"""Files of annotations and names are not read through links that lead out of the folder that was named."""

from __future__ import annotations

import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import SourceError

BOX = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
VOC = f"<annotation><filename>a.jpg</filename><object><name>secret</name>{BOX}</object></annotation>"
CVAT = '<annotations><image name="a.jpg"><box label="secret" xtl="1" ytl="1" xbr="9" ybr="9"/></image></annotations>'


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "set"
    root.mkdir()
    Image.new("RGB", (64, 48)).save(root / "a.jpg")
    return root


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [("a.txt", "0 0.5 0.5 0.1 0.1\n", "yolo"), ("a.xml", VOC, "voc"), ("annotations.xml", CVAT, "cvat")],
)
def test_annotations(tmp_path, folder, name, text, form):
    (tmp_path / "outside").write_text(text)
    (folder / name).symlink_to(tmp_path / "outside")
    if form == "yolo":
        (folder / "data.yaml").write_text("names: [person]\n")
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder), form)
    assert lake.sql("SELECT position, code FROM meta.errors").fetchall() == [(name, "link_out")]
    assert lake.sql("SELECT count(*) FROM images").fetchall() == [(1,)]
    assert lake.sql("SELECT count(*) FROM detections").fetchall() == [(0,)]


@pytest.mark.parametrize("name", ["data.yaml", "classes.txt"])
def test_names_of_classes(tmp_path, folder, name):
    (tmp_path / "outside").write_text("names: [secret]\n")
    (folder / name).symlink_to(tmp_path / "outside")
    (folder / "a.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    with pytest.raises(SourceError, match="links that lead out") as caught:
        cb.connect(tmp_path / "l.lake").ingest(str(folder), "yolo")
    assert caught.value.code == "E4025"


def test_links_within_the_folder_and_a_file_that_is_named(tmp_path, folder):
    (folder / "one").mkdir()
    (folder / "one" / "other").write_text(VOC)
    (folder / "a.xml").symlink_to(folder / "one" / "other")
    lake = cb.connect(tmp_path / "l.lake")
    assert lake.ingest(str(folder)).rejected == 0
    (tmp_path / "named.xml").symlink_to(folder / "one" / "other")
    assert lake.ingest(str(tmp_path / "named.xml"), images=str(folder)).rejected == 0
