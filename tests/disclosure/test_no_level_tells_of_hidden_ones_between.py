"""Where every class of words is hidden, all words less the terms that are shown are still no small count."""

from __future__ import annotations

import random

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

G = "image_labels('perceived_gender')"
WORDS = {"general": ("burglar", "felon"), "persons": ("arsonist", "assassin"), "property": ("arson", "vandalism")}


def lake_of(build, name, counts):
    """A lake in which so many images of each label have a word, one each; a hundred have none where no number is given."""
    counts = {label: {"walk": 100} | words for label, words in counts.items()}
    rows = [(label, word) for label, words in counts.items() for word, n in words.items() for _ in range(n)]
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


def told(lake, call):
    """Yield what a label has beyond its classes and terms that are shown: of all images, of those with any word, and of any class."""
    rows = [row for row in lake.sql(f"FROM {call}").to_arrow().to_pylist() if row["count"] is not None]
    for label in {row["label"] for row in rows}:
        own = [row for row in rows if row["label"] == label]
        terms = {(r["class"], r["term"]): r["count"] for r in own if r.get("term") is not None}
        classes = {r["class"]: r["count"] for r in own if r["level"] == "class"}
        known = classes | {term: n for (kind, term), n in terms.items() if kind not in classes}
        wholes = [r["base_count"] if "base_count" in r else r["n"] for r in own[:1]]
        wholes += [r["count"] for r in own if r["level"] == "pooled"]
        for whole in wholes:
            yield label, whole - sum({term: n for (_, term), n in terms.items()}.values())
            yield label, whole - sum(known.values())


@pytest.mark.parametrize(("few", "is_told"), [((3, 4), False), ((6, 7), True)])
def test_small_terms_of_two_classes(build, few, is_told):
    """Both classes are hidden, and all words only where the small terms together are few."""
    one, other = few
    counts = {
        "a": {"burglar": one, "felon": 24, "arsonist": 40, "assassin": other},
        "b": {"burglar": 60, "felon": 50, "arsonist": 70, "assassin": 55},
    }
    found = [*told(lake_of(build, one, counts), f"crime_words({G})")]
    assert len([label for label, _ in found if label == "a"]) == (4 if is_told else 2)
    assert not [one for one in found if 0 < one[1] < 10]


@pytest.mark.parametrize("seed", range(12))
def test_random_counts(build, seed):
    dice = random.Random(seed)
    words = [w for of in WORDS.values() for w in of]
    counts = {
        label: {w: dice.choice([0, 2, 4, 7, 12, 30, 60]) if label == "a" else dice.randint(30, 80) for w in words}
        for label in "ab"
    }
    found = told(lake_of(build, f"random-{seed}", counts), f"crime_words({G})")
    assert not [one for one in found if 0 < one[1] < 10]


TERMS = {
    "two classes with a rare term each, and a third one": (
        None,
        {
            "burglar": 2,
            "felon": 40,
            "arsonist": 3,
            "assassin": 50,
            "arson": 5,
            "vandalism": 7,
            "looting": 160,
            "walk": 1,
        },
    ),
    "terms without a class": (
        "(1, 'burglar', 'x'), (2, 'felon', 'x'), (3, 'arsonist', NULL), (4, 'assassin', NULL)",
        {"burglar": 3, "felon": 40, "arsonist": 4, "assassin": 50, "walk": 0},
    ),
}


@pytest.mark.parametrize("case", TERMS)
def test_of_all_images_of_a_label(build, case):
    """All images of a label are known as well, whether the row of all words is shown or not."""
    terms, few = TERMS[case]
    lake = lake_of(build, f"all-{case[:4]}", {"a": few, "b": dict.fromkeys(few, 20) | {"walk": 30}})
    call = f"crime_words({G})"
    if terms is not None:
        lake.create_materialized_view("mine", f"SELECT * FROM (VALUES {terms}) AS t(row_id, term, class)", "row_id")
        lake.refresh(executor="inline")
        call = f"crime_words({G}, terms := mine)"
    assert not [one for one in told(lake, call) if 0 < one[1] < 10]


@pytest.mark.parametrize("seed", range(6))
def test_classes_of_harmful_labels(build, seed):
    """Each image has one class, or none, of three."""
    dice = random.Random(seed)
    few = {"x": dice.choice([2, 5]), "y": 50, "z": 45, "walk": dice.choice([0, 3, 4])}
    counts = {"a": few, "b": {"x": 5, "walk": 100}, "c": {"x": 30, "y": 40, "z": 50, "walk": 60}}
    lake = lake_of(build, f"harmful-{seed}", counts)
    lake.create_materialized_view(
        "seen", "SELECT image_id, split_part(text, ' ', 2) AS predicted FROM captions", "image_id"
    )
    lake.create_materialized_view(
        "harm", "SELECT * FROM (VALUES ('x', 'x'), ('y', 'y'), ('z', 'z')) AS t(term, class)", "term"
    )
    lake.refresh(executor="inline")
    found = [*told(lake, f"harmful_zero_shot(seen, {G}, harm)")]
    assert found or not few["walk"], "nothing is shown"
    assert not [one for one in found if 0 < one[1] < 10]


def test_terms_of_several_classes_need_a_purpose(build):
    """Two classes and their total tell how many images have the term that is of both."""
    lake = lake_of(
        build, "shared", {"a": {"burglar": 6, "felon": 40, "assassin": 50}, "b": {"burglar": 30, "felon": 50}}
    )
    rows = "(1, 'burglar', 'x'), (2, 'felon', 'x'), (3, 'Burglar', 'y'), (4, 'assassin', 'y')"
    lake.create_materialized_view("mine", f"SELECT * FROM (VALUES {rows}) AS t(row_id, term, class)", "row_id")
    lake.create_materialized_view(
        "seen", "SELECT image_id, split_part(text, ' ', 2) AS predicted FROM captions", "image_id"
    )
    lake.refresh(executor="inline")
    for call in (f"crime_words({G}, terms := mine)", f"harmful_zero_shot(seen, {G}, mine)"):
        with pytest.raises(SensitiveError) as caught:
            lake.sql(f"FROM {call}").fetchall()
        assert caught.value.code == "E3331"
        assert lake.sql(f"FROM {call}", sensitive="a test of it").fetchall()


def test_few_images_with_two_words_of_a_class(build):
    """Terms that add up to a few more than their class are in two of them: images with both follow from the three."""
    counts = {label: {"burglar": 30, "felon": 40, "burglar and a felon": few} for label, few in (("a", 5), ("b", 20))}
    lake = lake_of(build, "two", counts)
    found = {
        (r["level"], r["term"], r["label"]): r["count"]
        for r in lake.sql(f"FROM crime_words({G})").to_arrow().to_pylist()
    }
    of_a = [found["class", None, "a"], found["term", "burglar", "a"], found["term", "felon", "a"]]
    assert None in of_a


def test_many_images_without_a_word_hide_nothing_more(build):
    """Words are rare: a small cell is one among many images that have none."""
    shown = []
    for size in (100, 5000):
        counts = {
            label: {"burglar": few, "felon": 40, "arsonist": 60, "walk": size} for label, few in (("a", 3), ("b", 30))
        }
        rows = lake_of(build, f"rare-{size}", counts).sql(f"FROM crime_words({G})").to_arrow().to_pylist()
        shown.append([(r["term"], r["label"], r["count"]) for r in rows if r["count"] is not None])
    persons = [(None, "a", 60), (None, "b", 60)]
    terms = [("felon", "a", 40), ("felon", "b", 40), ("arsonist", "a", 60), ("arsonist", "b", 60)]
    assert sorted(shown[0], key=str) == sorted(shown[1], key=str) == sorted(persons + terms, key=str)


FEW_LEFT = {
    "two hidden classes that share images": {"arsonist": 50, "burglar": 1, "vandalism": 1, "burglar and vandalism": 5},
    "a class beside which few have any word": {"arsonist": 50, "burglar and arsonist": 30, "burglar": 4},
}


@pytest.mark.parametrize("case", FEW_LEFT)
def test_few_images_beside_a_class(build, case):
    """All words less a class are the images with another one, however many words an image has."""
    few = FEW_LEFT[case]
    rows = lake_of(build, case, {"a": few, "b": {word: n + 30 for word, n in few.items()}}).sql(
        f"FROM crime_words({G})"
    )
    found = {(r["level"], r["class"], r["label"]): r["count"] for r in rows.to_arrow().to_pylist()}
    assert None in {found["pooled", None, "a"], found["class", "persons", "a"]}
    assert any(count is not None for count in found.values())


def test_a_small_term_hides_no_term_of_another_class(build):
    """Its class, and the row of all words, are all that must go with it."""
    words = [word for of in WORDS.values() for word in of]
    counts = {label: {word: 30 + 7 * i for i, word in enumerate(words)} for label in "ab"}
    counts["a"] |= {"burglar": 4, "walk": 200}
    rows = lake_of(build, "other-class", counts).sql(f"FROM crime_words({G})").to_arrow().to_pylist()
    hidden = {(r["class"], r["term"]) for r in rows if r["suppressed"]}
    assert hidden == {(None, None), ("general", None), ("general", "burglar")}


def test_a_term_beside_which_few_have_any_word(build):
    """A class less one of its terms, and all words less it, are the images with another word and without that one."""
    few = {"burglar": 35, "felon": 5, "burglar and a felon": 25}
    counts = {"a": few, "b": {word: n + 30 for word, n in few.items()}}
    rows = lake_of(build, "term", counts).sql(f"FROM crime_words({G})").to_arrow().to_pylist()
    found = {(r["level"], r["class"], r["term"]): r["count"] for r in rows if r["label"] == "a"}
    for total in (("pooled", None, None), ("class", "general", None)):
        assert None in {found[total], found["term", "general", "burglar"]}
    assert found["term", "general", "burglar"] == 60
