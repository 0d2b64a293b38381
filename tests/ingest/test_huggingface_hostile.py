"""A dataset that somebody else made reads no file but its own pictures, and what is wrong with a row refuses that row."""

from __future__ import annotations

import json

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest import huggingface


@pytest.fixture
def lake(tmp_path):
    return cb.connect(tmp_path / "a.lake")


def png(number):
    return image_bytes(Image.new("RGB", (9, 9), (number, 0, 0)))


def written(path, paths, **columns):
    path.parent.mkdir(exist_ok=True)
    image = pa.array(
        [{"bytes": None, "path": p} for p in paths], pa.struct([("bytes", pa.binary()), ("path", "string")])
    )
    pq.write_table(pa.table({"image": image, **columns}), path)
    return path


def test_pictures_that_are_named_are_read_from_the_folder_of_the_file_only(lake, tmp_path):
    outside = tmp_path / "secret.png"
    Image.new("RGB", (8, 8)).save(outside)
    inside = tmp_path / "set" / "in.png"
    inside.parent.mkdir()
    Image.new("RGB", (9, 9)).save(inside)
    names = [str(outside), "../secret.png", "file:///" + str(outside), "http://127.0.0.1/a.png", "in.png", str(inside)]
    (tmp_path / "set" / "link.png").symlink_to(outside)
    (tmp_path / "set" / "linked").symlink_to(tmp_path)
    names += ["link.png", "linked/secret.png"]
    written(tmp_path / "set" / "a.parquet", [*names, "none.png", None])
    report = lake.ingest(tmp_path / "set" / "a.parquet")
    assert (report.written, report.rejected) == (0, 10)  # a file is named, and no folder
    report = lake.ingest(tmp_path / "set", "huggingface")
    assert lake.sql("SELECT width FROM images").fetchall() == [(9,)]
    codes = lake.sql("SELECT code, count(*) FROM meta.errors GROUP BY code ORDER BY code").fetchall()
    assert codes == [("bad_name", 4), ("link_out", 2), ("missing_image", 2)]


def test_a_folder_that_is_named_is_where_pictures_are(lake, tmp_path):
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (9, 9)).save(tmp_path / "pictures" / "a.png")
    path = written(
        tmp_path / "set" / "a.parquet", ["a.png", str(tmp_path / "pictures" / "a.png"), str(tmp_path / "b.png")]
    )
    report = lake.ingest(path, images=str(tmp_path / "pictures"))
    assert (report.written, report.rejected) == (1, 1)  # two names of one picture
    assert lake.sql("SELECT DISTINCT uri FROM images").fetchall() == [(str(tmp_path / "pictures" / "a.png"),)]


def test_a_dataset_in_memory_reads_from_the_folder_that_is_named_only(lake, tmp_path):
    Image.new("RGB", (9, 9)).save(tmp_path / "in.png")
    rows = {"image": [str(tmp_path / "in.png"), str(tmp_path / "none.png"), "http://127.0.0.1:9/a.png", "zip://a::b"]}
    dataset = datasets.Dataset.from_dict(rows).cast_column("image", datasets.Image())
    assert (lake.ingest(dataset).written, lake.ingest(dataset).rejected) == (0, 4)
    report = lake.ingest(dataset, images=str(tmp_path), store_images=False)
    assert (report.written, report.rejected) == (1, 3)
    assert lake.sql("SELECT uri FROM images").fetchall() == [(str(tmp_path / "in.png"),)]
    assert lake.sql("SELECT octet_length(image) > 0 FROM images").fetchall() == [(True,)]


def test_what_is_no_picture_is_refused_by_row(lake, tmp_path):
    image = pa.array([b"GIF89a", b"", b"<svg/>", b"\x89PNG\r\n\x1a\n"], pa.binary())
    pq.write_table(pa.table({"png": image, "caption": list("abcd")}), tmp_path / "a.parquet")
    report = lake.ingest(tmp_path / "a.parquet")
    assert (report.written, report.rejected) == (0, 4)
    assert {p for (p,) in lake.sql("SELECT position FROM meta.errors").fetchall()} == {f"row {i}" for i in range(1, 5)}


@pytest.mark.parametrize(
    "metadata",
    [
        "{",
        "[]",
        '{"info": 3}',
        '{"info": {"features": []}}',
        '{"info": {"features": {"label": {"_type": "ClassLabel", "names": 7}}}}',
        '{"info": {"features": {"label": {"_type": "ClassLabel", "names": "ab"}}}}',
        '{"info": {"features": {"image": {"_type": "ClassLabel", "names": ["a"]}}}}',
        '{"info": {"features": {"image": {"bytes": {"dtype": "binary", "_type": "Value"}, "path": {"_type": "Value"}}}}}',
    ],
)
def test_features_that_make_no_sense_are_passed_over(lake, tmp_path, metadata):
    Image.new("RGB", (9, 9)).save(tmp_path / "a.png")
    image = pa.array([{"bytes": (tmp_path / "a.png").read_bytes(), "path": "a.png"}])
    table = pa.table({"image": image, "label": [1]}).replace_schema_metadata({"huggingface": metadata})
    pq.write_table(table, tmp_path / "a.parquet")
    assert lake.ingest(tmp_path / "a.parquet").by_table["images"].written == 1


def test_two_columns_of_one_name_are_refused(lake, tmp_path):
    image = pa.array([{"bytes": b"x", "path": "a.png"}])
    pq.write_table(pa.Table.from_arrays([image, image], names=["image", "image"]), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match="two columns of the name 'image'") as caught:
        lake.ingest(tmp_path / "a.parquet")
    assert caught.value.code == "E4019"


def test_a_class_without_a_name_keeps_its_number(lake, tmp_path):
    image = pa.array([{"bytes": png(n), "path": "a.png"} for n in range(3)])
    told = {"info": {"features": {"image": {"_type": "Image"}, "y": {"_type": "ClassLabel", "names": ["cat"]}}}}
    table = pa.table({"image": image, "y": [0, 7, -1]}).replace_schema_metadata({"huggingface": json.dumps(told)})
    pq.write_table(table, tmp_path / "a.parquet")
    lake.ingest(tmp_path / "a.parquet")
    assert lake.sql("SELECT value FROM labels ORDER BY value").fetchall() == [("7",), ("cat",)]


def test_perceived_labels_are_closed(lake, tmp_path):
    Image.new("RGB", (9, 9)).save(tmp_path / "a.png")
    features = datasets.Features({"image": datasets.Image(), "gender": datasets.ClassLabel(names=["a", "b"])})
    rows = {"image": [str(tmp_path / "a.png")], "gender": [0]}
    assert lake.ingest(datasets.Dataset.from_dict(rows, features=features), images=str(tmp_path)).rejected == 0
    assert lake.sql("SELECT count(*) FROM labels").fetchall() == [(0,)]


def test_a_small_file_of_one_large_picture_is_read_in_bounded_memory(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (900, 900, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "a.png")
    one = (tmp_path / "a.png").read_bytes()  # 2.4 MB
    coded = pa.DictionaryArray.from_arrays(pa.array(np.zeros(250, np.int32)), pa.array([one]))
    pq.write_table(pa.table({"png": coded.dictionary_decode()}), tmp_path / "a.parquet", compression="zstd")
    before = pa.total_allocated_bytes()
    rows = 0
    for chunk in huggingface.read(str(tmp_path / "a.parquet"), ReadOptions()).chunks:
        assert pa.total_allocated_bytes() - before < 400 << 20
        rows += chunk.rows_read
    assert rows == 250


@pytest.mark.parametrize(
    ("name", "write", "code"),
    [
        ("a.parquet", lambda p: pq.write_table(pa.table({"image": ["a.png"]}), p), "E4018"),
        ("a.csv", lambda p: p.write_text("image\na.png\n"), "E4016"),
        ("a.parquet", lambda p: p.write_bytes(b"PAR1PAR1"), "E4012"),
    ],
)
def test_a_file_without_pictures_is_refused(lake, tmp_path, name, write, code):
    write(tmp_path / name)
    with pytest.raises(SourceError) as caught:
        lake.ingest(tmp_path / name, "huggingface")
    assert caught.value.code == code


def test_a_dataset_without_rows_is_refused_and_an_empty_split_told(lake):
    features = datasets.Features({"image": datasets.Image()})
    empty = datasets.Dataset.from_dict({"image": []}, features=features)
    for none in (empty, datasets.DatasetDict({"train": empty})):
        with pytest.raises(SourceError) as caught:
            lake.ingest(none)
        assert caught.value.code == "E4017"
    one = datasets.Dataset.from_dict({"image": [Image.new("RGB", (9, 9))]}, features=features)
    report = lake.ingest(datasets.DatasetDict({"train": one, "test": empty}))
    assert (report.written, report.notes[0]) == (1, "split test has no rows")


def test_rows_that_cannot_be_computed_are_an_error(lake):
    def fail(_):
        raise ValueError("no such row")

    dataset = datasets.Dataset.from_dict({"image": [1, 2]}).to_iterable_dataset().map(fail)
    with pytest.raises(SourceError, match="no such row") as caught:
        lake.ingest(dataset)
    assert caught.value.code == "E4012"
