"""subject_alterations: which word became which, by hand, against plain Python and the table of the authors' code."""

from __future__ import annotations

import json
import re
from collections import Counter

import pyarrow as pa
import pytest
from statsmodels.stats.proportion import proportion_confint

PRINTED = {
    ("woman", "girl"): 250, ("person", "man"): 129, ("person", "woman"): 107, ("people", "kids"): 95, ("person", "boy"): 87,
    ("person", "girl"): 69, ("couple", "group"): 66, ("people", "guys"): 66, ("men", "people"): 57, ("men", "boy"): 56,
    ("women", "girl"): 56, ("girl", "woman"): 53, ("tennis", "basketball"): 49, ("bus", "car"): 47, ("people", "children"): 45,
    ("woman", "player"): 42, ("street", "highway"): 38, ("women", "people"): 36, ("boy", "girl"): 35,
}  # fmt: skip
"""Counts of the authors' notebook (AnalyzeCounterfactualCaptions), where no other word of the caption hides the altered one."""


def run(session, pairs, **options):
    original, counterfactual = zip(*pairs, strict=True)
    table = pa.table({"pair_id": range(len(pairs)), "original": original, "counterfactual": counterfactual})
    return session.audit("subject_alterations", pairs=table, **{"min_count": 1, **options}).to_arrow().to_pylist()


PAIRS = [
    ("A man walks his dog.", "A boy walks his dog."),
    ("Two men and a man.", "Two men and a boy."),
    ("A man and a woman.", "A man and a man."),  # the new word was there before
    ("Some dogs run", "Some cats run"),
    ("A dog runs", "A cat runs"),
    ("A dog runs", "A dog runs"),  # nothing altered
    ("A dog runs", "Two cats run"),  # more than a word
    ("A dog", "A dog house"),  # another length
    (None, "A dog"),
]


def test_by_hand(session):
    rows = run(session, PAIRS)
    got = [(r["original"], r["counterfactual"], r["count"]) for r in rows]
    assert got == [("dog", "cat", 2), ("man", "boy", 2), ("woman", "man", 1)]
    assert {(r["n"], r["unaltered"], r["n_suppressed"]) for r in rows} == {(5, 4, 0)}
    assert (rows[0]["low"], rows[0]["high"]) == pytest.approx(proportion_confint(2, 5, method="wilson"))


def test_plurals_apart(session):
    got = {(r["original"], r["counterfactual"]): r["count"] for r in run(session, PAIRS, fold="none")}
    assert got == {("man", "boy"): 2, ("woman", "man"): 1, ("dogs", "cats"): 1, ("dog", "cat"): 1}


@pytest.mark.parametrize(
    ("one", "many"), [("lady", "ladies"), ("glass", "glasses"), ("horse", "horses"), ("bus", "bus"), ("car", "cars")]
)
def test_plurals_that_are_folded(session, one, many):
    rows = run(session, [(f"the {one}", "the sky"), (f"the {many}", "the sky"), (f"a {one}", "a sky")])
    assert [(r["original"], r["count"]) for r in rows] == [(one, 3)]


def test_one_side_alone(session):
    out = run(session, PAIRS, by="original")
    assert [(r["original"], r["counterfactual"], r["count"]) for r in out] == [
        ("dog", None, 2), ("man", None, 2), ("woman", None, 1),
    ]  # fmt: skip
    new = run(session, PAIRS, by="counterfactual")
    assert [(r["original"], r["counterfactual"], r["count"]) for r in new] == [
        (None, "boy", 2), (None, "cat", 2), (None, "man", 1),
    ]  # fmt: skip


def test_rare_alterations_are_counted_only(session):
    rows = run(session, [*PAIRS, ("A girl runs", "A cow runs")], min_count=2)
    assert {r["original"] for r in rows} == {"dog", "man"}
    assert {r["n_suppressed"] for r in rows} == {2}


def test_a_rare_alteration_does_not_follow_from_the_others(session):
    rows = run(session, [*PAIRS, ("A dog walks", "A cat walks")], min_count=2)
    assert [(r["n"], r["n_suppressed"], r["count"]) for r in rows] == [(6, 2, 3)]


@pytest.fixture(scope="module")
def published(data_dir):
    lines = (data_dir / "coco-counterfactuals" / "captions.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [(r["original_caption"], r["counterfactual_caption"]) for r in rows]


def test_the_published_pairs(session, published):
    rows = run(session, published)
    got = {(r["original"], r["counterfactual"]): r["count"] for r in rows}
    assert rows[0]["n"] + rows[0]["unaltered"] == 17_410
    assert [(r["original"], r["counterfactual"]) for r in rows[:5]] == [
        ("man", "boy"), ("people", "men"), ("woman", "girl"), ("person", "man"), ("person", "woman"),
    ]  # fmt: skip
    assert {pair: got[pair] for pair in PRINTED} == PRINTED
    # printed as 467 and 260: the rule of the authors' code misses a word that the other caption has elsewhere
    assert (got["man", "boy"], got["people", "men"]) == (470, 261)


def test_the_published_pairs_in_python(session, published):
    word = re.compile(r"\w+")
    wanted, n = Counter(), 0
    for pair in published:
        one, other = (word.findall(text.lower()) for text in pair)
        different = [(a, b) for a, b in zip(one, other, strict=False) if a != b]
        if len(one) == len(other) and len(different) == 1:
            wanted[different[0]] += 1
            n += 1
    rows = run(session, published, fold="none", min_count=1)
    assert {(r["original"], r["counterfactual"]): r["count"] for r in rows} == wanted
    assert {r["n"] for r in rows} == {n}


def test_words_of_three_letters_are_never_plurals(session):
    rows = run(session, [("the ha", "the sky"), ("the has", "the sky")])
    assert [(r["original"], r["count"]) for r in rows] == [("ha", 1), ("has", 1)]
