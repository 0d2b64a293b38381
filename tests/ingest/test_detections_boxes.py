"""Boxes are read from any way of writing them, and joined to images by any way of naming these."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import rejects_of, rows_of, write_rows

from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.detections import read
from counterbalance.ingest.hashing import hash63, key_id

BOX = {"x": 10.0, "y": 20.0, "width": 30.5, "height": 40.0}


def load(uri, **options):
    chunks = list(read(str(uri), ReadOptions(**options)).chunks)
    tables, rejects = rows_of(chunks), rejects_of(chunks)
    assert sum(c.rows_read for c in chunks) == len(tables["detections"]) + len(rejects)
    return tables, rejects


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    "columns",
    [
        {"x1": 10, "y1": 20, "x2": 40.5, "y2": 60},
        {"xmin": 10, "ymin": 20, "xmax": 40.5, "ymax": 60, "width": 640, "height": 480},
        {"left": 10, "top": 20, "right": 40.5, "bottom": 60},
        {"x": 10, "y": 20, "width": 30.5, "height": 40},
        {"left": 10, "top": 20, "w": 30.5, "h": 40},
        {"bbox": [10, 20, 30.5, 40]},
        {"BBox_XYXY": [10, 20, 40.5, 60], "width": 640, "height": 480},
    ],
)
def test_ways_to_write_a_box(tmp_path, columns, ending):
    tables, rejects = load(write_rows(tmp_path / f"a.{ending}", [{"key": "k", **columns}]))
    assert not rejects
    (row,) = tables["detections"]
    assert {k: row[k] for k in BOX} == BOX
    assert row["area"] == 30.5 * 40
    assert row["category"] == "person"
    assert row["image_id"] == hash63("k")


@pytest.mark.parametrize(
    ("column", "value", "key"),
    [
        ("key", "000000012", "000000012"),
        ("image_id", "139", "139"),
        ("image_id", 139, "139"),
        ("member_name", "000000012.jpg", "000000012"),
        ("member_name", "./a/1.seg.png", "a/1"),
        ("file_name", "train/7.jpg", "train/7"),
        ("image", "noending", "noending"),
        ("url", "http://h/a.jpg", "http://h/a.jpg"),
    ],
)
def test_ways_to_name_the_image(tmp_path, column, value, key):
    tables, _ = load(write_rows(tmp_path / "a.csv", [{column: value, "bbox": [1, 2, 3, 4]}]))
    assert tables["detections"][0]["image_id"] == key_id(key)


def test_mapping_takes_a_file_name_as_it_is(tmp_path):
    path = write_rows(tmp_path / "a.csv", [{"file_name": "train/7.jpg", "bbox": [1, 2, 3, 4]}])
    tables, _ = load(path, mapping={"key": "file_name"})
    assert tables["detections"][0]["image_id"] == hash63("train/7.jpg")


def test_other_columns(tmp_path):
    row = {"key": "k", "bbox": [1, 2, 3, 4], "label": "Dog", "confidence": 0.25, "iscrowd": 1, "id": 77}
    tables, _ = load(
        write_rows(tmp_path / "a.jsonl", [row, {**row, "id": "b7", "iscrowd": 0, "confidence": None}]), origin="yolo"
    )
    first, second = tables["detections"]
    assert (first["detection_id"], first["category"], first["score"], first["is_crowd"], first["origin"]) == (
        77,
        "Dog",
        0.25,
        True,
        "yolo",
    )
    assert (second["detection_id"], second["score"], second["is_crowd"]) == (hash63("b7"), None, False)


def test_the_id_depends_on_image_category_and_coordinates_only(tmp_path):
    rows = [{"key": "k", "x": 1, "y": 2, "w": 3, "h": 4, "category": "cat", "score": 0.5}]
    rows += [{**rows[0], "key": "l"}, {**rows[0], "category": "dog"}, {**rows[0], "x": 1.25}, {**rows[0], "score": 0.6}]
    ids = [d["detection_id"] for d in load(write_rows(tmp_path / "a.csv", rows))[0]["detections"]]
    assert len(set(ids)) == 4
    assert ids[0] == ids[4]
    again = [d["detection_id"] for d in load(write_rows(tmp_path / "b.parquet", rows[::-1]))[0]["detections"]]
    assert again == ids[::-1]


def test_bad_rows_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "member_name,x1,y1,x2,y2,confidence,is_crowd\n"
        "1.jpg,1,2,30,40,0.9,\n"
        ",1,2,30,40,0.9,\n"
        "2.jpg,,2,30,40,0.9,\n"
        "3.jpg,nan,2,30,40,0.9,\n"
        "4.jpg,1,2,inf,40,0.9,\n"
        "5.jpg,1,2,1e12,40,0.9,\n"
        "6.jpg,1,x,30,40,0.9,\n"
        "7.jpg,1,2,0.5,40,0.9,\n"
        "8.jpg,1,2,30,40,1.5,\n"
        "9.jpg,1,2,30,40,-0.1,\n"
        "10.jpg,1,2,30,40,high,\n"
        "11.jpg,1,2,30,40,nan,maybe\n"
        "12.jpg,1,2,30\n"
        "13.jpg,1,2,30,40,nan,false\n"
    )
    tables, rejects = load(path)
    assert [d["score"] for d in tables["detections"]] == [pytest.approx(0.9), None]
    codes = dict(rejects)
    assert len(codes) == len(rejects) == 12
    wanted = ["missing_key"] + ["bad_box"] * 6 + ["bad_score"] * 3 + ["bad_value", "bad_columns"]
    assert [codes[f"line {n}"] for n in range(3, 15)] == wanted


@pytest.mark.parametrize("text", ["[1,2,3]", "", "1,2,3,4,5", "[1,2,3,x]", "nothing", "[1,2,NaN,4]", "[1,2,3,-4]"])
def test_bad_lists_are_refused(tmp_path, text):
    path = write_rows(tmp_path / "a.csv", [{"key": "k", "bbox": "(5, 5, 5, 5)"}, {"key": "k", "bbox": text}])
    tables, rejects = load(path)
    assert len(tables["detections"]) == 1
    assert rejects == [("line 3", "bad_box")]


def test_fractions_of_the_image_are_one_error(tmp_path):
    path = write_rows(
        tmp_path / "a.csv", [{"key": "k", "bbox": [0.1, 0.2, 0.5, 0.5]}, {"key": "k", "bbox": [0, 0, 1, 1]}]
    )
    with pytest.raises(SourceError, match="fractions of the image") as caught:
        load(path)
    assert caught.value.code == "E4013"
    assert load(write_rows(tmp_path / "b.csv", [{"key": "k", "bbox": [0, 0, 1, 1]}]))[1] == []


@pytest.mark.parametrize(
    ("head", "said"),
    [("key,x1,y1\n", "no box columns"), ("x1,y1,x2,y2\n", "no key column"), ("a,b\n", "no box columns")],
)
def test_a_file_without_its_columns_is_one_error(tmp_path, head, said):
    (tmp_path / "a.csv").write_text(head)
    with pytest.raises(SourceError, match=said):
        read(str(tmp_path / "a.csv"), ReadOptions())


NUMBER = st.floats(-1e6, 1e6, width=32) | st.sampled_from([math.nan, math.inf, -math.inf, 1e30, -0.0])


@given(rows=st.lists(st.tuples(NUMBER, NUMBER, NUMBER, NUMBER), min_size=1, max_size=8))
def test_boxes_in_are_boxes_taken_and_refused(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("boxes") / "a.parquet"
    table = {n: pa.array([r[i] for r in rows]) for i, n in enumerate(("x", "y", "w", "h"))}
    pq.write_table(pa.table({"key": ["k"] * len(rows), **table}), path)
    try:
        tables, rejects = load(path)
    except SourceError as error:
        assert error.code == "E4013"  # noqa: PT017 - all of them may happen to look like fractions
        return
    good = [r for r in rows if all(abs(v) <= 1e9 for v in r) and r[2] >= 0 and r[3] >= 0]
    found = [(d["x"], d["y"], d["width"], d["height"]) for d in tables["detections"]]
    assert found == [tuple(float(np.float32(v)) for v in r) for r in good]
    assert {c for _, c in rejects} <= {"bad_box"}


def test_two_detectors_may_find_the_same_box(tmp_path, disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    path = tmp_path / "boxes.csv"
    for origin, score in (("yolo", "0.9"), ("human", ""), ("yolo", "0.9")):
        path.write_text(f"key,category,score,x1,y1,x2,y2\n1,dog,{score},1,1,50,50\n")
        report = disk_lake.ingest(str(path), "detections", origin=origin)
    assert not report.changed
    assert disk_lake.sql("SELECT origin, round(score::DOUBLE, 1) FROM detections ORDER BY 1").fetchall() == [
        ("human", None),
        ("yolo", 0.9),
    ]
