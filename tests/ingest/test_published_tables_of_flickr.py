"""The tables in which the captions of Flickr8k and Flickr30k are published are told by their content and read alike."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import counterbalance as cb

HUB = """raw,sentids,split,filename,img_id
"[""Two young guys, with shaggy \\""hair\\""."", ""Two men.""]","[0, 1]",train,1000092795.jpg,0
"[""A man.""]","[2]",test,36.jpg,1
"""
QUOTE = '"'
TOKEN = 'a.jpg#0\tA man , "asleep .\na.jpg#1\tA dog.\nb_36.JPG#0\tA cat.\n'


@pytest.fixture
def lake(tmp_path):
    return cb.connect(tmp_path / "a.lake")


def rows(lake):
    return lake.sql("SELECT key, split, text FROM images JOIN captions USING (image_id) ORDER BY ALL").fetchall()


def test_that_of_flickr30k_on_the_hub(lake, tmp_path):
    (tmp_path / "flickr_annotations_30k.csv").write_text(HUB)
    report = lake.ingest(tmp_path / "flickr_annotations_30k.csv")
    assert (report.format, report.rejected) == ("captions", 0)
    assert rows(lake) == [
        ("1000092795", "train", "Two men."),
        ("1000092795", "train", 'Two young guys, with shaggy "hair".'),
        ("36", "test", "A man."),
    ]
    assert "left out: sentids, img_id; --keep sentids stores one as labels" in report.notes
    assert lake.ingest(tmp_path / "flickr_annotations_30k.csv").changed == 0


@pytest.mark.parametrize("name", ["results_20130124.token", "Flickr8k.token.txt"])
def test_that_without_a_header(lake, tmp_path, name):
    (tmp_path / name).write_text(TOKEN)
    report = lake.ingest(tmp_path / name)
    assert (report.format, report.rejected) == ("captions", 0)
    assert rows(lake) == [("a", None, "A dog."), ("a", None, 'A man , "asleep .'), ("b_36", None, "A cat.")]


@pytest.mark.parametrize("name", ["results_20130124.token", "Flickr8k.token.txt", "flickr_annotations_30k.csv"])
def test_they_are_read_with_the_pictures_beside_them(lake, tmp_path, name):
    root = tmp_path / "set"
    (root / "flickr30k-images").mkdir(parents=True)
    for stem in ("a.jpg", "b_36.JPG", "36.jpg", "1000092795.jpg"):
        Image.new("RGB", (8, 6)).save(root / "flickr30k-images" / stem)
    (root / name).write_text(HUB if name.endswith(".csv") else TOKEN)
    report = lake.ingest(root)
    assert (report.format, report.rejected) == ("imagefolder, captions", 0)
    assert {(key.rpartition("/")[0]) for key, *_ in rows(lake)} == {"flickr30k-images"}
    assert len(rows(lake)) == 3


@pytest.mark.parametrize("name", ["results_20130124.token", "Flickr8k.token.txt"])
def test_alone_in_a_folder(lake, tmp_path, name):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / name).write_text(TOKEN)
    assert (lake.ingest(tmp_path / "set").format, len(rows(lake))) == ("captions", 3)


@pytest.mark.parametrize("texts", [["a cat", "a dog"], ["a cat", None], []])
def test_lists_of_texts_are_captions_of_any_table(lake, tmp_path, texts):
    table = pa.table({"image": ["a.jpg"], "captions": pa.array([texts], pa.list_(pa.string()))})
    pq.write_table(table, tmp_path / "a.parquet")
    report = lake.ingest(tmp_path / "a.parquet")
    assert [text for *_, text in rows(lake)] == [t for t in texts if t]
    assert report.rejected == (len(texts) != 2) + texts.count(None)


def test_only_lists_of_texts_are_taken_apart(lake, tmp_path):
    cells = ["[unclear] a cat", "[1, 2]", "[]", '["a dog", null, "a man"]']
    lines = [f'{i}.jpg,"{cell.replace(QUOTE, 2 * QUOTE)}"' for i, cell in enumerate(cells)]
    (tmp_path / "a.csv").write_text("\n".join(["image,caption", *lines]))
    assert lake.ingest(tmp_path / "a.csv").rejected == 2
    assert [text for *_, text in rows(lake)] == [*cells[:2], "a dog", "a man"]
