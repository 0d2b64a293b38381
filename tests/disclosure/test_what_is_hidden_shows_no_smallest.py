"""Rows whose count is hidden have no smallest, which would often be the same number, nor one that tells a small count from 0."""

from __future__ import annotations

import os
import random

import pytest

import counterbalance as cb

RANGES = [0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9]
AGREEMENT = "agreement('perceived_gender')"
VALIDATION = "label_validation(image_labels('perceived_gender', annotator := 'model'), 'perceived_gender')"
SCORES = "score_distribution('hateful', groups := image_labels('perceived_gender'))"


def lake_of(build, name, values, scores=None):
    """Images that a model and an annotator of a sheet label alike, with scores."""
    n = len(values)
    ids = list(range(1, n + 1))
    lake = cb.connect(f"memory://smallest-{os.getpid()}-{name}")
    scores = scores or [0.5] * n
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "labels": build.labels(
                label_id=list(range(3 * n)), image_id=ids * 3, attribute=["perceived_gender"] * 2 * n + ["hateful"] * n,
                value=values * 2 + ["yes"] * n, score=[None] * 2 * n + scores,
                annotator=["model"] * n + ["a1@12345678"] * n + ["m"] * n,
            ),
        }
    )  # fmt: skip
    return lake


def annotated(build, seed):
    draw = random.Random(seed)
    few, some = draw.randint(1, 9), draw.randint(12, 25)
    values = ["a"] * 70 + ["b"] * some + ["c"] * few
    draw.shuffle(values)
    return lake_of(build, f"labels-{seed}", values)


def scored(build, seed):
    draw = random.Random(seed)
    values = draw.choices(["female", "male"], k=400)
    weights = {"female": [3, 10, 20, 20, 20, 20, 20], "male": [1] * 7}
    scores = [draw.choices(RANGES, weights[value])[0] + 0.05 for value in values]
    return lake_of(build, f"scores-{seed}", values, scores)


@pytest.mark.cases(3)
@pytest.mark.parametrize(("make", "call"), [(annotated, AGREEMENT), (annotated, VALIDATION), (scored, SCORES)])
@pytest.mark.parametrize("seed", range(2))
def test_no_number_of_a_hidden_row(build, make, call, seed):
    rows = make(build, seed).sql(f"SELECT * FROM {call}").to_arrow().to_pylist()
    assert any(row["suppressed"] for row in rows)
    assert any(row["smallest"] is not None for row in rows)
    for row in rows:
        if row["count"] is None and row["suppressed"]:
            assert row["smallest"] is None


@pytest.mark.cases(2)
@pytest.mark.parametrize("call", [AGREEMENT, VALIDATION])
@pytest.mark.parametrize("seed", range(2))
def test_what_is_hidden_of_a_confusion_is_not_told_apart(build, call, seed):
    rows = annotated(build, seed).sql(f"SELECT * EXCLUDE (annotator, params) FROM {call}").to_arrow().to_pylist()
    hidden = [r for r in rows if (r["metric"], r["is_same"]) == ("confusion", True) and r["suppressed"]]
    assert {r["label"] for r in hidden} == {"b", "c"}
    assert len({str({k: v for k, v in r.items() if "label" not in k}) for r in hidden}) == 1
