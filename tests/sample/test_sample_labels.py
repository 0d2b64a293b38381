"""Two annotators whose agreement is planted; bystanders are labelled and must not count."""

from __future__ import annotations

import csv
from collections import Counter

import pytest

from counterbalance.sample import generate, world
from counterbalance.sample.plan import make_plan

SEED, IMAGES = 6, 120


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    folder = tmp_path_factory.mktemp("labels")
    generate(folder, images=IMAGES, seed=SEED)
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def values(rows: list[dict[str, str]], attribute: str, annotator: str) -> dict[str, str]:
    return {r["detection_id"]: r["value"] for r in rows if (r["attribute"], r["annotator"]) == (attribute, annotator)}


def test_both_annotators_label_every_figure_once(rows: list[dict[str, str]]) -> None:
    figures = sum(len(s.people) + (s.bystander is not None) for s in make_plan(IMAGES, SEED))
    for attribute in world.KAPPA:
        first, second = (values(rows, attribute, a) for a in world.ANNOTATORS)
        assert first.keys() == second.keys()
        assert len(first) == figures
    keys = [(r["image_id"], r["detection_id"], r["attribute"], r["annotator"]) for r in rows]
    assert len(keys) == len(set(keys))


def test_the_first_annotator_sees_the_truth_or_finds_a_whole_image_unclear(rows: list[dict[str, str]]) -> None:
    seen = values(rows, "perceived_gender", "first")
    for scene in make_plan(IMAGES, SEED):
        truth = [p.gender for p in scene.people]
        found = [seen[str(scene.number * 100 + i)] for i in range(1, len(truth) + 1)]
        assert found in (truth, [world.UNCLEAR] * len(truth))


def test_the_second_annotator_agrees_as_often_as_planted(rows: list[dict[str, str]]) -> None:
    for attribute, kappa in world.KAPPA.items():
        first, second = (values(rows, attribute, a) for a in world.ANNOTATORS)
        margin = Counter(first.values())
        chance = sum((n / len(first)) ** 2 for n in margin.values())
        agreed = sum(first[d] == second[d] for d in first) / len(first)
        assert agreed == pytest.approx(kappa + (1 - kappa) * chance, abs=0.1)


def test_scenes_and_scores_are_labels_of_whole_images(rows: list[dict[str, str]]) -> None:
    plan = {str(s.number): s for s in make_plan(IMAGES, SEED)}
    whole = [r for r in rows if not r["detection_id"]]
    assert Counter(r["attribute"] for r in whole) == {"scene": IMAGES, "hateful": IMAGES}
    for row in whole:
        if row["attribute"] == "scene":
            assert row["value"] == plan[row["image_id"]].place
        else:
            assert float(row["score"]) == plan[row["image_id"]].hate
