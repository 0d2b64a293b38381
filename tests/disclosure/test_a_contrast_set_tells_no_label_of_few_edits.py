"""contrast_balance tells of perceived labels with a purpose only: items that go equally often with all labels tell how often.

In a balanced set all but a rare item are equal: what a label's edits are more than a part of each of these is the rare one.
"""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

ITEMS = {
    "few, equal": range(8),  # four of each
    "few, unequal": range(0, 16, 2),
    "many and few": [*range(0, 60, 2), 61, 63, 65],
    "many, equal": range(40),
    "many, unequal": [*range(0, 60, 2), *range(1, 41, 2)],
}


@pytest.fixture(scope="module")
def lake(build, tmp_path_factory):
    """A hundred edits, each of an image of its own; what is in these anybody can read."""
    ids, objects = list(range(100)), [(i, name) for name, images in ITEMS.items() for i in images]
    lake = cb.connect(str(tmp_path_factory.mktemp("contrast") / "a.lake"))
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "detections": build.detections(
                detection_id=list(range(len(objects))), image_id=[i for i, _ in objects], category=[name for _, name in objects]
            ),
            "labels": build.labels(
                label_id=ids, image_id=ids, attribute=["perceived_gender"] * 100, value=["female", "male"] * 50
            ),
        }
    )  # fmt: skip
    reads = "SELECT image_id AS edit_id, image_id, value AS label FROM labels"
    lake.create_materialized_view("contrast", reads, "edit_id", purpose="the owner's")
    lake.refresh(executor="inline")
    return lake


@pytest.mark.parametrize("more", ["", ", show := 'all'", ", min_count := 60"])
def test_it_needs_a_purpose(lake, more):
    with pytest.raises(SensitiveError) as caught:
        lake.sql(f"FROM contrast_balance(contrast{more})").fetchall()
    assert caught.value.code == "E3329"


def test_a_purpose_shows_them(lake):
    found = (
        lake.sql("FROM contrast_balance(contrast, show := 'all', min_count := 0)", sensitive="a test")
        .to_arrow()
        .to_pylist()
    )
    equal = {r["item"]: r["equal"] for r in found if r["measure"] == "attribute"}
    assert equal == {name: name.endswith(", equal") for name in ITEMS}


def test_edits_of_two_labels_count_nowhere(build, tmp_path):
    """Rows of a label count its edits alone, whatever they are about."""
    labels = {i: ["a"] if i < 50 else ["b"] if i < 110 else ["c"] for i in range(170)}
    labels |= {i: ["a", "b"] for i in range(3)} | {i: ["b", "c"] for i in range(50, 62)}
    rows = [(image, label) for image, own in labels.items() for label in own]
    lake = cb.connect(tmp_path / "a.lake")
    columns = {"label_id": list(range(len(rows))), "image_id": [i for i, _ in rows], "value": [v for _, v in rows]}
    lake.ingest(
        {
            "images": build.images(image_id=list(labels)),
            "detections": build.detections(detection_id=list(labels), image_id=list(labels), category=["cat"] * 170),
            "labels": build.labels(
                **columns, attribute=["perceived_gender"] * len(rows), annotator=[f"n{i}" for i in range(len(rows))]
            ),
        }
    )
    reads = "SELECT label_id, image_id AS edit_id, image_id, value AS label FROM labels"
    lake.create_materialized_view("contrast", reads, "label_id", purpose="the owner's")
    grids = "SELECT image_id AS edit_id, CAST([0.1, 0.2, 0.3] AS FLOAT[]) AS grid FROM images"
    lake.create_materialized_view("colors", grids, "edit_id")
    lake.refresh(executor="inline")
    found = lake.sql(
        "SELECT measure, label, edits FROM contrast_balance(contrast, show := 'all', colors := colors) WHERE label IS NOT NULL",
        sensitive="a test",
    )
    told = {}
    for measure, label, edits in found.fetchall():
        told.setdefault(label, {}).setdefault(measure, set()).add(edits)
    assert {"group", "attribute", "color"} <= told["a"].keys()
    assert {label: set().union(*own.values()) - {None} for label, own in told.items()} == {
        "a": {47},
        "b": {48},
        "c": {60},
    }
