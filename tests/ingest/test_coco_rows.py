"""What each kind of COCO file becomes, column by column."""

from __future__ import annotations

import json

import pytest
from reading import tables_of

from counterbalance.engine.errors import RequestError
from counterbalance.engine.ingest_types import CHUNK_ROWS, ReadOptions
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.ingest.coco import read
from counterbalance.ingest.hashing import hash63

INFO = {"info": {"description": "My dataset"}, "licenses": [{"id": 3, "name": "CC BY"}, {"id": 4, "name": "CC0"}]}
IMAGE = {"id": 7, "file_name": "a.jpg", "coco_url": "http://h/val/a.jpg", "width": 640, "height": 480, "license": 3}
CATEGORIES = [{"id": 1, "name": "person"}, {"id": 18, "name": "dog"}]
BOX = {"id": 5, "image_id": 7, "category_id": 18, "bbox": [1.5, 2, 30, 40], "area": 900.25, "iscrowd": 0}


def load(tmp_path, document, name="captions_val2017.json", **options):
    (tmp_path / name).write_text(json.dumps(document))
    source = read(str(tmp_path / name), ReadOptions(**options))
    chunks = list(source.chunks)
    assert sum(c.bytes_read for c in chunks) == source.total_bytes == (tmp_path / name).stat().st_size
    tables = tables_of(chunks)
    assert all(table.column_names[0] == BASE_TABLES[name].key for name, table in tables.items())
    return tables, [r for c in chunks for r in c.rejects], chunks


def test_images(tmp_path):
    more = {"id": 8, "file_name": "sub/b.jpg"}
    tables, rejects, _ = load(tmp_path, {**INFO, "images": [IMAGE, more], "annotations": []})
    assert not rejects
    assert tables["images"].to_pylist() == [
        {"image_id": 7, "key": "7", "uri": "http://h/val/a.jpg", "width": 640, "height": 480, "license": "CC BY"}
        | {"source": "My dataset", "split": "val2017"},
        {"image_id": 8, "key": "8", "uri": "sub/b.jpg", "width": None, "height": None, "license": None}
        | {"source": "My dataset", "split": "val2017"},
    ]


def test_captions(tmp_path):
    annotations = [{"id": 1, "image_id": 7, "caption": " A dog. "}, {"id": 2, "image_id": 9, "caption": ""}]
    tables, rejects, _ = load(tmp_path, {**INFO, "images": [IMAGE], "annotations": annotations})
    assert not rejects
    assert tables["captions"].to_pylist() == [
        {"caption_id": 1, "image_id": 7, "text": " A dog. ", "origin": "human"},
        {"caption_id": 2, "image_id": 9, "text": "", "origin": "human"},
    ]
    tables, _, _ = load(tmp_path, {"annotations": annotations}, origin="generated")
    assert set(tables["captions"]["origin"].to_pylist()) == {"generated"}


def test_detections(tmp_path):
    polygon = {**BOX, "segmentation": [[1, 2.5, 30, 2, 30, 40]]}
    rle = {**BOX, "id": 6, "category_id": 1, "iscrowd": 1, "segmentation": {"size": [480, 640], "counts": [9, 307191]}}
    tables, rejects, _ = load(
        tmp_path, {**INFO, "images": [IMAGE], "annotations": [polygon, rle], "categories": CATEGORIES}
    )
    assert not rejects
    box = {"image_id": 7, "x": 1.5, "y": 2.0, "width": 30.0, "height": 40.0, "area": 900.25, "score": None}
    assert tables["detections"].to_pylist() == [
        {"detection_id": 5, "category": "dog", "is_crowd": False, "mask": "[[1,2.5,30,2,30,40]]", "origin": "human"}
        | box,
        {"detection_id": 6, "category": "person", "is_crowd": True, "origin": "human"}
        | {"mask": '{"size":[480,640],"counts":[9,307191]}'}
        | box,
    ]


def test_results_have_scores_and_the_annotator_as_their_origin(tmp_path):
    annotations = [{**BOX, "score": 0.25}, {**BOX, "id": 6, "score": 1}, {**BOX, "id": 7}]
    document = {"images": [IMAGE], "annotations": annotations, "categories": CATEGORIES}
    tables, rejects, _ = load(tmp_path, document, annotator="yolo")
    assert not rejects
    assert tables["detections"]["score"].to_pylist() == [0.25, 1.0, None]
    assert tables["detections"]["origin"].to_pylist() == ["yolo", "yolo", "human"]
    tables, _, _ = load(tmp_path, document, annotator="yolo", origin="detr")
    assert tables["detections"]["origin"].to_pylist() == ["detr"] * 3
    tables, _, _ = load(tmp_path, document)
    assert tables["detections"]["origin"].to_pylist() == [None, None, "human"]


def test_a_box_without_area_or_iscrowd(tmp_path):
    bare = {k: v for k, v in BOX.items() if k not in {"area", "iscrowd"}}
    tables, _, _ = load(tmp_path, {"annotations": [bare, {**BOX, "iscrowd": True}], "categories": CATEGORIES})
    assert tables["detections"]["area"].to_pylist() == [1200.0, 900.25]
    assert tables["detections"]["is_crowd"].to_pylist() == [False, True]


def test_keypoints(tmp_path):
    pose = {**BOX, "category_id": 1, "num_keypoints": 1, "keypoints": [0, 0, 0, 10.5, 20, 2]}
    document = {"images": [IMAGE], "annotations": [pose, {**BOX, "id": 6}], "categories": CATEGORIES}
    tables, rejects, _ = load(tmp_path, document, "person_keypoints_val2017.json")
    assert not rejects
    assert tables["detections"]["detection_id"].to_pylist() == [5, 6]
    assert tables["detections"]["keypoints"].to_pylist() == [[0, 0, 0, 10.5, 20, 2], None]


def test_captions_and_boxes_in_one_file(tmp_path):
    annotations = [
        {"id": 1, "image_id": 7, "caption": "a dog"},
        BOX,
        {**BOX, "id": 6, "caption": "the dog"},
        {**BOX, "id": 8, "caption": ""},
        {"id": 9, "image_id": 7},
    ]
    document = {"images": [IMAGE], "annotations": annotations, "categories": CATEGORIES}
    tables, rejects, chunks = load(tmp_path, document)
    assert tables["captions"]["caption_id"].to_pylist() == [1, 6]
    assert tables["detections"]["detection_id"].to_pylist() == [5, 6, 8]
    assert [(r.position, r.code) for r in rejects] == [("annotations[4]", "bad_item")]
    assert list(chunks[0].positions["captions"]) == ["annotations[0]", "annotations[2]"]
    assert list(chunks[0].positions["detections"]) == ["annotations[1]", "annotations[2]", "annotations[3]"]
    assert sum(c.rows_read for c in chunks) == 6


def test_ids_that_are_texts(tmp_path):
    document = {
        "images": [{"id": "000139", "file_name": "a.jpg"}, {"id": "139"}, {"id": 140}],
        "annotations": [
            {"id": "c-1", "image_id": "000139", "caption": "x"},
            {"id": 2, "image_id": 140, "caption": "y"},
        ],
    }
    tables, rejects, _ = load(tmp_path, document)
    assert not rejects
    assert tables["images"]["image_id"].to_pylist() == [hash63("000139"), 139, 140]
    assert tables["images"]["key"].to_pylist() == ["000139", "139", "140"]
    assert tables["captions"]["caption_id"].to_pylist() == [hash63("c-1"), 2]
    assert tables["captions"]["image_id"].to_pylist() == [hash63("000139"), 140]


def test_the_dataset_is_named_by_the_file_when_it_does_not_say(tmp_path):
    for info in ({}, {"info": {"description": "  "}}, {"info": "x"}, {"info": {"description": 5}}):
        tables, _, _ = load(tmp_path, {**info, "images": [IMAGE]}, "my_set.v2.json")
        assert tables["images"]["source"].to_pylist() == ["my_set"]
        assert "split" not in tables["images"].column_names


def test_unknown_licences_say_nothing(tmp_path):
    images = [{**IMAGE, "license": v} for v in (99, None, "x", [3], 4)]
    tables, rejects, _ = load(tmp_path, {**INFO, "images": images})
    assert not rejects
    assert tables["images"]["license"].to_pylist() == [None, None, None, None, "CC0"]


def test_chunks_are_bounded_and_their_positions_follow(tmp_path):
    captions = [{"id": i, "image_id": 7, "caption": f"text {i}"} for i in range(300_000)]
    captions[200_000]["caption"] = 5
    tables, rejects, chunks = load(tmp_path, {"images": [IMAGE], "annotations": captions})
    assert tables["captions"].num_rows == 299_999
    assert [r.position for r in rejects] == ["annotations[200000]"]
    assert 3 <= len(chunks) <= 5
    for chunk in chunks:
        assert sum(t.num_rows for t in chunk.tables.values()) <= CHUNK_ROWS
        places, ids = chunk.positions["captions"], chunk.tables["captions"]["caption_id"]
        assert len(places) == len(ids)
        assert [places[0], places[-1]] == [f"annotations[{ids[0]}]", f"annotations[{ids[-1]}]"]


def test_column_mapping_is_refused(tmp_path):
    with pytest.raises(RequestError, match="mapping"):
        load(tmp_path, {"images": [IMAGE]}, mapping={"caption": "alt"})
