"""``export --to parquet`` and ``hf``: Arrow reads every column, and ``datasets.load_dataset`` the folder, pictures decoded."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import RequestError


def picture(i, kind="PNG"):
    return image_bytes(Image.new("RGB", (8 + i, 6), (40 * i, 9, 9)), kind)


PICTURES = [picture(i, "JPEG" if i == 1 else "PNG") for i in range(4)]
SQL = (
    "SELECT i.image_id, i.image, c.text, i.width, [0.5, 1.5] AS scores, {'a': 1, 'b': 'x'} AS more FROM images i "
    "LEFT JOIN captions c USING (image_id) ORDER BY i.image_id"
)


@pytest.fixture
def lake(empty_lake, build):
    images = build.images(image_id=[1, 2, 3, 4], key=list("1234"), width=[8, 9, None, 11], image=PICTURES)
    captions = build.captions(caption_id=[1, 2, 3], image_id=[1, 2, 4], text=["=a", 'b, "c"', "ü"])
    empty_lake.ingest({"images": images, "captions": captions})
    return empty_lake


def test_parquet_holds_every_column_as_it_is(lake, tmp_path):
    done = lake.export(SQL, tmp_path / "out", "parquet", shard_size=3)
    files = sorted((tmp_path / "out").glob("*.parquet"))
    assert (done.rows, done.shards) == (4, 2)
    assert [pq.read_metadata(f).num_rows for f in files] == [3, 1]
    found = pa.concat_tables(pq.read_table(f) for f in files)
    with lake.session(with_bytes=True) as session:
        assert found.to_pylist() == session.sql(SQL).to_arrow().to_pylist()
    assert found["image"].to_pylist() == PICTURES


def test_tables_without_pictures_are_rows_too(lake, tmp_path):
    done = lake.export("captions", tmp_path / "out", "parquet")
    assert done.rows == 3
    assert pq.read_table(tmp_path / "out/part-00000.parquet")["text"].to_pylist() == ["=a", 'b, "c"', "ü"]


def test_an_empty_result_is_an_empty_export(lake, tmp_path):
    for to in ("parquet", "hf", "webdataset", "imagefolder", "coco"):
        done = lake.export("SELECT image_id, image FROM images WHERE image_id > 9", tmp_path / to, to)
        assert done.rows == 0
        assert (tmp_path / to / "DATASHEET.md").is_file()


def test_it_is_told_that_no_picture_is_stored(empty_lake, build, tmp_path):
    empty_lake.ingest({"images": build.images(image_id=[1, 2], key=["1", "2"], image=[None, PICTURES[0]])})
    some, none = (
        empty_lake.export(f"SELECT image FROM images WHERE image_id <= {n}", tmp_path / str(n), "hf") for n in (2, 1)
    )
    assert some.notes == []
    assert none.notes == [
        "no picture of these rows is in the lake or where their uri says; ingest once more with --images FOLDER"
    ]


def test_shards_keep_to_bytes(lake, tmp_path):
    sizes = [len(p) for p in PICTURES]
    done = lake.export("SELECT image FROM images", tmp_path / "out", "parquet", shard_size=f"{sizes[0] + sizes[1]}B")
    assert next(pq.read_metadata(f).num_rows for f in sorted((tmp_path / "out").glob("*.parquet"))) == 2
    assert done.rows == 4


@pytest.fixture
def load(monkeypatch, tmp_path):
    """``datasets.load_dataset`` without a network, its cache in a folder of the test."""
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    return lambda *given, **more: datasets.load_dataset(*given, cache_dir=str(tmp_path / "cache"), **more)["train"]


def test_datasets_reads_the_hf_folder(lake, tmp_path, load):
    lake.export(SQL, tmp_path / "out", "hf", shard_size=3)
    found = load(str(tmp_path / "out"))
    assert found.column_names == ["image_id", "image", "text", "width", "scores", "more"]
    assert found["text"][:] == ["=a", 'b, "c"', None, "ü"]
    assert found["width"][:] == [8, 9, None, 11]
    assert found["more"][0] == {"a": 1, "b": "x"}
    for row, data in zip(found, PICTURES, strict=True):
        assert np.array_equal(np.asarray(row["image"]), np.asarray(Image.open(io.BytesIO(data))))
    stored = pq.read_table(tmp_path / "out/data/train-00000.parquet")["image"].to_pylist()
    assert [s["bytes"] for s in stored] == PICTURES[:3]


def test_splits_stay_apart(empty_lake, build, tmp_path, monkeypatch):
    """What a model is tested on is no part of what it is trained on; rows without a split are ``train``."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    splits = ["train", "test", None, "test", "Val 2017", "all"] * 4
    ids = list(range(len(splits)))
    empty_lake.ingest({"images": build.images(image_id=ids, key=[str(i) for i in ids], split=splits)})
    done = empty_lake.export("SELECT image_id, split FROM images", tmp_path / "out", "hf", shard_size=5)
    assert done.rows == len(ids)
    found = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    named = {"train": {"train", None, "all"}, "test": {"test"}, "val_2017": {"Val 2017"}}
    assert {name: set(rows["image_id"]) for name, rows in found.items()} == {
        name: {i for i in ids if splits[i] in texts} for name, texts in named.items()
    }
    assert sorted(p.name for p in (tmp_path / "out" / "data").glob("train*")) == [
        "train-00000.parquet", "train-00001.parquet", "train-00002.parquet",
    ]  # fmt: skip


def test_too_many_splits_are_told(empty_lake, build, tmp_path):
    ids = list(range(101))
    empty_lake.ingest({"images": build.images(image_id=ids, key=[str(i) for i in ids], split=[f"s{i}" for i in ids])})
    with pytest.raises(RequestError, match="more than 100 texts") as caught:
        empty_lake.export("images", tmp_path / "out", "hf")
    assert caught.value.code == "E3685"
    assert empty_lake.export("SELECT image_id, split AS part FROM images", tmp_path / "other", "hf").rows == 101


def test_datasets_reads_the_imagefolder(lake, tmp_path, load):
    lake.export(SQL, tmp_path / "out", "imagefolder", shard_size=2)
    found = load("imagefolder", data_dir=str(tmp_path / "out"))
    rows = sorted(found, key=lambda r: r["image_id"])
    assert [r["text"] for r in rows] == ["=a", 'b, "c"', None, "ü"]
    assert [r["image"].width for r in rows] == [8, 9, 10, 11]


def test_either_name_of_hugging_face_is_understood(lake, tmp_path):
    assert lake.export(SQL, tmp_path / "out", "huggingface").to == "hf"
    report = cb.connect(tmp_path / "again.lake").ingest(tmp_path / "out", "hf")
    assert (report.format, report.by_table["images"].written) == ("huggingface", 4)
