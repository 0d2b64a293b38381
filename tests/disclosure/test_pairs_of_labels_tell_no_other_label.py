"""concept_ratio of every pair of labels, and every min_count, tells together no count of a label that few images have."""

from __future__ import annotations

import functools
import itertools
import os
import random

import pytest
from repeats import again

import counterbalance as cb

LABELS = "abcd"
WORDS = ("murderer", "thief", "robber", "assault", "gangster")
CALL = (
    "SELECT concept, count, rest, n + others FROM concept_ratio(image_labels('perceived_race'), {}, "
    "label := '{}', against := '{}', min_count := {})"
)


def made(build, seed):
    """Images of four labels, with some words each, and one scene."""
    draw = random.Random(seed)
    values = draw.choices(LABELS, [45, 25, 18, 12], k=240)
    rates = {(v, w): draw.choice([0.04, 0.12, 0.3, 0.5]) for v in LABELS for w in WORDS}
    words = [{w for w in WORDS if draw.random() < rates[v, w]} for v in values]
    odds = {v: [draw.choice([0.15, 1, 1, 2]) for _ in WORDS] for v in LABELS}
    scenes = [draw.choices(WORDS, odds[v])[0] for v in values]
    ids = list(range(1, 241))
    lake = cb.connect(f"memory://pairs-{os.getpid()}-{seed}")
    texts = [f"a person with a {' and a '.join(sorted(own)) or 'cup'}" for own in words]
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
            "labels": build.labels(
                label_id=list(range(480)), image_id=ids * 2, attribute=["perceived_race"] * 240 + ["scene"] * 240,
                value=values + scenes,
            ),
        }
    )  # fmt: skip

    def counts(having):
        return {w: {v: sum(w in h and v == o for h, o in zip(having, values, strict=True)) for v in LABELS} for w in WORDS}  # fmt: skip

    return lake, {"word_concepts": counts(words), "label_concepts('scene')": counts([{s} for s in scenes])}


@pytest.fixture(scope="module")
def told(build):
    """What all calls together show of each concept and label, and the truth."""
    found = {}

    @functools.cache
    def of(seed, concepts):
        if seed not in found:
            found[seed] = made(build, seed)
        lake, truth = found[seed]
        shown = {}
        with lake.session() as session:
            for (one, other), least in itertools.product(itertools.combinations(LABELS, 2), (10, 40)):
                for word, count, rest, _ in session.sql(CALL.format(concepts, one, other, least)).fetchall():
                    if word in WORDS:
                        shown[word, one], shown[word, other] = count, rest
        return shown, truth[concepts]

    return of


@pytest.mark.parametrize("concepts", ["word_concepts", "label_concepts('scene')"])
@pytest.mark.parametrize("seed", [0, *again(1)])
def test_what_is_left_of_a_concept_is_not_few(told, seed, concepts):
    shown, truth = told(seed, concepts)
    for word, own in truth.items():
        hidden = [own[v] for v in LABELS if (word, v) not in shown]
        assert not any(0 < count < 10 for count in own.values()) or len(hidden) == len(LABELS)


@pytest.mark.parametrize("seed", [0, *again(1)])
def test_what_is_left_of_a_label_is_not_few(told, seed):
    """Each image has one scene: those of a label that are not shown add up to a number that is known."""
    shown, truth = told(seed, "label_concepts('scene')")
    for label in LABELS:
        hidden = [own[label] for word, own in truth.items() if (word, label) not in shown]
        few = any(0 < count < 10 for word, own in truth.items() for count in own.values() if (word, label) not in shown)
        assert not few or len(hidden) == len(WORDS) or (len(hidden) > 1 and sum(hidden) >= 10)


@pytest.mark.thorough
@pytest.mark.parametrize("seeds", [1, *again(4)])
def test_what_is_not_few_is_shown(told, seeds):
    shown, truth = zip(*(told(seed, "word_concepts") for seed in range(seeds)), strict=True)
    some = [(s, w, own) for s, t in zip(shown, truth, strict=True) for w, own in t.items() if min(own.values()) >= 10]
    assert some
    assert all(s[w, v] == count for s, w, own in some for v, count in own.items())
