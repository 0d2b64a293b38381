"""Boxes, areas and masks of the sample agree with COCO's own tools, and audits' size limit finds the right people."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as coco_mask

from counterbalance.sample import generate

pytestmark = pytest.mark.filterwarnings("ignore:.*__array__ implementation.*:DeprecationWarning")
HEIGHT, WIDTH = 240, 320


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("boxes")
    generate(folder, images=150, seed=2)
    found: dict[str, Any] = json.loads((folder / "annotations" / "instances_sample.json").read_text())
    return found


def decoded(segmentation: Any) -> np.ndarray:
    if isinstance(segmentation, list):
        runs = coco_mask.merge(coco_mask.frPyObjects(segmentation, HEIGHT, WIDTH))
    else:
        runs = coco_mask.frPyObjects(segmentation, HEIGHT, WIDTH)
    return np.asarray(coco_mask.decode(runs)).astype(bool)


def test_boxes_lie_in_the_picture_and_ids_are_unique(instances: dict[str, Any]) -> None:
    ids = [a["id"] for a in instances["annotations"]]
    assert len(ids) == len(set(ids)) > 300
    for a in instances["annotations"]:
        x, y, width, height = a["bbox"]
        assert 0 <= x < x + width <= WIDTH
        assert 0 <= y < y + height <= HEIGHT
        assert 0 < a["area"] <= width * height


def test_polygons_cover_the_box_and_the_area(instances: dict[str, Any]) -> None:
    polygons = [a for a in instances["annotations"] if not a["iscrowd"]]
    for a in polygons:
        mask = decoded(a["segmentation"])
        x, y, width, height = a["bbox"]
        outside = mask.copy()
        outside[max(0, y - 1) : y + height + 1, max(0, x - 1) : x + width + 1] = False
        assert not outside.any()
        assert abs(int(mask.sum()) - a["area"]) <= 0.3 * a["area"] + 30


def test_crowds_are_run_lengths_of_exactly_their_area(instances: dict[str, Any]) -> None:
    crowds = [a for a in instances["annotations"] if a["iscrowd"]]
    assert crowds
    for a in crowds:
        mask = decoded(a["segmentation"])
        assert int(mask.sum()) == a["area"]
        rows, columns = np.nonzero(mask)
        x, y, width, height = a["bbox"]
        assert (columns.min(), rows.min()) == (x, y)
        assert (columns.max() + 1, rows.max() + 1) == (x + width, y + height)


def test_people_in_front_are_at_least_30_pixels_wide_and_bystanders_are_not(instances: dict[str, Any]) -> None:
    from counterbalance.sample.plan import make_plan

    sides: dict[int, list[float]] = {}
    for a in instances["annotations"]:
        if a["category_id"] == 1 and not a["iscrowd"]:
            sides.setdefault(a["image_id"], []).append(min(a["bbox"][2:]))
    scenes = make_plan(150, 2)
    assert sum(s.bystander is not None for s in scenes) > 10
    for scene in scenes:
        found = sides.get(scene.number, [])
        assert len(found) == len(scene.people) + (scene.bystander is not None)
        assert sum(side >= 30 for side in found) == len(scene.people)


def test_every_planned_object_has_a_box(instances: dict[str, Any]) -> None:
    from counterbalance.sample.plan import make_plan

    names = {c["id"]: c["name"] for c in instances["categories"]}
    boxed: dict[int, list[str]] = {}
    for a in instances["annotations"]:
        boxed.setdefault(a["image_id"], []).append(names[a["category_id"]])
    for scene in make_plan(150, 2):
        assert sorted(o for o in boxed.get(scene.number, []) if o != "person") == sorted(scene.objects)
