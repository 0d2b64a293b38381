"""In how many images a word stands anybody can count: keyword_profile shows no label beside one that few images of have it."""

from __future__ import annotations

import os
import random

import pytest

import counterbalance as cb

WORDS = ("cat", "dog", "tree", "umbrella", "laptop", "house", "bike", "cake", "ball")
CALL = "SELECT keyword, label, count FROM keyword_profile(image_labels('perceived_gender'), top := 1000)"


def made(build, labels, seed):
    draw = random.Random(seed)
    values = [draw.choice(labels) for _ in range(150)]
    rates = {(v, w): draw.choice([0.03, 0.05, 0.4, 0.4, 0.5]) for v in labels for w in WORDS}
    words = [{w for w in WORDS if draw.random() < rates[v, w]} for v in values]
    ids = list(range(1, 151))
    lake = cb.connect(f"memory://words-{os.getpid()}-{''.join(labels)}-{seed}")
    texts = [f"with {' and '.join(sorted(own)) or 'grass'}" for own in words]
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 150, value=values),
        }
    )
    return lake, {
        w: {v: sum(w in own and one == v for own, one in zip(words, values, strict=True)) for v in labels}
        for w in WORDS
    }


@pytest.mark.parametrize("labels", [("a", "b"), ("a", "b", "c")])
@pytest.mark.parametrize("seed", range(2))
def test_the_rest_of_a_word_is_not_few(build, labels, seed):
    lake, counts = made(build, labels, seed)
    shown = {(w, v): count for w, v, count in lake.sql(CALL).fetchall() if w in WORDS}
    assert shown
    for word, own in counts.items():
        hidden = [own[v] for v in labels if (word, v) not in shown]
        if len(hidden) < len(labels) and any(0 < count < 10 for count in hidden):
            assert len(hidden) > 1
            assert sum(hidden) >= 10
