"""Whom the classifiers of the recipe laion400m learn from: its SQL on answers by hand, without any model."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.recipes.files import recipes
from counterbalance.engine.recipes.values import fill, literals
from counterbalance.engine.store import tables

PURPOSE = "a test of labels by hand"
OPTIONS = {
    "m": "only male person visible",
    "f": "only female person visible",
    "b": "both male and female people visible",
    "u": "gender is unclear / cannot tell / no person visible",
}
RACES = {
    "B": "Black, African, or African American",
    "E": "East Asian, such as Chinese, Japanese, or Korean",
    "S": "Indian, Pakistani, or Bangladeshi",
    "U": "race is unclear / cannot tell / no person visible",
}


def said(letters, options):
    kind = pa.struct([("answer", pa.string())])
    return pa.array([{"answer": options[x]} if x in options else None for x in letters], kind)


def store(lake, name, columns):
    tables.append(lake.location, name, pa.table(columns))


TEXTS = ["a man from Kenya", "a Kenyan bride", "Japanese woman", "an Asian boy", "a dog", "the white, Japanese house"]
"""Of images 0, 1 and so on; Kenyan is the adjective of a country, and an Asian boy of two categories."""


@pytest.fixture
def made(tmp_path):
    """A lake on the disk: tables that are written beside its own are found there."""
    return cb.connect(tmp_path / "hand.lake")


@pytest.fixture
def run(made, build):
    """Run the statements of a step that declare views, refresh these, and return the rows of the last one."""
    ids = list(range(len(TEXTS)))
    captions = build.captions(caption_id=ids, image_id=ids, text=TEXTS)
    made.ingest({"images": build.images(image_id=ids, key=[str(i) for i in ids]), "captions": captions})

    def step(name, *views, **given):
        recipe = recipes()["laion400m"]
        text = literals(recipe, given)
        (own,) = [s for s in recipe.steps if s.name == name]
        with made.session(sensitive=PURPOSE) as session:
            for statement in own.statements:
                if statement.startswith("CREATE") and any(f" {view} " in statement for view in views):
                    session.sql(fill(statement, text))
        made.refresh(*views, executor="inline")
        with made.session(sensitive=PURPOSE) as session:
            return session.sql(f"SELECT * FROM {views[-1]}").to_arrow().to_pylist()

    return step


def asked(lake, answers):
    """People about whom four models said this, a letter each; '-' where one was not asked or gave no answer."""
    places = list(zip(*answers, strict=True))
    columns = {f"gender_{i + 1}": said(letters, OPTIONS) for i, letters in enumerate(places)}
    store(lake, "people_sample", {"detection_id": list(range(len(answers))), "image_id": [1] * len(answers), **columns})


ANSWERS = {
    "mmm-": ("male", 3),
    "fff-": ("female", 3),
    "uuu-": ("unclear", 3),
    "bbfb": ("mixed", 3),
    "buub": ("mixed", 2),
    "bbbf": ("mixed", 2),
    "ubub": ("mixed", 2),
    "bfff": None,
    "bmbf": None,  # the third model does not count here
    "mmf-": None,
    "-mm-": None,
    "b-bb": ("mixed", 2),
}


def test_three_of_three_but_two_of_three_for_mixed(made, run):
    asked(made, list(ANSWERS))
    rows = run("answers", "answers", "consensus")
    found = {list(ANSWERS)[r["detection_id"]]: (r["value"], r["agreed"]) for r in rows}
    assert found == {answers: label for answers, label in ANSWERS.items() if label is not None}
    assert len(rows) == len(found)


def test_three_of_three_for_mixed_too(made, run):
    asked(made, ["bbfb", "buub", "mmm-"])
    rows = run("answers", "answers", "consensus", mixed_agree=3)
    assert {r["detection_id"]: r["value"] for r in rows} == {0: "mixed", 2: "male"}


def test_at_most_so_many_of_each_label_those_first_about_which_all_agree(made, run):
    asked(made, ["mmm-"] * 30 + ["fff-"] * 3 + ["bufb"] * 20 + ["bbub"] * 4 + ["mff-"] * 9)
    rows = run("answers", "answers", "consensus", "training", per_label=5)
    assert Counter(r["value"] for r in rows) == {"male": 5, "female": 3, "mixed": 5}
    mixed = {r["detection_id"] for r in rows if r["value"] == "mixed"}
    assert set(range(53, 57)) < mixed
    assert {r["attribute"] for r in rows} == {"perceived_gender"}


def candidates(lake, run, genders, **given):
    kind = pa.struct([("label", pa.string())])
    labels = pa.array([{"label": g} for g in genders], kind)
    ids = list(range(len(genders)))
    store(lake, "people", {"detection_id": ids, "image_id": [i % 6 for i in ids], "perceived_gender": labels})
    asked(lake, ["mmm-"] * 3)
    return run("race_sample", "race_candidates", **given)


def test_people_of_pictures_whose_text_holds_a_keyword(made, run):
    rows = candidates(made, run, ["male"] * 6 + ["unclear"] * 6 + ["female"] * 3, race_from="keywords")
    found = {(r["detection_id"], r["class"]): (r["gender"], r["keyword"]) for r in rows}
    assert found == {
        (0, "Black"): ("male", "Kenya"),
        (1, "Black"): ("male", "Kenyan"),
        (2, "East Asian"): ("male", found[2, "East Asian"][1]),
        (3, "East Asian"): ("male", "Asian"),
        (3, "South Asian"): ("male", "Asian"),
        (5, "East Asian"): ("male", found[5, "East Asian"][1]),
        (5, "White"): ("male", "White"),
        (12, "Black"): ("female", "Kenya"),
        (13, "Black"): ("female", "Kenyan"),
        (14, "East Asian"): ("female", found[14, "East Asian"][1]),
    }


def test_so_many_of_each_category(made, run):
    rows = candidates(made, run, ["male", "female"] * 30, race_from="keywords", race_sample=7)
    assert Counter(r["class"] for r in rows) == {"Black": 7, "East Asian": 7, "South Asian": 7, "White": 7}


def test_the_sample_itself(made, run):
    rows = candidates(made, run, ["male", "unclear", "female", "male"])
    assert {(r["detection_id"], r["class"], r["gender"]) for r in rows} == {
        (0, "any", "male"), (1, "any", "unclear"), (2, "any", "female")
    }  # fmt: skip


def labelled(lake, run, answers, suggested, **given):
    """Answers of three models about people, with (person, category, gender, keyword) of what found them."""
    ids = list(range(len(answers)))
    columns = {f"race_{i + 1}": said(letters, RACES) for i, letters in enumerate(zip(*answers, strict=True))}
    store(lake, "race_people", {"detection_id": ids, "image_id": [1] * len(ids), **columns})
    names = ("detection_id", "class", "gender", "keyword")
    found = {name: [row[i] for row in suggested] for i, name in enumerate(names)}
    store(lake, "race_candidates", {**found, "image_id": [1] * len(suggested)})
    rows = run("race_answers", "race_answers", "race_consensus", "race_training", **given)
    return {r["detection_id"]: r["value"] for r in rows}


def test_the_models_and_the_keyword_must_agree(made, run):
    answers = ["BBB", "BBB", "EEE", "EEU", "UUU", "SSS"]
    suggested = [
        (0, "Black", "male", "Kenya"),
        (1, "White", "male", "France"),
        (2, "East Asian", "female", "Japan"),
        (3, "East Asian", "female", "Japan"),
        (4, "White", "female", "France"),
        (5, "East Asian", "male", "Asian"),
        (5, "South Asian", "male", "Asian"),
    ]
    wanted = {0: "Black", 2: "East Asian", 4: "unclear", 5: "South Asian"}
    assert labelled(made, run, answers, suggested) == wanted


def test_without_keywords_the_models_alone(made, run):
    suggested = [(i, "any", "male", "none") for i in range(4)]
    assert labelled(made, run, ["BBB", "BBE", "UUU", "EEE"], suggested) == {
        0: "Black", 2: "unclear", 3: "East Asian"
    }  # fmt: skip


def test_draws_take_turns_over_genders_and_keywords(made, run):
    """Of 100 men by one keyword and a few others, twelve: all of the rare ones, as far as a turn reaches."""
    kinds = [("male", "Kenya")] * 100 + [("female", "Kenya")] * 4 + [("male", "Mali")] * 2 + [("female", "Mali")] * 3
    suggested = [(i, "Black", *kind) for i, kind in enumerate(kinds)]
    found = labelled(made, run, ["BBB"] * len(kinds), suggested, per_label=12)
    taken = Counter(kinds[i] for i in found)
    every = Counter({("male", "Kenya"): 3, ("female", "Kenya"): 3, ("male", "Mali"): 2, ("female", "Mali"): 3})
    assert taken >= every
    assert (taken - every).total() == 1
