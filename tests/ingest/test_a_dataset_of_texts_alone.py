"""A ``Dataset`` of Hugging Face that holds no pictures is read as captions, as the folder is that it saves."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import SourceError

datasets = pytest.importorskip("datasets")
ROWS = {"file_name": ["a.jpg", "b.jpg", "b.jpg"], "caption": ["a man", "a dog", "a cat"], "topic": ["x", "y", "y"]}
FOUND = [("a", "a man"), ("b", "a cat"), ("b", "a dog")]


def captions(lake):
    return lake.sql("SELECT key, text FROM captions JOIN images USING (image_id) ORDER BY ALL").fetchall()


@pytest.mark.parametrize("format_", ["auto", "captions"])
def test_as_an_object(format_, disk_lake):
    data = datasets.Dataset.from_dict(ROWS)
    report = disk_lake.ingest(data, format_)
    assert captions(disk_lake) == FOUND
    assert any("left out: topic" in note for note in report.notes)
    assert not disk_lake.ingest(data, format_).changed


def test_it_is_what_its_folder_is(disk_lake, tmp_path):
    datasets.Dataset.from_dict(ROWS).save_to_disk(tmp_path / "saved")
    disk_lake.ingest(str(tmp_path / "saved"))
    assert captions(disk_lake) == FOUND
    assert not disk_lake.ingest(datasets.Dataset.from_dict(ROWS)).changed


def test_by_split_filtered_and_streamed(disk_lake):
    data = datasets.Dataset.from_dict(ROWS)
    whole = datasets.DatasetDict({"train": data.filter(lambda row: row["topic"] == "y"), "test": data.select([0])})
    disk_lake.ingest(whole)
    assert captions(disk_lake) == FOUND
    assert disk_lake.sql("SELECT split, count(*) FROM images GROUP BY 1 ORDER BY 1").fetchall() == [
        ("test", 1),
        ("train", 1),
    ]
    assert not disk_lake.ingest(whole["train"].to_iterable_dataset()).rejected


def test_lists_of_texts_a_mapping_and_a_limit(disk_lake):
    data = datasets.Dataset.from_dict({"said": [["a man", "a boy"], ["a dog"]], "n": [1, 2]})
    disk_lake.ingest(data, mapping={"caption": "said"}, limit=1, keep=["n"])
    assert disk_lake.sql("SELECT text FROM captions ORDER BY ALL").fetchall() == [("a boy",), ("a man",)]
    assert disk_lake.sql("SELECT attribute, value FROM labels").fetchall() == [("n", "1")]


def test_texts_without_images_are_of_their_rows(disk_lake):
    data = datasets.Dataset.from_dict({"text": ["a man", "a dog"]})
    disk_lake.ingest(datasets.DatasetDict({"train": data}))
    assert captions(disk_lake) == [("dataset/train:1", "a man"), ("dataset/train:2", "a dog")]


def test_without_pictures_and_captions_it_is_refused(disk_lake):
    with pytest.raises(SourceError, match="no column of pictures") as caught:
        disk_lake.ingest(datasets.Dataset.from_dict({"n": [1]}))
    assert caught.value.code == "E4018"


@pytest.mark.parametrize("format_", ["auto", "captions"])
def test_without_rows_it_is_refused(format_, disk_lake):
    with pytest.raises(SourceError, match="has no rows") as caught:
        disk_lake.ingest(datasets.Dataset.from_dict({"caption": []}), format_)
    assert caught.value.code == "E4017"
