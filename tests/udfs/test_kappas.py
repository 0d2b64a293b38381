"""Kappas are those of statsmodels and alpha the published ones, whatever the order of counts, and NULL where nothing is known."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as published

from counterbalance.udfs.kappas import CELLS, PATTERNS, cohen_kappa, fleiss_kappa, krippendorff_alpha


def one(function, rows, kind):
    return function(pa.array([rows], kind)).to_pylist()[0]


@pytest.mark.parametrize("seed", range(5))
def test_cohen(seed):
    draw = np.random.default_rng(seed)
    table = draw.integers(0, 40, (4, 4)) + 10 * np.eye(4, dtype=int)
    cells = [{"label": f"l{i}", "other_label": f"l{j}", "count": int(n)} for (i, j), n in np.ndenumerate(table)]
    found, wanted = one(cohen_kappa, cells, CELLS), cohens_kappa(table)
    assert (found["kappa"], found["error"]) == pytest.approx((wanted.kappa, wanted.std_kappa), rel=1e-12)
    assert one(cohen_kappa, draw.permutation(cells).tolist(), CELLS) == found


@pytest.mark.parametrize("seed", range(5))
def test_fleiss(seed):
    draw = np.random.default_rng(seed)
    votes = draw.multinomial(5, [0.6, 0.3, 0.1], 50)
    rows, targets = np.unique(votes, axis=0, return_counts=True)
    patterns = [
        {"votes": [{"value": f"v{i}", "votes": int(n)} for i, n in enumerate(row) if n], "targets": int(count)}
        for row, count in zip(rows, targets, strict=True)
    ]
    found = one(fleiss_kappa, patterns, PATTERNS)
    assert found["kappa"] == pytest.approx(published(votes), rel=1e-12)
    assert one(fleiss_kappa, draw.permutation(patterns).tolist(), PATTERNS) == found


def patterns_of(rows):
    """``rows``: what each rater said of the units, '.' where nothing."""
    units = [Counter(said).items() for said in zip(*rows, strict=True)]
    votes = [[{"value": v, "votes": n} for v, n in unit if v != "."] for unit in units]
    return [{"votes": unit, "targets": 1} for unit in votes if sum(v["votes"] for v in unit) > 1]


@pytest.mark.parametrize(
    ("rows", "alpha"),
    [
        (["0100000010", "1110010000"], 0.095),  # section B: two observers, ten units
        (["123321412...", "1233224125.3", ".3332342251.", "12332441251."], 0.743),  # section C: four, and missing data
    ],
)
def test_krippendorffs_own_examples(rows, alpha):
    found = one(krippendorff_alpha, patterns_of(rows), PATTERNS)
    assert found["alpha"] == pytest.approx(alpha, abs=0.0005)
    assert one(krippendorff_alpha, patterns_of([row[::-1] for row in rows]), PATTERNS) == found


@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_one_less_observed_over_expected_disagreement(seed):
    draw = np.random.default_rng(seed)
    rows = draw.choice(list("abc."), (4, 40), p=[0.4, 0.3, 0.1, 0.2])
    units = [[v for v in unit if v != "."] for unit in rows.T]
    units = [unit for unit in units if len(unit) > 1]

    def alpha(units):
        n = sum(map(len, units))
        seen = sum(sum(x != y for x, y in itertools.permutations(unit, 2)) / (len(unit) - 1) for unit in units) / n
        every = list(itertools.chain(*units))
        chance = sum(x != y for x, y in itertools.permutations(every, 2)) / n / (n - 1)
        return 1 - seen / chance

    left = np.array([alpha(units[:i] + units[i + 1 :]) for i in range(len(units))])
    error = np.sqrt((len(units) - 1) / len(units) * ((left - left.mean()) ** 2).sum())
    found = one(krippendorff_alpha, patterns_of(rows), PATTERNS)
    assert (found["alpha"], found["error"]) == pytest.approx((alpha(units), error), rel=1e-9)


def test_nothing_to_say():
    rest = dict.fromkeys(("error", "agreed", "chance", "effective"))
    nothing = {"kappa": None, **rest}
    same = [{"label": "a", "other_label": "a", "count": 9}]
    assert cohen_kappa(pa.array([None, [], same], CELLS)).to_pylist() == [nothing] * 3
    whole = [{"votes": [{"value": "a", "votes": 3}], "targets": 9}]
    assert fleiss_kappa(pa.array([None, [], whole], PATTERNS)).to_pylist() == [nothing] * 3
    assert krippendorff_alpha(pa.array([None, [], whole], PATTERNS)).to_pylist() == [{"alpha": None, **rest}] * 3
