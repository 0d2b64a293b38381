"""Where every class of words is hidden, all words less the terms that are shown are still no small count."""

from __future__ import annotations

import random

import pytest

import counterbalance as cb

CALL = "crime_words(groups := image_labels('perceived_gender'))"
WORDS = {"general": ("burglar", "felon"), "persons": ("arsonist", "assassin"), "property": ("arson", "vandalism")}


def lake_of(build, name, counts):
    """A lake in which so many images of each label have a word, one each, and a hundred have none."""
    rows = [(label, word) for label, words in counts.items() for word, n in words.items() for _ in range(n)]
    rows += [(label, "walk") for label in counts for _ in range(100)]
    ids = [*range(len(rows))]
    lake = cb.connect(f"memory://between-{name}")
    labels = {"attribute": ["perceived_gender"] * len(ids), "value": [label for label, _ in rows]}
    texts = [f"a {word} in a town" for _, word in rows]
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
            "labels": build.labels(label_id=ids, image_id=ids, **labels),
        }
    )
    return lake


def told(lake):
    """What the rows of all words, of a label or of all, have beyond those of the terms that are shown, or of classes and terms."""
    rows = lake.sql(f"SELECT level, class, term, label, count FROM {CALL}").fetchall()
    shown = {(level, kind, label): n for level, kind, term, label, n in rows if n is not None and level != "term"}
    terms = {(kind, term, label): n for level, kind, term, label, n in rows if n is not None and level == "term"}
    for label in {row[3] for row in rows}:
        own = {(kind, term): n for (kind, term, of), n in terms.items() if of == label}
        whole = shown.get(("pooled", None, label))
        if whole is None:
            continue
        yield label, whole - sum(own.values())
        classes = {kind: n for (level, kind, of), n in shown.items() if of == label and level == "class"}
        yield label, whole - sum(classes.values()) - sum(n for (kind, _), n in own.items() if kind not in classes)


@pytest.mark.parametrize(("few", "is_told"), [((3, 4), False), ((6, 7), True)])
def test_small_terms_of_two_classes(build, few, is_told):
    """Both classes are hidden, and all words only where the small terms together are few."""
    one, other = few
    counts = {
        "a": {"burglar": one, "felon": 24, "arsonist": 40, "assassin": other},
        "b": {"burglar": 60, "felon": 50, "arsonist": 70, "assassin": 55},
    }
    found = [*told(lake_of(build, one, counts))]
    assert [label for label, _ in found if label == "a"] == ["a", "a"] * is_told
    assert not [one for one in found if 0 < one[1] < 10]


@pytest.mark.parametrize("seed", range(12))
def test_random_counts(build, seed):
    dice = random.Random(seed)
    words = [w for of in WORDS.values() for w in of]
    counts = {
        label: {w: dice.choice([0, 2, 4, 7, 12, 30, 60]) if label == "a" else dice.randint(30, 80) for w in words}
        for label in "ab"
    }
    assert not [one for one in told(lake_of(build, f"random-{seed}", counts)) if 0 < one[1] < 10]
