"""A folder that holds several kinds is read part by part, images first, and each part is told."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from archives import tar_bytes
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, SourceError


def picture(path, color="navy"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 6), color).save(path)


def coco(path, names, split=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    images = [{"id": split + i, "file_name": n, "width": 8, "height": 6} for i, n in enumerate(names, 1)]
    said = [{"id": split + i, "image_id": split + i, "caption": f"a picture {i}"} for i in range(1, len(names) + 1)]
    path.write_text(json.dumps({"images": images, "annotations": said}))


@pytest.fixture
def lake(tmp_path):
    return cb.connect(tmp_path / "a.lake")


@pytest.mark.parametrize("pictures", ["val2017", "images", "."])
def test_coco_beside_its_pictures(lake, tmp_path, pictures):
    root = tmp_path / "coco"
    for name in ("a.png", "b.png"):
        picture(root / pictures / name)
    coco(root / "annotations" / "captions_val2017.json", ["a.png", "b.png"])
    report = lake.ingest(root)
    assert (report.format, report.written, report.rejected) == ("coco", 4, 0)
    assert report.notes[0].startswith("read as coco: captions_val2017.json has 'images', with 2 pictures of ")
    assert lake.sql("SELECT count(octet_length(image)) FROM images").fetchall() == [(2,)]
    assert lake.ingest(root).changed == 0


def test_coco_of_two_splits(lake, tmp_path):
    root = tmp_path / "coco"
    picture(root / "train2017" / "a.png")
    picture(root / "val2017" / "a.png", "red")
    coco(root / "annotations" / "captions_train2017.json", ["a.png"])
    coco(root / "annotations" / "captions_val2017.json", ["a.png"], split=10)
    lake.ingest(root, store_images=True)
    assert lake.sql("SELECT split, uri FROM images ORDER BY split").fetchall() == [
        ("train2017", f"{root}/train2017/a.png"),
        ("val2017", f"{root}/val2017/a.png"),
    ]
    assert lake.sql("SELECT count(DISTINCT sha256) FROM images").fetchall() == [(2,)]


def test_coco_beside_other_pictures(lake, tmp_path):
    root = tmp_path / "coco"
    picture(root / "docs" / "logo.png")
    coco(root / "annotations" / "captions_val2017.json", ["a.png", "b.png"])
    report = lake.ingest(root)
    assert (report.format, report.rejected) == ("coco, imagefolder", 0)
    assert lake.sql("SELECT key FROM images ORDER BY key").fetchall() == [("1",), ("2",), ("docs/logo.png",)]


def test_pictures_with_captions_and_labels_beside_them(lake, tmp_path):
    root = tmp_path / "set"
    picture(root / "a.png")
    picture(root / "b.png")
    (root / "labels.csv").write_text("file_name,attribute,value\na.png,scene,indoor\n")
    (root / "texts.csv").write_text("file_name,caption\na.png,a sea\nb.png,a sky\n")
    (root / "README.md").write_text("# a set")
    (root / "config.json").write_text("[1]")
    report = lake.ingest(root)
    assert (report.format, report.rejected) == ("imagefolder, captions, labels", 0)
    assert {t: c.written for t, c in report.by_table.items()} == {"images": 2, "captions": 2, "labels": 1}
    assert [n for n in report.notes if n.startswith("read as")] == [
        "read as imagefolder: 2 pictures",
        "read as captions: texts.csv has columns file_name, caption",
        "read as labels: labels.csv has columns attribute, value",
    ]
    assert any(n.startswith("left out: ") and "config.json is JSON, and neither" in n for n in report.notes)
    assert lake.sql("SELECT DISTINCT key FROM captions JOIN images USING (image_id) ORDER BY 1").fetchall() == [
        ("a.png",),
        ("b.png",),
    ]


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("results.csv", "image_name| comment_number| comment\na.png| 0| a sea\nb.png| 0| a sky\n"),
        ("captions.txt", "image,caption\na.png,a sea\nb.png,a sky\n"),
        (
            "c.jsonl",
            '{"path": "pictures/a.png", "caption": "a sea"}\n{"path": "./pictures/b.png", "caption": "a sky"}\n',
        ),
        ("c.csv", "image,caption\na,a sea\nb,a sky\n"),
    ],
)
def test_pictures_in_a_folder_of_their_own_meet_what_names_them(lake, tmp_path, table, text):
    root = tmp_path / "set"
    picture(root / "pictures" / "a.png")
    picture(root / "pictures" / "b.png")
    (root / table).write_text(text)
    report = lake.ingest(root)
    assert {t: c.written for t, c in report.by_table.items()} == {"images": 2, "captions": 2}
    assert lake.sql("SELECT key FROM captions JOIN images USING (image_id) ORDER BY key").fetchall() == [
        ("pictures/a.png",),
        ("pictures/b.png",),
    ]
    assert lake.ingest(root).changed == 0


def test_names_that_mean_no_picture_or_several_are_told(lake, tmp_path):
    root = tmp_path / "set"
    picture(root / "one" / "a.png")
    picture(root / "two" / "a.png", "red")
    (root / "c.csv").write_text("image,caption\na.png,a sea\none/a.png,a sky\nz.png,a dog\n")
    report = lake.ingest(root)
    assert "2 images that captions name are not among the pictures beside them" in report.notes
    assert lake.sql("SELECT key FROM captions JOIN images USING (image_id) WHERE text = 'a sky'").fetchall() == [
        ("one/a.png",)
    ]


def test_columns_that_are_named_are_asked_of_the_tables_that_have_them(lake, tmp_path):
    root = tmp_path / "set"
    picture(root / "a.png")
    (root / "c.csv").write_text("image,words,mood\na.png,a sea,calm\n")
    (root / "l.csv").write_text("image,attribute,value\na.png,scene,in\n")
    report = lake.ingest(root, mapping={"caption": "words"}, keep=["mood"])
    assert (report.format, report.rejected) == ("imagefolder, captions, labels", 0)
    assert lake.sql("SELECT attribute, value FROM labels ORDER BY 1").fetchall() == [("mood", "calm"), ("scene", "in")]
    with pytest.raises(NotFoundError, match="no column 'hue'") as caught:
        lake.ingest(root, keep=["hue"])
    assert caught.value.code == "E1002"


def test_many_files_that_are_not_known_are_one_note(lake, tmp_path):
    picture(tmp_path / "a.png")
    for i in range(30):
        (tmp_path / f"{i}.json").write_text("[1]")
    report = lake.ingest(tmp_path)
    left = [n for n in report.notes if n.startswith("left out")]
    assert len(left) == 5
    assert left[-1].endswith(", and 25 more files")


def test_shards_beside_labels_of_their_images(lake, tmp_path):
    members = [("a.png", image_bytes(Image.new("RGB", (8, 6)))), ("a.txt", b"a caption")]
    (tmp_path / "set.tar").write_bytes(tar_bytes(members))
    pq.write_table(pa.table({"key": ["a"], "scene": ["in"]}), tmp_path / "scenes.parquet")
    report = lake.ingest(tmp_path)
    assert report.format == "webdataset, labels"
    assert lake.sql("SELECT key, value FROM labels JOIN images USING (image_id)").fetchall() == [("a", "in")]


def test_names_with_commas(lake, tmp_path):
    (tmp_path / "a,b.csv").write_text("file_name,caption\na.png,a sea\n")
    (tmp_path / "c.csv").write_text("file_name,caption\nb.png,a sky\n")
    (tmp_path / "l.csv").write_text("file_name,attribute,value\na.png,scene,indoor\n")
    report = lake.ingest(tmp_path)
    assert {t: c.written for t, c in report.by_table.items()} == {"images": 2, "captions": 2, "labels": 1}


def test_a_folder_of_nothing_that_is_known_says_the_first_reason(lake, tmp_path):
    (tmp_path / "a.json").write_text("[1]")
    (tmp_path / "b.json").write_text("[2]")
    with pytest.raises(SourceError, match=r"a\.json is JSON, and neither") as caught:
        lake.ingest(tmp_path)
    assert caught.value.code == "E4014"


@pytest.mark.parametrize("column", ["image_id", "image"])
def test_captions_that_call_pictures_by_their_stems(lake, tmp_path, column):
    """As those of Open Images do."""
    for name in ("0001eeaf4aed83f9", "0002ab0af02e98e7"):
        picture(tmp_path / "set" / "images" / f"{name}.jpg")
    said = [{column: "0001eeaf4aed83f9", "caption": "a sky"}, {column: "0002ab0af02e98e7", "caption": "a sea"}]
    (tmp_path / "set" / "captions.jsonl").write_text("\n".join(map(json.dumps, said)))
    lake.ingest(tmp_path / "set")
    rows = lake.sql("SELECT key, text FROM images LEFT JOIN captions USING (image_id) ORDER BY key").fetchall()
    assert rows == [("images/0001eeaf4aed83f9.jpg", "a sky"), ("images/0002ab0af02e98e7.jpg", "a sea")]


def test_a_damaged_file_does_not_stop_the_others(lake, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.csv").write_text("image,caption\na.jpg,a sky\n")
    (tmp_path / "set" / "b.csv").write_bytes(bytes(range(256)) * 9)
    report = lake.ingest(tmp_path / "set")
    assert report.by_table["captions"].written == 1
    assert [note for note in report.notes if "b.csv is binary" in note]


def test_what_an_export_says_of_itself_is_no_source(lake, tmp_path):
    picture(tmp_path / "set" / "a.png")
    (tmp_path / "set" / "croissant.json").write_text('{"@type": "sc:Dataset"}')
    report = lake.ingest(tmp_path / "set")
    assert not [note for note in report.notes if note.startswith("left out")]
    assert report.by_table["images"].written == 1
