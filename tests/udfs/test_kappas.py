"""cohen_kappa and fleiss_kappa are those of statsmodels, whatever the order of counts, and NULL where nothing is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as published

from counterbalance.udfs.kappas import CELLS, PATTERNS, cohen_kappa, fleiss_kappa


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


def test_nothing_to_say():
    nothing = {"kappa": None, "error": None}
    same = [{"label": "a", "other_label": "a", "count": 9}]
    assert cohen_kappa(pa.array([None, [], same], CELLS)).to_pylist() == [nothing] * 3
    whole = [{"votes": [{"value": "a", "votes": 3}], "targets": 9}]
    assert fleiss_kappa(pa.array([None, [], whole], PATTERNS)).to_pylist() == [nothing] * 3
