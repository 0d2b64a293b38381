"""keyword_profile: words by log-odds with an interval; small counts of other labels cannot be read off."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, false_discovery_control, norm
from statsmodels.stats.contingency_tables import Table2x2


def run(session, images, **options):
    ids = [i for i, (_, own) in enumerate(images) for _ in own]
    words = [w for _, own in images for w in sorted(own)]
    relations = {
        "groups": pa.table({"image_id": pa.array(range(len(images)), pa.int64()), "label": [g for g, _ in images]}),
        "concepts": pa.table({"image_id": pa.array(ids, pa.int64()), "concept": pa.array(words, pa.string())}),
    }
    return session.audit("keyword_profile", **relations, **options).to_arrow().to_pylist()


def images(counts, sizes):
    """``counts``: {word: {label: images with the word}}."""
    return [(g, {w for w, own in counts.items() if i < own.get(g, 0)}) for g, n in sizes.items() for i in range(n)]


COUNTS = {"dress": {"f": 40, "m": 12}, "ball": {"f": 15, "m": 60}, "the": {"f": 90, "m": 180}, "rare": {"f": 5, "m": 2}}
SIZES = {"f": 100, "m": 200, "unclear": 300}


def test_log_odds_and_interval(session):
    rows = {(r["label"], r["keyword"]): r for r in run(session, images(COUNTS, SIZES))}
    row = rows["f", "dress"]
    table = Table2x2(np.array([[40, 60], [12, 188]]) + 0.5)
    assert row["log_odds"] == pytest.approx(table.log_oddsratio, rel=1e-12)
    half = 2 * np.arcsinh(norm.ppf(0.975) / 2 * np.sqrt((1 / (np.array([40, 60, 12, 188]) + 0.25)).sum()))
    assert (row["low"], row["high"]) == pytest.approx(
        (table.log_oddsratio - half, table.log_oddsratio + half), rel=1e-9
    )
    p = chi2_contingency([[40, 60], [12, 188]], correction=False, lambda_="log-likelihood").pvalue
    assert row["p"] == pytest.approx(p, rel=1e-9)
    assert (row["count"], row["n"], row["rest_n"], row["rest_floor"]) == (40, 100, 200, False)


def test_a_word_that_stands_there_twice_counts_once(session):
    labels = ["f"] * 30 + ["m"] * 30
    groups = pa.table({"image_id": list(range(60)), "label": labels})
    words = pa.table({"image_id": [*range(20), *range(40)], "concept": ["dress"] * 60})  # of images 0 to 19 twice
    rows = session.audit("keyword_profile", groups=groups, concepts=words).to_arrow().to_pylist()
    assert [(r["label"], r["count"], r["n"]) for r in rows] == [("f", 30, 30), ("m", 10, 30)]


def test_order_and_number(session):
    rows = run(session, images(COUNTS, SIZES))
    assert [(r["label"], r["place"], r["keyword"]) for r in rows if r["place"] == 1] == [
        ("f", 1, "dress"),
        ("m", 1, "ball"),
    ]
    for label in "fm":
        sure = [np.sign(r["log_odds"]) * -np.log(r["p"]) for r in rows if r["label"] == label]
        assert sure == sorted(sure, reverse=True)
    assert {r["place"] for r in run(session, images(COUNTS, SIZES), top=2)} == {1, 2}


def test_words_to_leave_out(session):
    words = pa.table({"term": ["dress"]})
    assert "dress" not in {r["keyword"] for r in run(session, images(COUNTS, SIZES), without=words)}


def test_rare_words_are_left_out_and_counted(session):
    rows = run(session, images(COUNTS, SIZES))
    assert "rare" not in {r["keyword"] for r in rows}
    assert {r["n_suppressed"] for r in rows} == {2}, "a pair of each label"


@pytest.mark.parametrize("few", [0, 1, 9, 10])
def test_a_small_count_of_the_other_label_cannot_be_told(session, few):
    """The odds do not tell it, nor how many have the word: as many as twenty of them are unclear."""
    rows = run(session, images({"pink": {"f": 40, "m": few, "unclear": 20}, "the": {"f": 50, "m": 50}}, SIZES))
    row = next(r for r in rows if (r["label"], r["keyword"]) == ("f", "pink"))
    assert row["log_odds"] == pytest.approx(Table2x2(np.array([[40, 60], [10, 190]]) + 0.5).log_oddsratio, rel=1e-12)
    assert row["rest_floor"] == (few < 10)


@pytest.mark.parametrize("few", [1, 9])
def test_nor_from_two_labels_together(session, few):
    """What f and m are held against says no count of x, also when both are known."""
    counts = {"pink": {"f": 40, "m": 30, "x": few, "unclear": 20}}
    rows = run(session, images(counts, {"f": 100, "m": 200, "x": 150, "unclear": 90}))
    found = {r["label"]: (r["log_odds"], r["rest_floor"]) for r in rows}
    assert found == {
        "f": (pytest.approx(Table2x2(np.array([[40, 60], [40, 310]]) + 0.5).log_oddsratio), True),
        "m": (pytest.approx(Table2x2(np.array([[30, 170], [50, 200]]) + 0.5).log_oddsratio), True),
    }


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")))
@given(data=st.data())
def test_agrees_with_python(session, data):
    """With two words in nearly every image words are in more images than there are, so that none follows from the others."""
    sizes = {g: data.draw(st.integers(5, 40)) for g in ("f", "m", "x")}
    counts = {w: {g: data.draw(st.integers(2 if w == "a" else 0, n)) for g, n in sizes.items()} for w in "abc"} | {
        word: {g: n - 2 for g, n in sizes.items()} for word in ("the", "an")
    }
    rows = run(session, images(counts, sizes), min_count=2)
    shown = {(r["label"], r["keyword"]) for r in rows}
    large = {(g, w) for w, own in counts.items() for g, n in own.items() if n >= 2}
    assert shown <= large
    for word, own in counts.items():
        hidden = {g for g in sizes if (g, word) in large - shown}
        lacks = {g: sizes[g] - own[g] for g in sizes if own[g] >= 2}
        few = [g for g, n in own.items() if n == 1]
        assert bool(hidden) == (1 in lacks.values() or (len(few) == 1 and bool(lacks)))
        if 1 in lacks.values():  # what the others' odds tell is a sum of two at least
            assert {g for g, n in lacks.items() if n == 1} <= hidden
            assert len(hidden) >= 2 or len(lacks) == 1
        if few:  # and so is what is left of all images with the word
            assert len({*few} | hidden) >= 2 or sum(own.values()) == 1
    for row in rows:
        own = counts[row["keyword"]]
        rest = sum(max(n, 2) for g, n in own.items() if g != row["label"])
        a, n, rest_n = own[row["label"]], sizes[row["label"]], sum(sizes.values()) - sizes[row["label"]]
        table = Table2x2(np.array([[a, n - a], [rest, rest_n - rest]]) + 0.5)
        assert row["log_odds"] == pytest.approx(table.log_oddsratio, rel=1e-9, abs=1e-12)
        quarters = table.table - 0.25
        half = 2 * np.arcsinh(norm.ppf(0.975) / 2 * np.sqrt((1 / quarters).sum()))
        assert row["high"] - row["low"] == pytest.approx(2 * half, rel=1e-9)


def test_q_is_that_of_all_words_that_are_frequent_enough(session):
    rows = run(session, images({**COUNTS, "odd": {"f": 20, "m": 30}}, SIZES), top=10)
    p = [r["p"] for r in rows]
    assert [r["q"] for r in rows] == pytest.approx(false_discovery_control(p), rel=1e-9)
    assert len(rows) == 8


def test_captions_are_the_default(lake):
    rows = lake.sql(
        "SELECT label, keyword FROM keyword_profile(min_count := 1, without := lists.gender_words, top := 1)"
    ).fetchall()
    assert [label for label, _ in rows] == ["female", "male"]


def test_images_without_a_concept_have_no_keyword(session):
    ids = pa.array(range(80), pa.int64())
    groups = pa.table({"image_id": ids, "label": ["f", "m"] * 40})
    concepts = pa.table({"image_id": ids, "concept": pa.array(["tie"] * 40 + [None] * 40)})
    rows = session.audit("keyword_profile", groups=groups, concepts=concepts).to_arrow().to_pylist()
    assert [(r["label"], r["keyword"]) for r in rows] == [("f", "tie"), ("m", "tie")]


@pytest.mark.parametrize("few", [1, 9])
def test_what_few_images_of_a_label_lack_cannot_be_told(session, few):
    counts = {"the": {"f": 100 - few, "m": 120, "x": 90}, "ball": {"f": 40, "m": 60, "x": 20}}
    rows = run(session, images(counts, {"f": 100, "m": 200, "x": 150}))
    assert {(r["label"], r["keyword"]) for r in rows} == {("f", "ball"), ("m", "ball"), ("x", "ball"), ("m", "the")}
    assert {r["n_suppressed"] for r in rows} == {2}
    pair = next(r for r in rows if r["keyword"] == "the")  # tells f and x together, which are both hidden
    rest = 100 - few + 90
    assert pair["log_odds"] == pytest.approx(Table2x2(np.array([[120, 80], [rest, 250 - rest]]) + 0.5).log_oddsratio)


def test_of_two_labels_both_are_hidden_where_one_has_few_without_the_word(session):
    rows = run(session, images({"the": {"f": 95, "m": 120}, "ball": {"f": 40, "m": 60}}, {"f": 100, "m": 200}))
    assert {r["keyword"] for r in rows} == {"ball"}


def test_few_images_of_one_word_do_not_follow_where_each_has_one(session):
    """3 of f are of the sea: f's images less those of the other words would say so, or those of the sea less m's."""
    scenes = {"f": ["sea"] * 3 + ["in"] * 47 + ["out"] * 50, "m": ["sea"] * 40 + ["in"] * 25 + ["out"] * 35}
    rows = run(session, [(label, {scene}) for label, own in scenes.items() for scene in own])
    assert {(r["label"], r["keyword"]) for r in rows} == {("f", "out"), ("m", "out")}


def test_how_many_images_have_the_word(session):
    """Those of f, of m and unclear ones, but for fewer than ten."""
    counts = {"the": {"f": 90, "m": 180, "unclear": 50}, "ball": {"f": 25, "m": 60, "unclear": 9}}
    rows = run(session, images(counts, SIZES))
    assert {(r["keyword"], r["n_keyword"]) for r in rows} == {("the", 320), ("ball", 85)}
