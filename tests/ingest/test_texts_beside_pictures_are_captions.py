"""A text that is called like the picture beside it is its caption, as captioning tools write them."""

from __future__ import annotations

import pytest
from PIL import Image

import counterbalance as cb


@pytest.fixture
def folder(tmp_path):
    for i, place in enumerate(("train/0", "train/1", "val/sub/2")):
        path = tmp_path / "set" / f"{place}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8 + i, 6)).save(path)
        path.with_suffix(".txt").write_text(f"a man, {i}\n")
    return tmp_path / "set"


@pytest.fixture
def lake(tmp_path):
    return cb.connect(tmp_path / "a.lake")


def texts(lake):
    return lake.sql("SELECT key, text FROM images LEFT JOIN captions USING (image_id) ORDER BY key").fetchall()


@pytest.mark.parametrize("format_", ["auto", "imagefolder"])
def test_every_picture_has_its_own(lake, folder, format_):
    report = lake.ingest(folder, format_)
    assert "3 captions are looked for in texts called like a picture: 0.txt, 1.txt, 2.txt" in report.notes
    assert not [note for note in report.notes if "not called like a picture" in note]
    assert texts(lake) == [("train/0.png", "a man, 0"), ("train/1.png", "a man, 1"), ("val/sub/2.png", "a man, 2")]
    assert not lake.ingest(folder, format_).changed


def test_other_texts_are_none(lake, folder, tmp_path):
    (folder / "train" / "0.txt").write_text("0 0.5 0.5 0.1 0.1\n1 .2 .2 .1 .1\n")
    (folder / "train" / "1.txt").write_bytes(b"\xff\xfe")
    (folder / "notes.txt").write_text("mine")
    (tmp_path / "secret").write_text("a secret")
    (folder / "val" / "sub" / "2.txt").unlink()
    (folder / "val" / "sub" / "2.txt").symlink_to(tmp_path / "secret")
    report = lake.ingest(folder, "imagefolder")
    assert "1 file is not called like a picture: notes.txt" in report.notes
    assert [text for _, text in texts(lake)] == [None] * 3
    refused = lake.sql("SELECT position, code FROM meta.errors ORDER BY position").fetchall()
    assert refused == [("train/1.txt", "bad_utf8"), ("val/sub/2.txt", "link_out")]


def test_a_text_without_words_is_no_caption(lake, folder):
    (folder / "train" / "0.txt").write_text(" \n")
    lake.ingest(folder)
    assert texts(lake)[0] == ("train/0.png", None)
