"""Any COCO document, good and bad items mixed, any window: what comes out is what a plain loop over json.load keeps."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.coco import read

TEXTS = st.one_of(st.text(max_size=10), st.sampled_from(["}, {", '"', "\\", "\ud800", "a man", "é"]))
ODD = st.sampled_from([None, True, -1, 1.5, 10**30, math.nan, math.inf, "", "x", [], {}, [1]])
IDS = st.one_of(st.integers(0, 12), ODD)
SIDES = st.one_of(st.integers(1, 60), ODD)
NUMBERS = st.one_of(
    st.floats(-3, 70, width=32), st.integers(-2, 70), st.sampled_from([math.nan, math.inf, True, None, "1"])
)
IMAGES = st.fixed_dictionaries({"id": IDS}, optional={"width": SIDES, "height": SIDES, "file_name": TEXTS})
CAPTIONS = st.fixed_dictionaries({"id": IDS, "image_id": IDS, "caption": st.one_of(TEXTS, ODD)})
BOXES = st.fixed_dictionaries(
    {"id": IDS, "image_id": IDS, "category_id": IDS, "bbox": st.one_of(st.lists(NUMBERS, min_size=3, max_size=5), ODD)},
    optional={"iscrowd": st.sampled_from([0, 1, True, None, 2, "0"]), "area": NUMBERS, "score": NUMBERS},
)
NAMES = {1: "person", 2: "dog", 3: "café"}


def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def good_id(value):
    if isinstance(value, str):
        return value != "" and utf8(value)
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def utf8(text):
    return not any("\ud800" <= c <= "\udfff" for c in text)


def good_side(value):
    return value is None or (number(value) and 1 <= value < 2**31 and value == math.floor(value))


def good_name(value):
    parts = value.split("/")
    return (
        value.isprintable() and not set(value) & {"\\", ":"} and value[:1] != "~" and not {"", ".", ".."} & set(parts)
    )


def good_image(item):
    return (
        good_id(item["id"])
        and all(good_side(item.get(s)) for s in ("width", "height"))
        and good_name(item.get("file_name", "x"))
    )


def good_caption(item):
    return (
        good_id(item["id"]) and good_id(item["image_id"]) and isinstance(item["caption"], str) and utf8(item["caption"])
    )


def good_box(item, sizes):
    box = item["bbox"]
    if not (good_id(item["id"]) and good_id(item["image_id"]) and isinstance(box, list) and len(box) == 4):
        return False
    if not all(number(v) and math.isfinite(v) for v in box) or min(box[2:]) < 0:
        return False
    x, y, w, h = box
    width, height = sizes.get(str(item["image_id"]), (math.inf, math.inf))
    inside = x >= -1 and y >= -1 and x + w <= width + 1 and y + h <= height + 1
    key = item["category_id"]
    known = isinstance(key, int) and not isinstance(key, bool) and key in NAMES
    area, score = item.get("area"), item.get("score")
    measured = area is None or (number(area) and math.isfinite(area) and area >= 0)
    scored = score is None or (number(score) and 0 <= score <= 1)
    return inside and known and measured and scored and item.get("iscrowd") in {0, 1, None}


@given(
    st.lists(IMAGES, max_size=8),
    st.lists(st.one_of(CAPTIONS, BOXES), max_size=15),
    st.sampled_from([1, 30, 200, 1 << 20]),
    st.sampled_from([None, 1]),
)
def test_any_document(tmp_path_factory, images, annotations, window, indent):
    path = tmp_path_factory.mktemp("coco") / "x.json"
    categories = [{"id": k, "name": v} for k, v in NAMES.items()]
    document = {"images": images, "annotations": annotations, "categories": categories}
    path.write_text(json.dumps(document, indent=indent))
    rows = {"images": [], "captions": [], "detections": []}
    read_rows, rejected = 0, []
    for chunk in read(str(path), ReadOptions(), window=window).chunks:
        read_rows += chunk.rows_read
        rejected += [r.position for r in chunk.rejects]
        for name, table in chunk.tables.items():
            table.validate(full=True)
            rows[name] += table.to_pylist()
            assert len(chunk.positions[name]) == table.num_rows
    sizes = {}
    for item in images:
        if good_image(item):
            sizes.setdefault(str(item["id"]), (item.get("width") or math.inf, item.get("height") or math.inf))
    said = [a for a in annotations if "caption" in a and good_caption(a)]
    boxed = [a for a in annotations if "bbox" in a and good_box(a, sizes)]
    assert [r["key"] for r in rows["images"]] == [str(i["id"]) for i in images if good_image(i)]
    assert [r["text"] for r in rows["captions"]] == [a["caption"] for a in said]
    assert [r["category"] for r in rows["detections"]] == [NAMES[a["category_id"]] for a in boxed]
    kept = [[r[c] for c in ("x", "y", "width", "height")] for r in rows["detections"]]
    assert kept == np.array([a["bbox"] for a in boxed], np.float32).tolist()
    assert read_rows == len(images) + len(annotations) == sum(map(len, rows.values())) + len(rejected)
    assert len(set(rejected)) == len(rejected)
    assert pa.array([r["is_crowd"] for r in rows["detections"]], pa.bool_()).to_pylist() == [
        bool(a.get("iscrowd")) for a in boxed
    ]
