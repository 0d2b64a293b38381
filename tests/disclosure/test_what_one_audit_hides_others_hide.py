"""A label that one audit hides is hidden by every other one, and no sum of one beside another tells of few images."""

from __future__ import annotations

import functools
import random

import pyarrow as pa
import pytest
from repeats import again

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.store import tables

G, A, S = (f"image_labels('{name}')" for name in ("perceived_gender", "perceived_age", "scene"))
GC, AC = (f"label_concepts('{name}')" for name in ("perceived_gender", "perceived_age"))
LAKES = (
    {"female": 150, "nonbinary": 4},
    {"female": 150, "nonbinary": 5, "unclear": 14},
    {"female": 120, "nonbinary": 5, "agender": 6, "unclear": 30},
    {"female": 120, "nonbinary": 5, "agender": 3, "mixed": 12},
    {"female": 14, "nonbinary": 5},
    {"female": 120, "nonbinary": 9, "agender": 11, "unclear": 12},
    {"female": 120, "mixed": 5, "unclear": 6},
)
"""How many of 320 images have each label; the others are male."""
SHORT = [(0, 0), (2, 1), (4, 2), (5, 3)]
"""Lakes in which every fourth call is made, from this one on: together all."""
PLACES = [*SHORT, *again(*(((place, None),) for place in range(len(LAKES))))]
"""Places of lakes, and the first call; by ``make thorough`` all calls in all of them."""
TOTALS = {
    f"demographics({G})": "count",
    f"demographics(labels_and_others(images, {G}, others := 'all'))": "count",
    f"balance({G})": "count",
    f"intersections({G}, {A})": "label_count",
    f"intersections({G}, {S})": "label_count",
    f"intersections({A}, {G})": "other_count",
    f"intersections({S}, {G})": "other_count",
    f"cooccurrence({G}, {AC})": "n_label",
    f"cooccurrence({G}, word_concepts)": "n_label",
    f"cooccurrence({A}, {GC})": "n_concept",
    f"cooccurrence({S}, {GC})": "n_concept",
    f"cooccurrence(caption_gender, {GC})": "n_concept",
    f"keyword_profile({G}, top := 1000)": "n",
    f"keyword_profile({S}, {GC})": "n_keyword",
    f"spurious_correlations({G}, top := 1000)": "n_label",
    f"sentiment(groups := {G})": "images",
    f"compare_demographics({G}, caption_gender)": "count_a",
    f"compare_demographics({A}, {G})": "count_b",
    f"compare_intersections({G}, {G}, {S}, {S})": "count_a",
    f"geography({G})": "base_count",
    f"crime_words({G})": "base_count",
    f"ieat(images := vectors, attributes := {S}, targets := {G}, a := 'in', b := 'out', x := 'male', y := 'female', permutations := 20)": None,
    f"retrieval_bias(groups := {G}, positive := 'male', negative := 'unclear')": None,
    f"retrieval_bias(groups := {G}, positive := 'male', negative := 'nonbinary')": None,
    f"concept_ratio({G}, word_concepts, label := 'unclear', against := 'male', min_count := 10)": None,
    f"leakage(data := word_concepts, groups := {G}, label := 'male', against := 'unclear', seeds := 1)": None,
    f"casc(images := vectors, categories := prompts, groups := {G})": "n_label",
    f"self_similarity(images := vectors, groups := {G})": None,
    f"similarity_bias(images := vectors, categories := prompts, groups := {G}, label := 'unclear', against := 'male')": None,
}
"""Calls, and the column that has how many images of a label there are."""
IN_ALL = (f"demographics({G})", f"keyword_profile({G}, top := 1000)", f"spurious_correlations({G}, top := 1000)")
"""Calls that are made in every lake: they say what is hidden, and have all words."""
NAMES = {"label", "other", "item", "concept", "keyword", "attribute"}
PLAIN, FELT = (
    ("a table", "a car by a door"),
    ("an awful table", "a lovely car", "a happy dog", "a bad murder in France"),
)
THINGS = ("chair", "cup", "fork", "spoon", "bench", "kite", "clock", "vase", "bowl", "boat", "bus", "oven")


def shown(build, folder, place, first):
    """All rows of every call, or of every fourth, over one lake, how many images have each label, and how many have each word."""
    draw, given = random.Random(place), LAKES[place]
    ids = list(range(1, 321))
    genders = [g for g, n in given.items() for _ in range(n)]
    genders += ["male"] * (320 - len(genders))
    draw.shuffle(genders)
    ages = [draw.choices(["young", "old", None], [55, 40, 5])[0] for _ in ids]
    plain = {i for i in ids if draw.random() < 0.03}
    texts = [(i, draw.choice(PLAIN if i in plain else (*PLAIN, *FELT, *FELT))) for i in ids for _ in range(3)]
    texts += [(i, f"a {draw.choice(THINGS)}") for i in ids]
    labels = [
        *((i, "perceived_gender", g) for i, g in zip(ids, genders, strict=True)),
        *((i, "perceived_age", a) for i, a in zip(ids, ages, strict=True) if a is not None),
        *((i, "scene", draw.choice(["in", "out", "far"])) for i in ids),
    ]
    lake = cb.connect(str(folder / f"{place}-{first}.lake"))
    image_ids, attributes, values = zip(*labels, strict=True)
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(
                caption_id=list(range(len(texts))), image_id=[i for i, _ in texts], text=[t for _, t in texts]
            ),
            "labels": build.labels(
                label_id=list(range(len(labels))), image_id=image_ids, attribute=attributes, value=values, annotator=["x"] * len(labels)
            ),
        }
    )  # fmt: skip

    def look():
        return [draw.gauss(0, 1) for _ in range(4)]

    three = pa.array([look() for _ in range(3)], pa.list_(pa.float32(), 4))
    prompts = pa.table({"category": ["chef", "nurse", "person"], "embedding": three})
    vectors = pa.table({"image_id": ids, "embedding": pa.array([look() for _ in ids], pa.list_(pa.float32(), 4))})
    tables.append(lake.location, "prompts", prompts)
    tables.append(lake.location, "vectors", vectors)
    found = {}
    with lake.session() as session:
        words = session.sql(
            "SELECT concept, count(DISTINCT image_id) AS n FROM word_concepts GROUP BY concept"
        ).to_arrow()
        for number, call in enumerate(TOTALS):
            if first is not None and number % 4 != first and call not in IN_ALL:
                continue
            try:
                found[call] = session.sql(f"SELECT * FROM {call}").to_arrow()
            except SensitiveError:
                found[call] = None
    return found, {"male": genders.count("male"), **given}, dict(zip(*words.to_pydict().values(), strict=True))


@pytest.fixture(scope="module")
def told(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    return functools.cache(lambda place: shown(build, folder, *place))


def numbers(rows):
    kept = {"suppressed", "n", "n_all", "k", "seed"}
    return [f.name for f in rows.schema if (pa.types.is_integer(f.type) or pa.types.is_floating(f.type)) and f.name not in kept]  # fmt: skip


def labels_of(rows, row):
    return {row[c] for c in NAMES & {*rows.column_names}}


@pytest.mark.cases(2)
@pytest.mark.parametrize("place", PLACES)
def test_labels_hidden_beside_a_small_one(told, place):
    """A small clear label, and those that are hidden with it, have no number anywhere."""
    found, truth, _ = told(place)
    small = {label for label, n in truth.items() if n < 10 and label not in {"mixed", "unclear"}}
    first = found[f"demographics({G})"].to_pylist()
    hidden = {row["label"] for row in first if row["count"] is None}
    assert small <= hidden
    for call, rows in found.items():
        for row in rows.to_pylist() if rows is not None and small else ():
            if hidden & labels_of(rows, row):
                assert not any(row[c] is not None for c in numbers(rows)), (call, row)


@pytest.mark.parametrize("place", PLACES)
def test_calls_about_a_hidden_label(told, place):
    """A call that names a hidden label shows no number."""
    found, truth, _ = told(place)
    small = {label for label, n in truth.items() if n < 10 and label not in {"mixed", "unclear"}}
    hidden = {row["label"] for row in found[f"demographics({G})"].to_pylist() if row["count"] is None}
    for call, rows in found.items():
        if small and TOTALS[call] is None and any(f":= '{label}'" in call for label in hidden) and rows is not None:
            assert not any(row[c] is not None for row in rows.to_pylist() for c in numbers(rows)), call


@pytest.mark.cases(2)
@pytest.mark.parametrize("place", PLACES)
def test_sums_of_two_audits(told, place):
    """How many images of a label there are is shown as the same number, or as one that differs by ten or more."""
    found, truth, _ = told(place)
    for call, column in TOTALS.items():
        rows = found.get(call)
        for row in rows.to_pylist() if rows is not None and column is not None else ():
            for label in labels_of(rows, row) & truth.keys() - {"mixed", "unclear"}:
                assert row[column] is None or truth[label] < 10 or not 0 < truth[label] - row[column] < 10, (call, row)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("call", "word"),
    [(f"keyword_profile({G}, top := 1000)", "keyword"), (f"spurious_correlations({G}, top := 1000)", "attribute")],
)
def test_words_of_hidden_labels(told, place, call, word):
    """How many images have a word is open: those that no shown row has are none, or ten and more, where a clear label is hidden."""
    found, truth, words = told(place)
    if min(n for label, n in truth.items() if label not in {"mixed", "unclear"}) >= 10:
        return
    counted = {}
    for row in found[call].to_pylist():
        if row.get("kind") in {None, "word"} and row["count"] is not None:
            known = row["count"] if word == "keyword" else row["count"] + row["rest_count"]
            counted[row[word]] = known + (counted.get(row[word], 0) if word == "keyword" else 0)
    assert not [w for w, n in counted.items() if 0 < words[w] - n < 10]


def test_something_is_shown(told):
    """Most calls are answered with numbers."""
    found = [rows for place in SHORT for rows in told(place)[0].values()]
    full = [rows for rows in found if rows is not None and any(rows[c].null_count < len(rows) for c in numbers(rows))]
    assert len(full) > len(found) / 3


def test_few_images_with_one_kind_of_label_only(build, tmp_path):
    """Five images of 60 have a gender and no age: sums of both beside those of one would tell whose these are."""
    ids = list(range(60))
    lake = cb.connect(str(tmp_path / "few.lake"))
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "labels": build.labels(
                label_id=list(range(115)), image_id=[*ids, *ids[:55]], value=["a", "b"] * 30 + ["x"] * 55,
                attribute=["perceived_gender"] * 60 + ["perceived_age"] * 55, annotator=["x"] * 115,
            ),
        }
    )  # fmt: skip
    for call in (f"intersections({G}, {A})", f"intersections({A}, {G})"):
        with pytest.raises(SensitiveError, match=r"images have a label in .*, and none in") as told:
            lake.sql(f"SELECT * FROM {call}").to_arrow()
        assert told.value.code == "E3328"
    assert lake.sql(f"SELECT count FROM demographics({G})").to_arrow()["count"].to_pylist() == [30, 30]
