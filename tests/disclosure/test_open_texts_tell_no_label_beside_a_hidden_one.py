"""How many texts are negative, or say something at all, anybody can count: labels whose texts are few are hidden with others."""

from __future__ import annotations

import functools
import random

import pytest
from repeats import again

import counterbalance as cb

G = "image_labels('perceived_gender')"
TEXTS = {"negative": "a murder and a robbery", "positive": "a wonderful happy day", "neutral": "a person with a cup"}
CALLS = {
    "sentiment": f"SELECT label, negative, n, texts, images, smallest, mean FROM sentiment({G})",
    "compare_sentiment": "SELECT label, count_a, n_a, images_a, count_b, n_b, images_b, smallest_a, smallest_b, value_a "
    f"FROM compare_sentiment(groups := open, others := {G}, texts := captions, other_texts := captions)",
    "one side lacks a label": "SELECT label, count_a, n_a, images_a, smallest_a, value_a "
    f"FROM compare_sentiment(groups := {G}, others := fewer, texts := captions, other_texts := captions)",
}


def made(build, folder, labels, seed):
    """Images with one text and one label each, of which the first label has few texts that say something."""
    draw = random.Random(seed)
    values = draw.choices(labels, [1, 2, 2][: len(labels)], k=150)
    kinds = [
        draw.choices([*TEXTS], [1, 2, 30] if value == labels[0] else [1, 1, draw.choice([0.2, 1])])[0]
        for value in values
    ]
    ids = list(range(1, 151))
    lake = cb.connect(str(folder / f"{labels}-{seed}.lake"))
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[TEXTS[kind] for kind in kinds]),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 150, value=values),
        }
    )
    lake.create_materialized_view(
        "open", "SELECT image_id, CASE image_id % 2 WHEN 0 THEN 'a' ELSE 'b' END AS label FROM images", "image_id"
    )
    lake.create_materialized_view("fewer", "SELECT image_id, 'b' AS label FROM images", "image_id")
    lake.refresh(executor="inline")
    return lake, {label: [k for k, v in zip(kinds, values, strict=True) if v == label] for label in labels}


@pytest.fixture(scope="module")
def lakes(build, tmp_path_factory):
    return functools.cache(functools.partial(made, build, tmp_path_factory.mktemp("texts")))


@pytest.mark.cases(3)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("seed", [0, *again(1)])
def test_what_is_hidden_is_not_few(lakes, call, labels, seed):
    lake, kinds = lakes(labels, seed)
    shown = {label for label, *numbers in lake.sql(CALLS[call]).fetchall() if any(v is not None for v in numbers)}
    for kind in TEXTS:
        few = [label for label in labels if 0 < kinds[label].count(kind) < 10]
        assert not shown & {*few}
        rest = [kinds[label].count(kind) for label in labels if label not in shown]
        assert not shown or not few or (len(rest) > 1 and sum(rest) >= 10)


def test_what_is_not_few_is_shown(lakes):
    lake, kinds = lakes("ab", 0)
    open_labels = "(SELECT image_id, CASE WHEN image_id % 2 = 0 THEN 'x' ELSE 'y' END AS label FROM images)"
    found = lake.sql(f"SELECT label, texts, negative FROM sentiment({open_labels})").fetchall()
    assert [(label, texts) for label, texts, _ in found] == [("x", 75), ("y", 75)]
    assert sum(negative for *_, negative in found) == sum(own.count("negative") for own in kinds.values())
