"""File names tell the split; --split picks among several files and names a single one."""

from __future__ import annotations

import json

import pytest

from counterbalance.engine.errors import NotFoundError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.coco import read, split_of

NAMES = ["captions_train2017.json", "captions_val2017.json", "instances_val2017.json", "mine.json"]


@pytest.mark.parametrize(
    ("stem", "split"),
    [
        ("captions_val2017", "val2017"),
        ("instances_train2014", "train2014"),
        ("person_keypoints_val2017", "val2017"),
        ("image_info_test-dev2017", "test-dev2017"),
        ("image_info_unlabeled2017", "unlabeled2017"),
        ("lvis_v1_val", "val"),
        ("lvis_v0.5_train", "train"),
        ("stuff_val2017", "val2017"),
        ("Captions_Mine", "Mine"),
        ("my-train-coco", "train-coco"),
        ("coco.test", "test"),
        ("nocaps_validation", "validation"),
        ("trainer", None),
        ("invaluable", None),
        ("mine", None),
        ("_annotations", None),
        ("", None),
    ],
)
def test_names(stem, split):
    assert split_of(stem) == split


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "annotations").mkdir()
    for i, name in enumerate(NAMES):
        document = {"images": [{"id": i, "file_name": f"{i}.jpg"}], "annotations": []}
        (tmp_path / "annotations" / name).write_text(json.dumps(document))
    return tmp_path


def load(uri, split=None):
    source = read(str(uri), ReadOptions(split=split))
    found = {}
    for chunk in source.chunks:
        rows = chunk.tables["images"]
        splits = rows["split"].to_pylist() if "split" in rows.column_names else [None]
        found[chunk.source.rsplit("/", 1)[1]] = splits[0]
    assert [f.rsplit("/", 1)[1] for f in source.files] == list(found)
    return found


def test_a_folder_is_all_its_splits(folder):
    assert load(folder) == {NAMES[0]: "train2017", NAMES[1]: "val2017", NAMES[2]: "val2017", NAMES[3]: None}
    assert load(folder / "annotations") == load(folder)


def test_a_split_picks_its_files_and_names_those_without_one(folder):
    assert load(folder, "val2017") == {NAMES[1]: "val2017", NAMES[2]: "val2017", NAMES[3]: "val2017"}


def test_globs_and_lists_are_picked_from_too(folder):
    assert load(folder / "annotations" / "captions_*.json", "val2017") == {NAMES[1]: "val2017"}
    assert load(folder / "annotations" / "{captions,instances}_val2017.json") == {
        NAMES[1]: "val2017",
        NAMES[2]: "val2017",
    }


def test_a_single_file_is_of_the_split_that_is_given(folder):
    assert load(folder / "annotations" / "mine.json", "dev") == {"mine.json": "dev"}
    assert load(folder / "annotations" / NAMES[0], "karpathy-train") == {NAMES[0]: "karpathy-train"}


def test_a_split_that_no_file_has(folder):
    (folder / "annotations" / "mine.json").unlink()
    with pytest.raises(NotFoundError, match="no file of split 'val2018'; did you mean 'val2017'") as caught:
        load(folder, "val2018")
    assert caught.value.hint == "splits: train2017, val2017"
