"""Counts of what a model is right about are hidden of all things, or of none: one is what others add up to."""

from __future__ import annotations

import random

import pytest

import counterbalance as cb

CALL = (
    "directional_amplification(groups := image_labels('perceived_gender', annotator := 'human'), "
    "predicted_groups := image_labels('perceived_gender', annotator := 'model'), show := 'pairs')"
)


def made(build, folder, seed, few):
    """Every image has a person, and one of three animals; of one animal the model calls so many of the first label otherwise."""
    draw, labels, boxes, images = random.Random(seed), [], [], 0
    for animal in ("dog", "cat", "bird"):
        for human in "fm":
            for model in "fm":
                count = few if (animal, human, model) == ("cat", "f", "m") else draw.randint(12, 18)
                for _ in range(count):
                    labels += [(images, human, "human"), (images, model, "model")]
                    boxes += [(images, animal), (images, "person")]
                    images += 1
    lake = cb.connect(str(folder))
    ids, numbers = [*range(len(labels))], [*range(len(boxes))]
    lake.ingest(
        {
            "images": build.images(image_id=[*range(images)]),
            "detections": build.detections(
                detection_id=numbers, image_id=[i for i, _ in boxes], category=[c for _, c in boxes]
            ),
            "labels": build.labels(
                label_id=ids, image_id=[i for i, *_ in labels], attribute=["perceived_gender"] * len(ids),
                value=[v for _, v, _ in labels], annotator=[a for *_, a in labels],
            ),
        }
    )  # fmt: skip
    return lake


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("few", [3, 9])
def test_few_are_hidden_with_all(build, tmp_path, seed, few):
    rows = made(build, tmp_path / "a.lake", seed, few).sql(f"FROM {CALL}").to_arrow().to_pylist()
    assert rows
    for name in ("right_n", "neither_n", "low", "high"):
        assert {row[name] for row in rows} == {None}


def test_many_are_shown(build, tmp_path):
    rows = made(build, tmp_path / "a.lake", 0, 14).sql(f"FROM {CALL}").to_arrow().to_pylist()
    assert rows
    assert all(row["right_n"] is not None for row in rows)


def test_with_a_purpose_the_others_stay(build, tmp_path):
    lake = made(build, tmp_path / "a.lake", 0, 3)
    rows = lake.sql(f"FROM {CALL}", sensitive="a test of the wall").to_arrow().to_pylist()
    assert any(row["right_n"] is not None for row in rows)
