"""contrast_balance: a real set of pairs balances exactly; a planted imbalance is found and named; colours against numpy."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image
from statsmodels.stats.proportion import proportion_confint

import counterbalance as cb

GROUPS = ["female", "male"]


@pytest.fixture(scope="module")
def coco(data_dir):
    """Real annotations of 159 images, and an edit of each for both groups."""
    lake = cb.connect(f"memory://balance-coco-{os.getpid()}")
    for split in ("train2017", "val2017"):
        lake.ingest(str(data_dir / "coco-mini" / "annotations" / f"instances_{split}.json"), format="coco")
    images = [i for (i,) in lake.sql("SELECT image_id FROM images ORDER BY 1").fetchall()]
    concepts = lake.sql("SELECT DISTINCT image_id, category FROM detections").fetchall()
    rows = [(2 * place + at, image, label) for place, image in enumerate(images) for at, label in enumerate(GROUPS)]
    with lake.session() as opened:
        yield opened, rows, concepts


def contrast(rows):
    ids, images, labels = zip(*rows, strict=True)
    return pa.table(
        {"edit_id": pa.array(ids, pa.int64()), "image_id": pa.array(images, pa.int64()), "label": pa.array(labels)}
    )


def pairs(rows, names):
    return pa.table({name: pa.array(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)})


def run(session, rows, **options):
    found = (
        session.audit("contrast_balance", contrast=contrast(rows), **{"min_count": 1, **options}).to_arrow().to_pylist()
    )
    by_key = {(r["measure"], r["item"], r["label"]): r for r in found}
    assert len(by_key) == len(found)
    return by_key


def test_a_real_set_of_pairs_balances_exactly(coco):
    opened, rows, concepts = coco
    found = run(opened, rows)
    assert {measure for measure, _, _ in found} == {"group", "source", "attributes"}
    categories = len({c for _, c in concepts})
    assert categories > 50
    whole = found["attributes", "equal", None]
    assert (whole["count"], whole["n"], whole["value"], whole["equal"]) == (categories, categories, 1.0, True)
    assert found["source", "complete", None]["count"] == len(rows) / 2
    assert found["group", "edits", "male"]["value"] == 0.5


def test_its_differences_are_zero_and_so_is_every_delta(coco):
    opened, rows, concepts = coco
    found = {key[1:]: r for key, r in run(opened, rows, show="all").items() if key[0] == "attribute"}
    wanted = Counter(category for _, category in concepts)
    assert {item for item, _ in found} == set(wanted)
    for (item, _), row in found.items():
        assert (row["count"], row["n"], row["value"]) == (wanted[item], 2 * wanted[item], 0.5)
        assert (row["difference"], row["delta"], row["equal"]) == (0, 0.0, True)


def test_a_planted_imbalance_is_found_and_named(coco):
    """Edits of dogs for one group are lost: the dogs' categories are told, and no other."""
    opened, rows, concepts = coco
    dogs = {image for image, category in concepts if category == "dog"}
    left = [row for row in rows if not (row[2] == "female" and row[1] in dogs)]
    found = run(opened, left)
    lost = Counter(category for image, category in concepts if image in dogs)
    assert {item for measure, item, _ in found if measure == "attribute"} == set(lost)
    assert {item: found["attribute", item, "male"]["difference"] for item in lost} == lost
    row = found["attribute", "dog", "female"]
    assert (row["count"], row["n"], row["equal"]) == (0, len(dogs), False)
    assert found["attribute", "dog", "male"]["value"] == 1
    whole = found["attributes", "equal", None]
    assert (whole["n"] - whole["count"], whole["equal"]) == (len(lost), False)
    complete = found["source", "complete", None]
    assert (complete["count"], complete["n"]) == (len(rows) / 2 - len(dogs), len(rows) / 2)


def test_the_original_images_do_not_balance(coco):
    """The same concepts with labels as they come: one image, one label, not both."""
    opened, rows, _ = coco
    found = run(opened, [row for row in rows if row[0] % 4 in (0, 3)])
    assert found["source", "complete", None]["count"] == 0
    assert not found["attributes", "equal", None]["equal"]


def by_hand():
    """Six sources, three groups; source 6 lacks a group, 5 has one twice."""
    rows = [(10 * image + at, image, label) for image in range(1, 7) for at, label in enumerate("abc")]
    return [row for row in rows if row[0] != 62] + [(53, 5, "a")]


CONCEPTS = pairs([(1, "cat"), (2, "cat"), (2, "dog"), (5, "bus"), (6, "hat")], ["image_id", "concept"])


def test_by_hand(session):
    found = run(session, [*by_hand(), (70, 1, None)], concepts=CONCEPTS)  # an edit without a label does not count
    assert {item for measure, item, _ in found if measure == "attribute"} == {"bus", "hat"}
    got = {key: (r["count"], r["n"], r["difference"]) for key, r in found.items()}
    assert [got["attribute", "bus", label] for label in "abc"] == [(2, 4, 1), (1, 4, 1), (1, 4, 1)]
    assert [got["attribute", "hat", label] for label in "abc"] == [(1, 2, 1), (1, 2, 1), (0, 2, 1)]
    assert got["attributes", "equal", None][:2] == (2, 4)
    assert got["source", "complete", None][:2] == (4, 6)
    assert [got["group", "edits", label][:2] for label in "abc"] == [(7, 18), (6, 18), (5, 18)]
    row = found["attribute", "bus", "a"]
    assert (row["base"], row["delta"]) == (pytest.approx(7 / 18), pytest.approx(2 / 4 / (7 / 18) - 1))
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(2, 4, method="wilson"))


def test_objects_of_the_edits(session):
    """The same sources for every group, but a detector finds a dress in edits of one: not equal, and said so."""
    rows = [(10 * image + at, image, label) for image in range(20) for at, label in enumerate(GROUPS)]
    seen = [(e, "person") for e, _, _ in rows] + [
        (e, "dress") for e, image, label in rows if label == "female" and image < 12
    ]
    found = run(session, rows, concepts=CONCEPTS, objects=pairs(seen, ["edit_id", "concept"]))
    assert found["attributes", "equal", None]["equal"]
    assert {item for measure, item, _ in found if measure == "object"} == {"dress"}
    row = found["object", "dress", "female"]
    assert (row["count"], row["n"], row["difference"], row["delta"]) == (12, 12, 12, 1.0)
    assert (found["objects", "equal", None]["count"], found["objects", "equal", None]["n"]) == (1, 2)


def test_small_counts_are_hidden_but_told(session):
    found = run(session, by_hand(), concepts=CONCEPTS, min_count=5)
    row = found["attribute", "bus", "a"]
    assert row["suppressed"]
    assert not row["equal"]
    hidden = ("count", "n", "value", "low", "high", "base", "delta", "delta_low", "delta_high", "difference")
    assert {row[column] for column in hidden} == {None}


def test_items_are_compared_over_all_labels_or_not(session):
    """Of 5 edits with x no count is shown: whether an item that 40 of f and 20 of m have is equal is not said, either."""
    rows = [(i, i, "f" if i < 60 else "m" if i < 120 else "x") for i in range(125)]
    concepts = pairs([(i, "hat") for i in (*range(40), *range(60, 80), 120)], ("image_id", "concept"))
    found = run(session, rows, concepts=concepts, min_count=10)
    assert {(label, row["difference"], row["equal"]) for (_, item, label), row in found.items() if item == "hat"} == {
        (label, None, None) for label in "fmx"
    }
    assert found["attributes", "equal", None]["n"] == 0
    found = run(session, rows, concepts=concepts, min_count=0)
    assert found["attribute", "hat", "f"]["difference"] == 39


def test_colors_against_numpy(session):
    draw = np.random.default_rng(3)
    rows = [(10 * image + at, image, label) for image in range(15) for at, label in enumerate(GROUPS)]
    grids = draw.random((30, 14, 14, 3), np.float32)
    grids[1::2, :, :, 0] *= 0.5  # the second group's edits are less red
    colors = pa.table({"edit_id": [e for e, _, _ in rows], "grid": list(grids.reshape(30, -1))})
    found = run(session, rows, concepts=CONCEPTS, colors=colors)
    whole = grids.astype(np.float64)
    for at, label in enumerate(GROUPS):
        own = whole[at::2]
        for channel, item in enumerate(("red", "green", "blue")):
            means = own[..., channel].mean(axis=(1, 2))
            half = 1.959963984540054 * means.std(ddof=1) / np.sqrt(15)
            row = found["color", item, label]
            base = whole[..., channel].mean()
            wanted = (means.mean(), means.mean() - half, means.mean() + half, base, means.mean() / base - 1)
            got = tuple(row[c] for c in ("value", "low", "high", "base", "delta"))
            assert got == pytest.approx(wanted, rel=1e-8, abs=1e-10)
            assert row["n"] == 15
        distance = np.linalg.norm(own.mean(axis=0) - whole.mean(axis=0))
        assert found["color", "distance", label]["value"] == pytest.approx(distance, rel=1e-9)
    assert found["color", "red", "male"]["delta"] < -0.2


def test_colors_of_pictures(session):
    """With color_grid() over the edits' own pictures: one group's are red, the other's are black."""

    def picture(color):
        return image_bytes(Image.new("RGB", (28, 14), color))

    rows = [(2 * image + at, image, label) for image in range(3) for at, label in enumerate(GROUPS)]
    edits = contrast(rows).append_column("image", pa.array([picture(c) for _ in range(3) for c in ("red", "black")]))
    name = session.bind("edits", edits)
    given = {"concepts": CONCEPTS, "colors": f"(SELECT edit_id, color_grid(image) AS grid FROM {name})"}
    found = run(session, rows, **given, min_count=3)
    assert [found["color", item, "female"]["value"] for item in ("red", "green", "blue")] == [1, 0, 0]
    assert [found["color", item, "male"]["value"] for item in ("red", "green", "blue")] == [0, 0, 0]
    assert found["color", "distance", "male"]["value"] == pytest.approx(0.5 * 14)
    shown = found["color", "red", "female"]
    assert [shown[c] for c in ("n", "low", "high", "base", "delta", "suppressed")] == [3, 1, 1, 0.5, 1, False]
    few = run(session, rows, **given, min_count=4)["color", "red", "female"]
    assert [few[c] for c in ("n", "value", "low", "high", "base", "delta", "suppressed")] == [None] * 6 + [True]


@pytest.mark.parametrize("labels", [["male"] * 30, [None] * 30])
def test_nothing_is_proved_of_fewer_than_two_labels(session, labels):
    rows = [(number, 1, label) for number, label in enumerate(labels)]
    concepts = pa.table({"image_id": [1], "concept": ["dog"]})
    found = run(session, rows, concepts=concepts, show="all")
    assert {r["equal"] for r in found.values()} == {None}


def test_sources_without_a_concept_have_no_attribute(session):
    rows = [(10 * image + at, image, label) for image in range(20) for at, label in enumerate(GROUPS)]
    concepts = pa.table({"image_id": pa.array(range(20), pa.int64()), "concept": pa.array(["cat"] * 10 + [None] * 10)})
    found = run(session, rows, concepts=concepts, show="all")
    assert {item for measure, item, _ in found if measure == "attribute"} == {"cat"}
