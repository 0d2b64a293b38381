"""Wherever images, annotations, categories and licences stand in a file, the rows are the same, images first."""

from __future__ import annotations

import itertools
import json

import pytest

from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest import coco_document
from counterbalance.ingest.coco import read

MEMBERS = {
    "info": {"description": "Set"},
    "licenses": [{"id": 1, "name": "CC BY"}],
    "images": [{"id": i, "file_name": f"{i}.jpg", "width": 100, "height": 100, "license": 1} for i in range(50)],
    "annotations": [
        {
            "id": i,
            "image_id": i % 50,
            "category_id": 1 + i % 2,
            "bbox": [1, 1, 5, 5],
            "note": '"categories": [], "licenses"',
        }
        for i in range(100)
    ]
    + [{"id": 100, "image_id": 3, "category_id": 1, "bbox": [90, 90, 20, 20]}],
    "categories": [{"id": 1, "name": "person"}, {"id": 2, "name": "dog", "info": {"categories": []}}],
    "extra": {"categories": [{"id": 1, "name": "wrong"}], "licenses": [{"id": 1, "name": "wrong"}]},
}
ORDERS = list(itertools.permutations(MEMBERS))[::36]


def load(tmp_path, order, window=1 << 20):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({name: MEMBERS[name] for name in order}))
    seen, rows, rejects, read_bytes = [], {"images": [], "detections": []}, [], 0
    source = read(str(path), ReadOptions(), window=window)
    for chunk in source.chunks:
        seen += list(chunk.tables)
        rejects += chunk.rejects
        read_bytes += chunk.bytes_read
        for name, table in chunk.tables.items():
            rows[name] += table.to_pylist()
    assert seen == sorted(seen, reverse=True) or seen == ["images", "detections"]
    assert read_bytes == source.total_bytes
    assert [(r.position, r.code) for r in rejects] == [("annotations[100]", "bad_box")]
    return rows


@pytest.mark.parametrize("tail", [4 << 20, 200, 0], ids=["seen in the tail", "tail too short", "no tail"])
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_any_order(tmp_path, monkeypatch, order, tail):
    monkeypatch.setattr(coco_document, "_TAIL", tail)
    rows = load(tmp_path, order)
    assert [r["image_id"] for r in rows["images"]] == list(range(50))
    assert {(r["license"], r["source"]) for r in rows["images"]} <= {("CC BY", "Set"), ("CC BY", "x")}
    assert [r["category"] for r in rows["detections"]] == ["person", "dog"] * 50


def test_small_windows(tmp_path):
    assert load(tmp_path, list(MEMBERS), 300) == load(tmp_path, list(MEMBERS))


def test_an_official_file_is_read_once(tmp_path, monkeypatch):
    opened = []
    whole = coco_document.stream
    monkeypatch.setattr(coco_document, "stream", lambda *a, **k: opened.append(1) or whole(*a, **k))
    load(tmp_path, ["info", "licenses", "images", "annotations", "categories"])
    assert len(opened) == 1
    load(tmp_path, ["info", "licenses", "categories", "images", "annotations"])
    assert len(opened) == 2
    load(tmp_path, ["info", "licenses", "categories", "annotations", "images"])
    assert len(opened) == 4


def test_annotations_alone_and_images_alone(tmp_path):
    path = tmp_path / "x.json"
    for name, table in (("images", "images"), ("annotations", "captions")):
        items = MEMBERS["images"] if name == "images" else [{"id": 1, "image_id": 7, "caption": "x"}]
        path.write_text(json.dumps({name: items}))
        (chunk,) = read(str(path), ReadOptions()).chunks
        assert {n: t.num_rows for n, t in chunk.tables.items()} == {table: len(items)}
