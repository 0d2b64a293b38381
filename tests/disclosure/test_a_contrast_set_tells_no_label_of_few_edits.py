"""contrast_balance does not tell whether items of few edits are equal, nor by which rows there are."""

from __future__ import annotations

import pytest

import counterbalance as cb

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


def rows(lake, show, **more):
    found = lake.sql(f"FROM contrast_balance(contrast, show := '{show}')", **more).to_arrow().to_pylist()
    return {(r["measure"], r["item"], r["label"]): r for r in found}


@pytest.mark.parametrize("show", ["all", "unequal"])
def test_whether_few_are_equal(lake, show):
    for (measure, item, label), row in rows(lake, show).items():
        if measure == "attribute" and item not in {"many, equal", "many, unequal"}:
            assert (row["equal"], row["difference"], row["count"]) == (None, None, None), (item, label)


def test_which_rows_there_are(lake):
    """Rows of the two shows differ in items of many edits only, whose counts are told."""
    every, unequal = rows(lake, "all"), rows(lake, "unequal")
    assert {item for _, item, _ in every.keys() - unequal.keys()} == {"many, equal"}
    assert unequal.keys() < every.keys()
    assert unequal["attribute", "many, unequal", "female"]["equal"] is False


def test_what_all_items_tell(lake):
    """How many are equal is counted over those that are shown."""
    whole = rows(lake, "all")["attributes", "equal", None]
    assert (whole["count"], whole["n"], whole["equal"]) == (1, 2, False)


def test_a_purpose_shows_them(lake):
    found = (
        lake.sql("FROM contrast_balance(contrast, show := 'all', min_count := 0)", sensitive="a test")
        .to_arrow()
        .to_pylist()
    )
    equal = {r["item"]: r["equal"] for r in found if r["measure"] == "attribute"}
    assert equal == {name: name.endswith(", equal") for name in ITEMS}


def test_few_edits_of_two_labels_are_not_told(build, tmp_path):
    """Rows of a label count its edits alone: no difference of two rows is the few edits that have another label, too."""
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
        "SELECT measure, label, edits FROM contrast_balance(contrast, show := 'all', colors := colors) WHERE label IS NOT NULL"
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


@pytest.mark.parametrize("without", [3, 0, 20])
def test_few_edits_without_colours_are_not_told(build, tmp_path, without):
    """Whose grids cannot be read anybody can see: the edits of a label less those of its colours are as many of these."""
    ids = list(range(100))
    lake = cb.connect(tmp_path / "a.lake")
    values = ["female", "male"] * 50
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 100, value=values),
        }
    )
    reads = "SELECT label_id AS edit_id, image_id, value AS label FROM labels"
    lake.create_materialized_view("contrast", reads, "edit_id", purpose="the owner's")
    grid = f"CASE WHEN image_id >= {2 * without} THEN CAST([0.1, 0.2, 0.3] AS FLOAT[]) END"
    lake.create_materialized_view("colors", f"SELECT image_id AS edit_id, {grid} AS grid FROM images", "edit_id")
    lake.refresh(executor="inline")
    found = lake.sql("FROM contrast_balance(contrast, colors := colors)").to_arrow().to_pylist()
    told = {(r["measure"], r["item"]): r["edits"] for r in found if r["label"] == "female"}
    assert told["group", "edits"] == 50
    assert {told["color", item] for item in ("red", "green", "blue", "distance")} == {
        None if 0 < without < 10 else 50 - without
    }
