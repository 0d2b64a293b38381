"""win_rates: a case by hand, counting in plain Python, intervals of images that are judged twice, ties, small counts."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint


def table(rows):
    """(image_id, first, second, winner)"""
    columns = zip(*rows, strict=True)
    types = [pa.int64(), *[pa.string()] * 3]
    names = ["image_id", "first", "second", "winner"]
    return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names)


@pytest.fixture
def run(lake):
    def audit(rows, **options):
        found = lake.audit("win_rates", judgements=table(rows), **options).to_arrow().to_pylist()
        return {(r["model"], r["other"]): {k: v for k, v in r.items() if k != "params"} for r in found}

    return audit


def test_a_case_by_hand(run):
    """Of 100 images a wins 60, b 30, 10 are ties; a is shown first on the first 50, of which it wins 40 and loses 10."""
    rows = [(i, "a", "b", "a" if i < 40 else "b") for i in range(50)]
    rows += [(i, "b", "a", "a" if i < 70 else "b" if i < 90 else "tie") for i in range(50, 100)]
    found = run(rows)
    assert set(found) == {("a", "b"), ("b", "a")}
    row, other = found["a", "b"], found["b", "a"]
    assert [row[c] for c in ("wins", "ties", "losses", "n", "images")] == [60, 10, 30, 100, 100]
    assert [other[c] for c in ("wins", "ties", "losses", "n", "images")] == [30, 10, 60, 100, 100]
    assert (row["rate"], other["rate"]) == (0.65, 0.35)
    assert row["first_rate"] == other["first_rate"] == (40 + 20 + 5) / 100
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(65, 100, method="wilson"), rel=1e-9)
    assert row["p"] == pytest.approx(2 * stats.norm.sf(0.15 / 0.05), rel=1e-6)
    without = run(rows, ties="excluded")["a", "b"]
    assert without["rate"] == pytest.approx(60 / 90)
    assert (without["low"], without["high"]) == pytest.approx(proportion_confint(60, 90, method="wilson"), rel=1e-9)
    assert [without[c] for c in ("wins", "ties", "losses", "n")] == [60, 10, 30, 100]


def test_four_models_against_counting(run):
    draw = np.random.default_rng(0)
    names = ["a", "b", "c", "d"]
    rows = []
    for image in range(300):
        for first, second in combinations(names, 2):
            won = draw.choice([min(first, second), max(first, second), "tie"], p=[0.5, 0.3, 0.2])
            rows.append((image, *((first, second) if draw.random() < 0.5 else (second, first)), won))
    found = run(rows)
    assert set(found) == {(a, b) for a in names for b in names if a != b}
    for (model, other), row in found.items():
        own = Counter(w for _, f, s, w in rows if {f, s} == {model, other})
        assert (row["wins"], row["ties"], row["losses"]) == (own[model], own["tie"], own[other])
        won = own[model] + own["tie"] / 2
        assert row["rate"] == pytest.approx(won / 300)
        assert (row["low"], row["high"]) == pytest.approx(proportion_confint(won, 300, method="wilson"), rel=1e-9)
        assert row["rate"] + found[other, model]["rate"] == pytest.approx(1)
        shown = [(f == model) == (w == model) for _, f, s, w in rows if {f, s} == {model, other} and w != "tie"]
        assert row["first_rate"] == pytest.approx((sum(shown) + own["tie"] / 2) / 300)
    p = [row["p"] for row in found.values()]
    np.testing.assert_allclose([r["q"] for r in found.values()], multipletests(p, method="fdr_bh")[1], rtol=1e-9)


def test_both_orders_of_an_image_are_as_good_as_one(run):
    """A judge that says the same in both orders tells no more than by one."""
    once = [(i, "a", "b", "a" if i < 60 else "b") for i in range(100)]
    twice = once + [(i, "b", "a", w) for i, _, _, w in once]
    one, two = run(once)["a", "b"], run(twice)["a", "b"]
    assert (two["n"], two["images"], two["rate"], two["first_rate"]) == (200, 100, 0.6, 0.5)
    assert two["high"] - two["low"] == pytest.approx(one["high"] - one["low"], rel=0.03)


def test_a_judge_that_goes_by_order_says_nothing(run):
    row = run([(i, *pair, pair[0]) for i in range(40) for pair in (("a", "b"), ("b", "a"))])["a", "b"]
    assert (row["rate"], row["first_rate"]) == (0.5, 1.0)
    assert row["p"] == pytest.approx(1)


def test_winners_that_are_nobody_do_not_count(run):
    rows = [(i, "a", "b", "a") for i in range(20)] + [(i, "a", "b", "b") for i in range(20, 40)]
    odd = [(50, "a", "b", None), (51, "a", "b", "c"), (52, "a", "a", "a"), (None, "a", "b", "a"), (53, None, "b", "b")]
    assert run(rows + odd) == run(rows)


def test_only_ties(run):
    rows = [(i, "a", "b", "tie") for i in range(20)]
    assert run(rows)["a", "b"]["rate"] == 0.5
    row = run(rows, ties="excluded")["a", "b"]
    assert (row["ties"], row["rate"], row["low"], row["high"], row["p"]) == (20, None, None, None, None)


@pytest.mark.parametrize("counts", [(3, 40, 20), (40, 3, 20), (40, 20, 3)])
def test_few_are_hidden(run, counts):
    winners = [w for w, n in zip(("a", "b", "tie"), counts, strict=True) for _ in range(n)]
    found = run([(i, "a", "b", w) for i, w in enumerate(winners)])
    assert all(row["suppressed"] for row in found.values())
    assert all(
        row[c] is None
        for row in found.values()
        for c in ("wins", "ties", "losses", "n", "rate", "low", "high", "p", "q")
    )
    assert run([(i, "a", "b", w) for i, w in enumerate(winners)], min_count=0)["a", "b"]["wins"] == counts[0]


def test_few_images_are_few_however_often_they_were_judged(run):
    rows = [(i, *pair, "a" if i < 6 else "b") for i in range(40) for pair in (("a", "b"), ("b", "a"))]
    assert (run(rows, min_count=0)["a", "b"]["wins"], run(rows, min_count=0)["a", "b"]["smallest"]) == (12, 6)
    assert all(row["wins"] is row["n"] is row["rate"] is None for row in run(rows).values())
