"""Presets of the baselines: attributes without persons (Hirota et al.), and balanced COCO as GenSynth's code draws it."""

from __future__ import annotations

from collections import Counter

import pytest

import counterbalance as cb

TEXTS = ["a man with a tie"] * 12 + ["a woman with a tie"] * 6 + ["a tie on a bed"] * 18


@pytest.fixture
def lake(build, tmp_path):
    ids = list(range(len(TEXTS)))
    boxes = [(i, c) for i in ids for c in ("person", "tie")[i >= 18 :]]
    made = cb.connect(tmp_path / "own.lake")
    made.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=TEXTS),
            "detections": build.detections(
                detection_id=list(range(len(boxes))), image_id=[i for i, _ in boxes], category=[c for _, c in boxes]
            ),
        }
    )
    return made


def drawn(lake, recipe, columns, **given):
    lake.recipe(recipe, {"min_count": 1, **given}, refresh={"executor": "inline"})
    return lake.sql(f"SELECT {columns} FROM {recipe}_set").fetchall()


@pytest.mark.parametrize("recipe", ["subsample", "oversample", "reweight"])
def test_attributes_are_balanced_and_persons_are_none(lake, recipe):
    """Resampling of Hirota et al., section 2.1; B.1 leaves classes of persons out."""
    rows = drawn(lake, recipe, "concept, label", preset="paper")
    assert {concept for concept, _ in rows} == {"tie"}
    assert {label for _, label in rows} == {"female", "male"}


@pytest.mark.parametrize(("preset", "others"), [("gensynth", 0), ("gensynth_code", 12)])
def test_balanced_coco(lake, preset, others):
    """The paper's has labelled images only; the code keeps the proportion of the others: as many as labelled ones, here."""
    labels = Counter(label for (label,) in drawn(lake, "subsample", "label", preset=preset))
    assert labels.pop("male") == labels.pop("female") == 6
    assert sum(labels.values()) == others
