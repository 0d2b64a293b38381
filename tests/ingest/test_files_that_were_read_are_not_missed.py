"""Notes of a folder miss only what was missed: tables that were read are no strange pictures, texts alone name none."""

from __future__ import annotations

import pytest
from PIL import Image

import counterbalance as cb


@pytest.fixture
def report(tmp_path):
    """Ingest a folder of a picture and some files."""

    def ingest(**files):
        root = tmp_path / "set"
        root.mkdir()
        Image.new("RGB", (8, 6)).save(root / "a.png")
        for name, text in files.items():
            (root / name.replace("_", ".")).write_text(text)
        return cb.connect(tmp_path / "a.lake").ingest(root)

    return ingest


def test_a_table_that_was_read(report):
    found = report(caps_csv="image,caption\na.png,a cat\n")
    assert found.format == "imagefolder, captions"
    assert not [n for n in found.notes if "not called like a picture" in n]


def test_the_names_of_classes_of_open_images(report):
    table = "ImageID,Source,LabelName,Confidence\na,machine,/m/1,0.5\n"
    found = report(labels_csv=table, **{"class-descriptions_csv": "/m/1,Cat\n"})
    assert (found.format, found.rejected) == ("imagefolder, openimages", 0)
    assert not [n for n in found.notes if "not called like a picture" in n]


def test_others_beside_it_are_told(report):
    found = report(caps_csv="image,caption\na.png,a cat\n", read_me="hm")
    assert "1 file is not called like a picture: read.me" in found.notes


def test_texts_alone(report):
    found = report(caps_csv="caption\na cat\na dog\n")
    assert "no column names an image: each text is of one of its own" in found.notes
    assert not [n for n in found.notes if "not among the pictures" in n]


def test_texts_of_a_picture_that_is_not_there(report):
    found = report(caps_csv="image,caption\nb.png,a cat\n")
    assert "1 image that captions name is not among the pictures beside them" in found.notes
