"""Files of boxes for YOLO are known as they are read: whatever their line ends and endings, and where they lie is told."""

from __future__ import annotations

import pytest
from PIL import Image

import counterbalance as cb


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "set"
    for sub in ("images", "labels", "my_labels"):
        (root / sub).mkdir(parents=True)
    Image.new("RGB", (64, 48)).save(root / "images" / "A.JPG", "JPEG")
    (root / "data.yml").write_text("names: [person]\n")
    return root


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("A.txt", b"\xef\xbb\xbf0 0.5 0.5 0.1 0.1\n"),
        ("A.TXT", b"0 0.5 0.5 0.1 0.1\n"),
        ("A.txt", b"0 0.5 0.5 0.1 0.1\r0 0.5 0.5 0.1 0.1\r"),
    ],
)
def test_told_and_read(tmp_path, folder, name, data):
    (folder / "labels" / name).write_bytes(data)
    lake = cb.connect(tmp_path / "l.lake")
    assert lake.ingest(str(folder)).format == "yolo"
    assert lake.sql("SELECT count(*) FROM detections").fetchall() == [(1,)]


def test_without_names_of_classes(tmp_path, folder):
    (folder / "data.yml").unlink()
    (folder / "labels" / "A.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    report = cb.connect(tmp_path / "l.lake").ingest(str(folder))
    assert report.format == "imagefolder"
    assert any("A.txt looks like boxes of YOLO" in note and "write data.yaml" in note for note in report.notes)


def test_in_a_folder_of_another_name(tmp_path, folder):
    (folder / "labels" / "A.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    (folder / "my_labels" / "b.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    (folder / "README.txt").write_text("nothing\n")
    report = cb.connect(tmp_path / "l.lake").ingest(str(folder))
    assert any("my_labels/b.txt in my_labels" in note for note in report.notes)
    assert not any("README" in note for note in report.notes)
