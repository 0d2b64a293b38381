"""subject_errors: error rates by the altered subject, by hand and in loops; who is first, several annotators, few answers."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from statsmodels.stats.proportion import proportion_confint

HEADS = ("pair_id", "side", "annotator", "answer")


def run(session, words, answers, **options):
    alterations = [{"pair_id": p, "original": a, "counterfactual": b} for p, (a, b) in words.items()]
    given = [dict(zip(HEADS, row, strict=True)) for row in answers]
    tables = {"alterations": pa.Table.from_pylist(alterations), "answers": pa.Table.from_pylist(given)}
    rows = session.audit("subject_errors", **tables, **{"min_count": 0, **options}).to_arrow().to_pylist()
    return {(r["subject"], r["other"]): r for r in rows}


def test_by_hand(session):
    words = {1: ("woman", "girl"), 2: ("woman", "girl"), 3: ("girl", "woman")}
    answers = [
        (1, "original", "x", "original"),
        (1, "counterfactual", "x", "original"),  # an error: of a girl beside woman
        (2, "original", "x", "both"),  # an error: of a woman beside girl
        (2, "original", "y", "original"),
        (3, "original", "x", "neither"),  # an error: of a girl beside woman
        (3, "counterfactual", "x", None),
        (9, "original", "x", "both"),  # altered in no word
        (3, "elsewhere", "x", "both"),
    ]
    found = run(session, words, answers)
    assert {key: (r["count"], r["n"], r["pairs"], r["n_right"], r["n_wrong"]) for key, r in found.items()} == {
        ("all", "all"): (3, 5, 3, 2, 3),
        ("woman", "all"): (1, 3, 2, 2, 1), ("girl", "all"): (2, 2, 2, 0, 2),
        ("all", "girl"): (1, 3, 2, 2, 1), ("all", "woman"): (2, 2, 2, 0, 2),
        ("woman", "girl"): (1, 3, 2, 2, 1), ("girl", "woman"): (2, 2, 2, 0, 2),
    }  # fmt: skip
    first = run(session, words, answers, first="original")
    told = {key: (r["count"], r["n"]) for key, r in first.items() if "all" not in key}
    assert told == {("woman", "girl"): (2, 4), ("girl", "woman"): (1, 1)}


def test_agrees_with_loops(session):
    """One answer about each pair: then intervals are Wilson's own."""
    draw = np.random.default_rng(6)
    subjects = ["man", "woman", "kid", "dog"]
    words = {i: tuple(draw.choice(subjects, 2, replace=False).tolist()) for i in range(300)}
    choices = ["original", "counterfactual", "both", "neither"]
    answers = [
        (i, str(draw.choice(choices[:2])), "x", str(draw.choice(choices, p=[0.4, 0.4, 0.1, 0.1]))) for i in words
    ]
    errors, n = defaultdict(int), defaultdict(int)
    for pair, side, _, answer in answers:
        own, other = words[pair] if side == "original" else words[pair][::-1]
        for key in ((own, other), (own, "all"), ("all", other), ("all", "all")):
            n[key] += 1
            errors[key] += answer != side
    found = run(session, words, answers)
    assert {key: (r["count"], r["n"]) for key, r in found.items()} == {key: (errors[key], n[key]) for key in n}
    for key, row in found.items():
        assert (row["low"], row["high"]) == pytest.approx(proportion_confint(errors[key], n[key], method="wilson"))
    alone = [row["count"] for key, row in found.items() if key[0] != "all" and key[1] == "all"]
    assert alone == sorted(alone, reverse=True)


def test_two_pictures_of_a_pair_tell_less_than_two_pairs(session):
    words = dict.fromkeys(range(40), ("man", "boy"))
    answers = [(i, side, "x", side if i % 4 else "neither") for i in words for side in ("original", "counterfactual")]
    row = run(session, words, answers, first="original")["man", "boy"]
    low, high = proportion_confint(20, 80, method="wilson")
    assert row["low"] < low
    assert row["high"] > high
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(10, 40, method="wilson"), abs=0.02)


def test_few_are_hidden(session):
    words = dict.fromkeys(range(40), ("man", "boy")) | dict.fromkeys(range(40, 44), ("cow", "ox"))
    answers = [(i, "original", "x", "original" if i % 2 else "both") for i in words]
    found = run(session, words, answers, min_count=10)
    shown = {key for key, row in found.items() if row["count"] is not None}
    assert ("cow", "ox") not in shown
    assert not any("man" in key and row["n"] is not None for key, row in found.items() if ("all", "all") in shown)
