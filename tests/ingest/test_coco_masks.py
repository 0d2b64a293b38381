"""Masks come through as they were: pycocotools computes the same areas and pixels from what is kept."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.coco import read
from counterbalance.ingest.coco_masks import masks
from counterbalance.ingest.validate import ObjectSieve

DATA = Path(os.environ.get("COUNTERBALANCE_DATA", Path(__file__).parents[3] / "shared" / "data"))
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # pycocotools, numpy 2
COORDINATES = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))


def decoded(segmentation, height, width):
    from pycocotools import mask

    if isinstance(segmentation, list):
        runs = mask.merge(mask.frPyObjects(segmentation, height, width))
    elif isinstance(segmentation["counts"], list):
        runs = mask.frPyObjects(segmentation, height, width)
    else:
        runs = segmentation
    return mask.decode(runs)


def kept_masks(path):
    found = {}
    for chunk in read(str(path), ReadOptions()).chunks:
        rows = chunk.tables.get("detections")
        if rows is not None:
            found |= dict(zip(rows["detection_id"].to_pylist(), rows["mask"].to_pylist(), strict=True))
    return found


@pytest.mark.parametrize("name", ["instances_val2017", "instances_train2017", "person_keypoints_val2017"])
def test_real_masks(name):
    path = DATA / "coco-mini" / "annotations" / f"{name}.json"
    if not path.exists():
        pytest.skip(f"no real data at {path}")
    document = json.loads(path.read_text())
    sizes = {i["id"]: (i["height"], i["width"]) for i in document["images"]}
    kept = kept_masks(path)
    kinds = set()
    assert set(kept) == {a["id"] for a in document["annotations"]}
    for annotation in document["annotations"]:
        mask = json.loads(kept[annotation["id"]])
        assert mask == annotation["segmentation"]
        kinds.add(type(mask))
        pixels, wanted = (decoded(m, *sizes[annotation["image_id"]]) for m in (mask, annotation["segmentation"]))
        assert np.array_equal(pixels, wanted)
    assert kinds == {list, dict}


@given(st.data())
def test_drawn_masks(tmp_path_factory, data):
    from pycocotools import mask

    height, width = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 30))
    seed = data.draw(st.integers(0, 2**32 - 1))
    pixels = np.asfortranarray(np.random.default_rng(seed).random((height, width)) < 0.4).astype(np.uint8)
    packed = mask.encode(pixels)
    flat = pixels.ravel(order="F")
    edges = np.flatnonzero(np.diff(flat)) + 1
    counts = np.diff([0, *edges, flat.size]).tolist()
    runs = {"size": [height, width], "counts": counts if flat[0] == 0 else [0, *counts]}
    text = {"size": packed["size"], "counts": packed["counts"].decode()}
    base = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}
    document = {
        "images": [{"id": 1, "width": width, "height": height}],
        "annotations": [{**base, "id": 1, "segmentation": runs}, {**base, "id": 2, "segmentation": text}],
        "categories": [{"id": 1, "name": "x"}],
    }
    path = tmp_path_factory.mktemp("masks") / "x.json"
    path.write_text(json.dumps(document))
    kept = kept_masks(path)
    for number in (1, 2):
        assert np.array_equal(decoded(json.loads(kept[number]), height, width), pixels)


def test_numbers_keep_their_value_and_are_written_in_one_way(tmp_path):
    polygon = [[0, 7.0, -0.0, 123.456, 0.1, 100.0], [10.05, 1.0, 2, 3.01]]
    document = {
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "segmentation": polygon}],
        "categories": [{"id": 1, "name": "x"}],
    }
    (tmp_path / "x.json").write_text(json.dumps(document))
    kept = kept_masks(tmp_path / "x.json")[1]
    assert json.loads(kept) == polygon
    assert kept == "[[0,7,-0,123.456,0.1,100],[10.05,1,2,3.01]]"


@given(st.lists(st.lists(st.tuples(COORDINATES, COORDINATES), max_size=5), max_size=3))
def test_every_number_reads_back(polygons):
    given_ = [[v for point in polygon for v in point] for polygon in polygons]
    sieve = ObjectSieve("x.json", "annotations", np.arange(1), [{"segmentation": given_}])
    (text,) = masks(sieve).to_pylist()
    assert not sieve.rejects
    assert (text is None) == (given_ == [])
    assert text is None or json.loads(text) == given_
