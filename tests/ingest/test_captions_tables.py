"""Captions of any table go to the images they name, whether the lake has these or not, or stand for themselves."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest import captions

FLICKR = """image_name| comment_number| comment
1000092795.jpg| 0| Two young guys with shaggy "hair" .
1000092795.jpg| 1| Two men , one in a gray shirt .
10002456.jpg| 0| Several men in hard hats .
"""


@pytest.fixture
def lake(tmp_path):
    return cb.connect(tmp_path / "a.lake")


def test_the_published_table_of_flickr30k(lake, tmp_path):
    (tmp_path / "results.csv").write_text(FLICKR)
    report = lake.ingest(tmp_path / "results.csv")
    assert (report.by_table["images"].written, report.by_table["captions"].written) == (2, 3)
    assert lake.sql(
        "SELECT key, uri, count(*) FROM images JOIN captions USING (image_id) GROUP BY ALL ORDER BY key"
    ).fetchall() == [
        ("1000092795", "1000092795.jpg", 2),
        ("10002456", "10002456.jpg", 1),
    ]
    texts = {text for (text,) in lake.sql("SELECT text FROM captions").fetchall()}
    assert "Several men in hard hats ." in texts  # without the blank that stands behind each |
    assert report.notes[-1] == "left out: comment_number; --keep comment_number stores it as labels"
    assert lake.ingest(tmp_path / "results.csv").changed == 0


def test_images_that_are_there_stay_as_they_are(lake, tmp_path):
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (8, 6)).save(tmp_path / "pictures" / "a.png")
    lake.ingest(tmp_path / "pictures")
    before = lake.sql("SELECT * FROM images").fetchall()
    (tmp_path / "a.csv").write_text("file_name,caption\na.png,a cat\na.png,a dog\na.png,a cat\n")
    report = lake.ingest(tmp_path / "a.csv")
    assert lake.sql("SELECT * FROM images").fetchall() == before
    assert (report.by_table["captions"].written, report.rejected) == (2, 0)


def test_texts_alone_are_each_of_an_image_of_their_own(lake, tmp_path):
    (tmp_path / "texts.csv").write_text("text\na cat\na cat\n\n")
    report = lake.ingest(tmp_path / "texts.csv")
    assert "no column names an image: each text is of one of its own" in report.notes
    assert lake.sql("SELECT key, text FROM images JOIN captions USING (image_id) ORDER BY key").fetchall() == [
        ("texts.csv:2", "a cat"),
        ("texts.csv:3", "a cat"),
    ]


def test_commas_in_a_table_of_one_column_are_text(lake, tmp_path):
    (tmp_path / "texts.csv").write_text('caption\na cat, asleep\n"a ""big"" dog, awake"\nthe sign "no, no" hangs\n')
    assert lake.ingest(tmp_path / "texts.csv").rejected == 0
    assert [t for (t,) in lake.sql("SELECT text FROM captions ORDER BY text").fetchall()] == [
        'a "big" dog, awake',
        "a cat, asleep",
        'the sign "no, no" hangs',
    ]


def test_columns_are_kept_as_labels_or_told(lake, tmp_path):
    (tmp_path / "a.csv").write_text(
        "image,caption,mood,hue\na.png,a cat,calm,red\na.png,a dog,wild,red\nb.png,x,,red\n"
    )
    report = lake.ingest(tmp_path / "a.csv", keep="mood")
    assert "left out: hue; --keep hue stores it as labels" in report.notes
    assert lake.sql(
        "SELECT key, value FROM labels JOIN images USING (image_id) WHERE attribute = 'mood'"
    ).fetchall() == [
        ("a", "calm")  # an image's first
    ]


def test_rows_without_a_caption_or_image_are_refused(lake, tmp_path):
    (tmp_path / "a.csv").write_text("image,caption\na.png,\n,b\nc.png,d\n")
    report = lake.ingest(tmp_path / "a.csv")
    assert (report.by_table["captions"].written, report.rejected) == (1, 2)
    assert sorted(lake.sql("SELECT code, position FROM meta.errors").fetchall()) == [
        ("missing_caption", "line 2"),
        ("missing_key", "line 3"),
    ]


def test_a_table_without_captions_is_refused(lake, tmp_path):
    (tmp_path / "a.csv").write_text("image,mood\na.png,calm\n")
    with pytest.raises(SourceError, match="no caption column") as caught:
        lake.ingest(tmp_path / "a.csv", "captions")
    assert caught.value.code == "E4010"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.text("xyz ", max_size=4)), min_size=1, max_size=20))
def test_each_image_has_each_text_once(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("any") / "a.jsonl"
    batch = pa.table({"image": [f"{k}.png" for k, _ in rows], "caption": [t for _, t in rows]})
    buffer = io.StringIO()
    batch.to_pandas().to_json(buffer, orient="records", lines=True)
    path.write_text(buffer.getvalue())
    (chunk,) = captions.read(str(path), ReadOptions()).chunks
    texts = chunk.tables["captions"]
    wanted = {(k, t) for k, t in rows if t.strip()}
    assert texts.num_rows == len(wanted) == len(set(texts["caption_id"].to_pylist()))
    assert chunk.tables["images"].num_rows == len({k for k, _ in wanted})
    assert len(chunk.rejects) == sum(not t.strip() for _, t in rows)


@pytest.mark.parametrize("also", [False, True])
def test_a_table_that_meets_no_image_of_the_lake_says_so(lake, tmp_path, also):
    def told(report):
        return [note for note in report.notes if "the lake had" in note]

    (tmp_path / "a.csv").write_text("key,url,caption\n1,http://h/1.jpg,x\n2,http://h/2.jpg,y\n")
    assert not told(lake.ingest(tmp_path / "a.csv"))
    lines = [f"val/{i}.jpg,{t}" for i in "abc" for t in ("a cat", "a dog")]
    (tmp_path / "b.csv").write_text("\n".join(["file_name,caption", *lines, *["1,a man"] * also]))
    notes = told(lake.ingest(tmp_path / "b.csv"))
    assert notes == (
        []
        if also
        else [
            "none of the 3 images that captions name is one of the 2 that the lake had: they are images of their own; "
            "if they should be the same, --map key=COLUMN names the column of the lake's keys"
        ]
    )
    assert not told(lake.ingest(tmp_path / "b.csv"))
