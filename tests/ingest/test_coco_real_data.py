"""Real COCO files give the counts and values that json.load finds in them."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from reading import tables_of

from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.coco import read

DATA = Path(os.environ.get("COUNTERBALANCE_DATA", Path(__file__).parents[3] / "shared" / "data"))
pytestmark = pytest.mark.skipif(not (DATA / "coco").is_dir(), reason=f"no real data at {DATA} (COUNTERBALANCE_DATA)")


def load(uri, **options):
    source = read(str(uri), ReadOptions(**options))
    chunks = list(source.chunks)
    assert not [r for c in chunks for r in c.rejects]
    assert sum(c.bytes_read for c in chunks) == source.total_bytes
    return tables_of(chunks)


def test_val2017_captions():
    path = DATA / "coco" / "captions_val2017.json"
    tables = load(path)
    document = json.loads(path.read_text())
    assert (tables["images"].num_rows, tables["captions"].num_rows) == (5000, 25_014)
    assert Counter(Counter(tables["captions"]["image_id"].to_pylist()).values()) == {5: 4987, 6: 12, 7: 1}
    expected = [
        {"caption_id": a["id"], "image_id": a["image_id"], "text": a["caption"]} for a in document["annotations"]
    ]
    assert tables["captions"].select(["caption_id", "image_id", "text"]).to_pylist() == expected
    licenses = {x["id"]: x["name"] for x in document["licenses"]}
    wanted = [
        {"image_id": i["id"], "uri": i["coco_url"], "width": i["width"], "height": i["height"]}
        | {"license": licenses[i["license"]], "split": "val2017", "source": "COCO 2017 Dataset", "key": str(i["id"])}
        for i in document["images"]
    ]
    assert tables["images"].to_pylist() == [{k: row[k] for k in tables["images"].column_names} for row in wanted]


@pytest.mark.parametrize("window", [5000, 1 << 20])
def test_the_small_sample(window):
    folder = DATA / "coco-mini"
    tables = load(folder)
    assert len(set(tables["images"]["image_id"].to_pylist())) == 159
    assert Counter(tables["images"]["split"].to_pylist()) == {"train2017": 160 + 80, "val2017": 158 + 79}
    assert tables["captions"].num_rows == 795
    boxes = tables["detections"].to_pylist()
    assert len(boxes) == 739 + 624 + 172 + 118
    assert sum(b["is_crowd"] for b in boxes if b["keypoints"] is None) == 13
    with_pose = {b["detection_id"] for b in boxes if b["keypoints"] is not None}
    plain = {b["detection_id"]: b for b in boxes if b["keypoints"] is None}
    assert len(with_pose) == 290
    assert {plain[i]["category"] for i in with_pose} == {"person"}
    assert sum(b["category"] == "person" for b in plain.values()) == 290


def test_boxes_of_the_small_sample_are_those_of_the_file():
    path = DATA / "coco-mini" / "annotations" / "instances_val2017.json"
    document = json.loads(path.read_text())
    names = {c["id"]: c["name"] for c in document["categories"]}
    rows = load(path)["detections"]
    assert rows["category"].to_pylist() == [names[a["category_id"]] for a in document["annotations"]]
    boxes = np.array([a["bbox"] for a in document["annotations"]], np.float32)
    assert np.array_equal(np.stack([rows[c].to_numpy() for c in ("x", "y", "width", "height")], 1), boxes)
    assert rows["area"].to_pylist() == np.array([a["area"] for a in document["annotations"]], np.float32).tolist()


@pytest.mark.parametrize("split", ["train2017", "val2017"])
def test_the_files_of_a_split_agree_on_what_they_share(split):
    """Otherwise every ingest of them would change rows back and forth."""
    folder = DATA / "coco-mini" / "annotations"
    plain = {r["detection_id"]: r for r in load(folder / f"instances_{split}.json")["detections"].to_pylist()}
    posed = load(folder / f"person_keypoints_{split}.json")["detections"].to_pylist()
    assert posed
    for row in posed:
        assert row.pop("keypoints")
        assert row == plain[row["detection_id"]]


def test_a_split_of_the_small_sample_with_its_pictures():
    images = load(DATA / "coco-mini", split="val2017", images=str(DATA / "coco-mini"), store_images=True)["images"]
    assert images.num_rows == 3 * 79
    once = {r["image_id"]: r for r in images.to_pylist() if r["image"] is not None}
    assert len(once) == 79 == images["sha256"].length() - images["sha256"].null_count
    for row in once.values():
        path = DATA / "coco-mini" / "val2017" / f"{row['image_id']:012d}.jpg"
        assert row["uri"] == str(path.absolute())
        assert row["image"] == path.read_bytes()
