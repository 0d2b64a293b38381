"""A bad item never stops a load and never vanishes: it is refused with its place and a code, its neighbours stay."""

from __future__ import annotations

import json
import math

import pytest

from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.coco import read

IMAGE = {"id": 1, "file_name": "a.jpg", "width": 640, "height": 480}
BOX = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}
CAPTION = {"id": 1, "image_id": 1, "caption": "a man"}
NAN = math.nan
RUNS = {"size": [2, 2], "counts": [1, 3]}

# field, value, code or None where it is fine
BAD_BOXES = [
    *(("bbox", v, "bad_box") for v in ([NAN, 1, 2, 3], [1, 1, math.inf, 3], [1, 1, -2, 3], [1, 1, 2, -3])),
    *(("bbox", v, "bad_box") for v in ([1, 2, 3, 4, 5], [1, 2, 3], [], None, "1,2,3,4", {"x": 1}, [[1, 2, 3, 4]])),
    *(("bbox", v, "bad_box") for v in (["1", 2, 3, 4], [True, 2, 3, 4], [None, 2, 3, 4], [1e300, 2, 3, 4], 5)),
    *(
        ("bbox", v, "bad_box")
        for v in ([600, 0, 42, 10], [0, 470, 10, 12], [-2, 0, 5, 5], [0, -1.5, 5, 5], [700, 1, 1, 1])
    ),
    *(("bbox", v, None) for v in ([600, 0, 40.9, 10], [-0.5, -0.5, 641, 481], [-0.0, 0, 640, 480], [5, 5, 0, 0])),
    *(("category_id", v, "bad_category") for v in (True, 1.0, None, [1], {"a": 1})),
    *(("category_id", v, "unknown_category") for v in (7, "1", -1)),
    *(("image_id", v, "bad_id") for v in (True, 1.0, -1, 2**63, 10**399, "", [1], NAN)),
    *(("id", v, "bad_id") for v in (False, 1.5, -7, 2**64, {"a": 1}, "\ud800")),
    *(("id", v, "missing_id") for v in (None,)),
    *(("area", v, "bad_area") for v in (-1, NAN, math.inf, "9", [9], True, 1e30)),
    *(("area", v, None) for v in (0, None, 12.5)),
    *(("iscrowd", v, "bad_crowd") for v in (2, -1, "0", [1], 0.5)),
    *(("iscrowd", v, None) for v in (0, 1, True, None)),
    *(("score", v, "bad_score") for v in (1.01, -0.1, NAN, "0.5", True)),
    *(("score", v, None) for v in (0, 1, 0.5, None)),
    *(("segmentation", v, "bad_mask") for v in ("x", 5, [1, 2, 3, 4], [[1, 2, 3]], [[1, "x"]], [[1, NAN]], [[[1, 2]]])),
    *(("segmentation", v, "bad_mask") for v in ([[1, None]], [[1, True]], [[1, [2]]], [{"a": 1}], {"size": [2, 2]})),
    *(
        ("segmentation", {**RUNS, "counts": v}, "bad_mask")
        for v in ([1, 2], [5, -1], ["4"], [4.0], "a b", "é", 4, None, "")
    ),
    *(("segmentation", {**RUNS, "size": v}, "bad_mask") for v in ([2], [0, 2], [True, 4], "2x2", [2.0, 2.0], None)),
    *(
        ("segmentation", v, None)
        for v in (None, [], [[]], [[1, 2, 3, 4, 5, 6], [1.5, -0.0, 1e-7, 3]], RUNS, {**RUNS, "counts": "0`n"})
    ),
    *(
        ("keypoints", v, "bad_keypoints")
        for v in ([1, 2], [1, 2, NAN], "x", [1, 2, "2"], [1, 2, True], 3, [1e300, 1, 1])
    ),
    *(("keypoints", v, None) for v in ([], None, [1, 2, 2], [1.5, 2, 0, 0, 0, 0])),
]
BAD_CAPTIONS = [
    *(("caption", v, "bad_text") for v in (5, ["a"], {"a": 1}, True, NAN)),
    *(("caption", v, "missing_text") for v in (None,)),
    *(("caption", v, "bad_utf8") for v in ("\ud800", "a\udfffb")),
    *(("caption", v, "too_long") for v in ("x" * (1 << 20) + "x",)),
    *(("caption", v, None) for v in ("", "\0", "é" * 1000, "}, {", "<script>", "\x1b[31m")),
]
BAD_IMAGES = [
    *(("id", v, "bad_id") for v in (True, 1.0, -1, 2**63, 10**399, "", [1], math.inf)),
    *(("id", v, "missing_id") for v in (None,)),
    *((side, v, "bad_size") for side in ("width", "height") for v in (0, -640, "640", 0.5, NAN, 2**31, True, [640])),
    *(("width", v, None) for v in (1, 640.0, None)),
    *(
        ("file_name", v, "bad_file_name")
        for v in ("/etc/passwd", "../../x.jpg", "a/../../x", "C:\\x.jpg", "a\\b.jpg", "")
    ),
    *(("file_name", v, "bad_file_name") for v in ("file:///etc/passwd", "javascript:alert(1)", "a\nb.jpg", "~/x.jpg")),
    *(("file_name", v, "bad_text") for v in (5, ["a.jpg"])),
    *(("file_name", v, "bad_utf8") for v in ("\ud800.jpg",)),
    *(("file_name", v, None) for v in ("val2017/a.jpg", "http://h/a.jpg", "s3://b/a.jpg", None, "é.jpg")),
    *(("coco_url", v, "bad_url") for v in ("file:///etc/passwd", "javascript:alert(1)")),
    *(("coco_url", v, "bad_text") for v in (7,)),
    *(("coco_url", v, None) for v in ("", None, "https://h/a.jpg")),
]
NO_OBJECTS = [5, "caption", None, [], ["caption"], True, 1.5]


def document(**arrays):
    return {"images": [IMAGE], "annotations": [], "categories": [{"id": 1, "name": "person"}], **arrays}


def load(tmp_path, content, **options):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))  # NaN and Infinity as such, lone surrogates escaped
    chunks = list(read(str(path), ReadOptions(), **options).chunks)
    rows = {}
    for chunk in chunks:
        for name, table in chunk.tables.items():
            table.validate(full=True)
            rows.setdefault(name, []).extend(table.to_pylist())
    rejects = [r for c in chunks for r in c.rejects]
    total = sum(map(len, rows.values()))
    assert sum(c.rows_read for c in chunks) == total + len(rejects)
    return rows, rejects


def name_of(value):
    return repr(value)[:30].encode("ascii", "backslashreplace").decode()


def check(tmp_path, array, table, good, field, value, code):
    """Good, odd, good: the odd one alone is refused; in windows large and small."""
    key = next(iter(good))
    items = [{**good, key: 11}, {**good, key: 12, field: value}, {**good, key: 13}]
    for window in (1, 1 << 20):
        rows, rejects = load(tmp_path, document(**{array: items}), window=window)
        if code is None:
            assert not rejects
            assert len(rows[table]) == 3
        else:
            assert [(r.position, r.code) for r in rejects] == [(f"{array}[1]", code)]
            assert rejects[0].source == str(tmp_path / "x.json")
            assert field in rejects[0].message or "category" in rejects[0].message
            assert len(rejects[0].message) < 300
            assert [r[f"{table[:-1]}_id"] for r in rows[table]] == [11, 13]


@pytest.mark.parametrize(("field", "value", "code"), BAD_BOXES, ids=map(name_of, BAD_BOXES))
def test_boxes(tmp_path, field, value, code):
    check(tmp_path, "annotations", "detections", BOX, field, value, code)


@pytest.mark.parametrize(("field", "value", "code"), BAD_CAPTIONS, ids=map(name_of, BAD_CAPTIONS))
def test_captions(tmp_path, field, value, code):
    check(tmp_path, "annotations", "captions", CAPTION, field, value, code)


@pytest.mark.parametrize(("field", "value", "code"), BAD_IMAGES, ids=map(name_of, BAD_IMAGES))
def test_images(tmp_path, field, value, code):
    check(tmp_path, "images", "images", IMAGE, field, value, code)


@pytest.mark.parametrize("item", NO_OBJECTS, ids=name_of)
@pytest.mark.parametrize("array", ["images", "annotations"])
def test_what_is_no_object(tmp_path, array, item):
    good = IMAGE if array == "images" else CAPTION
    rows, rejects = load(tmp_path, document(**{array: [good, item, {**good, "id": 2}]}))
    assert [(r.position, r.code) for r in rejects] == [(f"{array}[1]", "bad_item")]
    assert len(rows["images" if array == "images" else "captions"]) == 2


def test_bytes_that_are_no_utf8(tmp_path):
    path = tmp_path / "x.json"
    text = json.dumps(document(annotations=[CAPTION, {**CAPTION, "id": 2, "caption": "XX"}, {**CAPTION, "id": 3}]))
    path.write_bytes(text.encode().replace(b"XX", b"\xff\xc3"))
    (chunk,) = read(str(path), ReadOptions()).chunks
    assert [(r.position, r.code) for r in chunk.rejects] == [("annotations[1]", "bad_utf8")]
    assert chunk.tables["captions"]["caption_id"].to_pylist() == [1, 3]


def test_categories_that_cannot_be_used(tmp_path):
    categories = [
        {"id": 1, "name": "person"},
        {"id": 2},
        {"id": 3, "name": ""},
        {"name": "x"},
        5,
        {"id": 1, "name": "cat"},
    ]
    categories += [{"id": True, "name": "x"}, {"id": 1, "name": "person"}, {"id": 9, "name": "\ud800"}]
    annotations = [BOX, {**BOX, "id": 2, "category_id": 2}]
    rows, rejects = load(tmp_path, document(annotations=annotations, categories=categories))
    assert [r["category"] for r in rows["detections"]] == ["person"]
    places = [(r.position, r.code) for r in rejects]
    assert places == [
        *((f"categories[{i}]", "bad_category") for i in (1, 2, 3, 4, 5, 6, 8)),
        ("annotations[1]", "unknown_category"),
    ]


def test_every_odd_item_in_one_document(tmp_path, record_property):
    odd = [{**BOX, "id": 100 + i, f: v} for i, (f, v, c) in enumerate(BAD_BOXES) if c]
    odd += [{**CAPTION, "id": 100 + i, f: v} for i, (f, v, c) in enumerate(BAD_CAPTIONS) if c]
    good = [{**BOX, "id": 10_000 + i} for i in range(len(odd))]
    mixed = [i for pair in zip(odd, good, strict=True) for i in pair]
    rows, rejects = load(
        tmp_path, document(annotations=mixed, images=[IMAGE, *({**IMAGE, f: v} for f, v, c in BAD_IMAGES if c)])
    )
    assert [r["detection_id"] for r in rows["detections"]] == [g["id"] for g in good]
    assert "captions" not in rows
    assert len(rows["images"]) == 1
    record_property("items", len(rejects))
    places = [r.position for r in rejects if r.position.startswith("annotations")]
    assert sorted(places, key=lambda p: int(p[12:-1])) == [f"annotations[{2 * i}]" for i in range(len(odd))]
