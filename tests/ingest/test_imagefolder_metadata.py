"""The metadata beside the pictures gives captions, boxes and labels, in CSV, JSON lines and Parquet alike."""

from __future__ import annotations

import pytest
from image_files import image_bytes
from PIL import Image
from reading import rejects_of, rows_of, write_rows

from counterbalance.engine.errors import NotFoundError, SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.hashing import hash63
from counterbalance.ingest.imagefolder import read


@pytest.fixture
def folder(tmp_path):
    for name in ("a.png", "train/b.png", "train/cat/c.png"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image_bytes(Image.new("RGB", (40, 30))))
    return tmp_path


def load(folder, **options):
    chunks = list(read(str(folder), ReadOptions(**options)).chunks)
    return rows_of(chunks), rejects_of(chunks), chunks


ROWS = [
    {"file_name": "a.png", "text": "an A", "scene": "beach", "people": 3, "sunny": True, "width": 7},
    {"file_name": "train/b.png", "text": "a B", "scene": None, "people": 0, "sunny": False, "width": 7},
]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_captions_and_labels(folder, ending, hash_columns):
    write_rows(folder / f"metadata.{ending}", ROWS)
    tables, rejects, chunks = load(folder)
    assert not rejects
    assert len(tables["images"]) == 3
    a, b = hash63("a.png"), hash63("train/b.png")
    ids = hash_columns(["a.png", "train/b.png"], ["human"] * 2).to_pylist()
    assert tables["captions"] == [
        {"caption_id": ids[0], "image_id": a, "text": "an A", "origin": "human"},
        {"caption_id": ids[1], "image_id": b, "text": "a B", "origin": "human"},
    ]
    found = {(r["image_id"], r["attribute"], r["value"].lower(), r["annotator"]) for r in tables["labels"]}
    assert found == {
        (a, "scene", "beach", "metadata"),
        (a, "people", "3", "metadata"),
        (a, "sunny", "true", "metadata"),
        (b, "people", "0", "metadata"),
        (b, "sunny", "false", "metadata"),
    }
    assert len(tables["labels"]) == 5  # the folders are not classes here
    assert (
        list(chunks[-1].positions["captions"])
        == {
            "csv": ["line 2", "line 3"],
            "jsonl": ["line 1", "line 2"],
            "parquet": ["row 1", "row 2"],
        }[ending]
    )


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_objects(folder, ending):
    objects = {"bbox": [[1, 2, 3.5, 4], [0, 0, 40, 30]], "categories": [1, 1], "id": [9, 8]}
    rows = [
        {"file_name": "a.png", "objects": objects},
        {"file_name": "train/b.png", "objects": {"bbox": [], "categories": [], "id": []}},
    ]
    write_rows(folder / f"metadata.{ending}", rows)
    tables, rejects, _ = load(folder, origin="detector")
    assert not rejects
    boxes = [
        (d["image_id"], d["category"], d["x"], d["y"], d["width"], d["height"], d["area"], d["origin"])
        for d in tables["detections"]
    ]
    assert boxes == [
        (hash63("a.png"), "1", 1, 2, 3.5, 4, 14, "detector"),
        (hash63("a.png"), "1", 0, 0, 40, 30, 1200, "detector"),
    ]
    assert tables["labels"] == []


def test_objects_as_a_list_of_objects(folder):
    objects = [{"bbox": [1, 2, 3, 4], "category": "cat"}, {"bbox": [0, 0, 1, 1]}]
    write_rows(folder / "metadata.jsonl", [{"file_name": "a.png", "objects": objects}])
    tables, rejects, _ = load(folder)
    assert not rejects
    assert [d["category"] for d in tables["detections"]] == ["cat", None]


def test_bad_boxes_are_refused_and_their_neighbours_are_taken(folder):
    bad = [[1, 2, 3], [1, 2, -3, 4], [1, 2, "3", 4], None, [1, 2, True, 4], [1e300, 0, 1, 1]]
    rows = [
        {"file_name": "a.png", "objects": {"bbox": [[5, 5, 5, 5], *bad], "categories": ["x"] * 7}},
        {"file_name": "train/b.png", "objects": "nothing"},
        {"file_name": "train/cat/c.png", "objects": {"boxes": []}},
    ]
    write_rows(folder / "metadata.jsonl", rows)
    tables, rejects, chunks = load(folder)
    assert len(tables["detections"]) == 1
    assert rejects == [("line 1", "bad_box")] * 6 + [("line 2", "bad_objects"), ("line 3", "bad_objects")]
    assert chunks[-1].rows_read == 3 + 8


def test_boxes_that_are_fractions_are_one_error(folder):
    write_rows(
        folder / "metadata.jsonl",
        [{"file_name": "a.png", "objects": {"bbox": [[0.1, 0.1, 0.5, 0.5]], "categories": ["x"]}}],
    )
    with pytest.raises(SourceError, match="fractions of the image") as caught:
        load(folder)
    assert caught.value.code == "E4013"


def test_lists_of_captions(folder):
    write_rows(
        folder / "metadata.jsonl",
        [{"file_name": "a.png", "captions": ["x", "y", "", 3]}, {"file_name": "train/b.png", "captions": "[z"}],
    )
    tables, rejects, _ = load(folder)
    assert [(c["text"]) for c in tables["captions"]] == ["x", "y", "[z"]
    assert len({c["caption_id"] for c in tables["captions"]}) == 3
    assert rejects == [("line 1", "bad_caption"), ("line 1", "bad_caption")]


def test_a_metadata_file_in_a_sub_folder_names_files_beside_it(folder):
    write_rows(
        folder / "train" / "metadata.csv",
        [{"file_name": "b.png", "text": "a B"}, {"file_name": "cat/c.png", "text": "a C"}],
    )
    tables, rejects, _ = load(folder)
    assert not rejects
    assert [c["image_id"] for c in tables["captions"]] == [hash63("train/b.png"), hash63("train/cat/c.png")]


def test_rows_that_name_no_taken_picture_are_refused(folder):
    (folder / "bad.png").write_bytes(b"no picture")
    names = ["../a.png", "/etc/passwd", "http://h/a.png", "gone.png", "bad.png", "", "a.png"]
    write_rows(folder / "metadata.csv", [{"file_name": n, "text": "t"} for n in names])
    tables, rejects, _ = load(folder)
    assert len(tables["captions"]) == 1
    assert rejects == [
        ("bad.png", "not_an_image"),
        ("line 7", "missing_key"),
        ("line 2", "bad_name"),
        ("line 3", "bad_name"),
        ("line 4", "bad_name"),
        ("line 5", "missing_file"),
        ("line 6", "refused_image"),
    ]


def test_with_a_limit_the_rows_of_other_pictures_are_passed_over(folder):
    write_rows(folder / "metadata.jsonl", ROWS)
    tables, rejects, chunks = load(folder, limit=1)
    assert len(tables["images"]) == len(tables["captions"]) == 1
    assert not rejects
    assert sum(c.rows_read for c in chunks) == 2


def test_mapping(folder):
    write_rows(folder / "metadata.csv", [{"picture": "a.png", "what": "an A"}])
    with pytest.raises(SourceError, match="no file_name column; its columns are: picture, what"):
        load(folder)
    tables, _, _ = load(folder, mapping={"file_name": "picture", "caption": "what"})
    assert [c["text"] for c in tables["captions"]] == ["an A"]
    with pytest.raises(NotFoundError, match="did you mean 'picture'"):
        load(folder, mapping={"file_name": "pictures"})


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_lists_are_no_labels(folder, ending):
    write_rows(folder / f"metadata.{ending}", [{"file_name": "a.png", "tags": ["x", "y"], "scene": "[sic"}])
    tables, rejects, _ = load(folder)
    assert not rejects
    assert [(r["attribute"], r["value"]) for r in tables["labels"]] == [("scene", "[sic")]


def test_ids_of_an_export_are_no_labels(tmp_path, disk_lake):
    folder = tmp_path / "exported"
    folder.mkdir()
    Image.new("RGB", (4, 4)).save(folder / "1.png")
    (folder / "metadata.csv").write_text("file_name,text,image_id,caption_id,scene\n1.png,a man,7,8,sea\n")
    disk_lake.ingest(str(folder), "imagefolder")
    assert disk_lake.sql("SELECT attribute, value FROM labels").fetchall() == [("scene", "sea")]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_says_the_split(folder, ending):
    """Before the name of a folder does, and after what is asked for."""
    rows = [{"file_name": "a.png", "split": "val"}, {"file_name": "train/b.png", "split": "test"}]
    write_rows(folder / f"metadata.{ending}", rows)
    tables, rejects, _ = load(folder)
    assert not rejects
    assert {r["key"]: r["split"] for r in tables["images"]} == {
        "a.png": "val",
        "train/b.png": "test",
        "train/cat/c.png": "train",
    }
    assert not tables.get("labels")
    assert {r["split"] for r in load(folder, split="all")[0]["images"]} == {"all"}
    (folder / f"metadata.{ending}").unlink()
    write_rows(folder / "metadata.csv", [{"file_name": "a.png", "part": "val"}])
    tables, *_ = load(folder, mapping={"split": "part"})
    assert {r["key"]: r.get("split") for r in tables["images"]}["a.png"] == "val"
