"""image_text_matching: IR_r, IR_c, TR_r, TR_c by hand and against pandas; ties, missing scores, few pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

HEADS = ["rr", "rc", "cr", "cc"]


def run(session, scores, **options):
    columns = zip(HEADS, zip(*scores, strict=True), strict=True)
    table = pa.table({"pair_id": range(len(scores))} | {h: pa.array(v, pa.float64()) for h, v in columns})
    rows = session.audit("image_text_matching", scores=table, **{"min_count": 1, **options}).to_arrow().to_pylist()
    return {r["metric"]: r for r in rows}


def test_by_hand(session):
    """The original text fits both images alike in the second pair; the counterfactual image fits the wrong text there."""
    rows = run(session, [(9.0, 5.0, 4.0, 8.0), (6.0, 6.0, 2.0, 5.0)])
    got = {metric: (r["value"], r["correct"], r["n"]) for metric, r in rows.items()}
    assert got == {"IR_r": (2.0, 0.5, 2), "IR_c": (3.5, 1.0, 2), "TR_r": (4.5, 1.0, 2), "TR_c": (1.0, 0.5, 2)}


def test_a_model_that_sees_no_difference_scores_zero(session):
    for row in run(session, [(0.25, 0.25, 0.25, 0.25)] * 12).values():
        assert (row["value"], row["correct"], row["low"], row["high"]) == (0, 0, 0, 0)


def test_agrees_with_pandas(session):
    draw = np.random.default_rng(2)
    frame = pd.DataFrame(draw.normal(25, 4, (500, 4)), columns=HEADS)
    rows = run(session, frame.to_numpy().tolist())
    wanted = {
        "IR_r": frame.rr - frame.rc,
        "IR_c": frame.cc - frame.cr,
        "TR_r": frame.rr - frame.cr,
        "TR_c": frame.cc - frame.rc,
    }
    for metric, difference in wanted.items():
        row = rows[metric]
        spread = stats.t.ppf(0.975, 499) * difference.std() / np.sqrt(500)
        mean = difference.mean()
        assert (row["value"], row["low"], row["high"]) == pytest.approx((mean, mean - spread, mean + spread), rel=1e-6)
        wilson = proportion_confint((difference > 0).sum(), 500, method="wilson")
        assert (row["correct_low"], row["correct_high"]) == pytest.approx(wilson, rel=1e-9)


def test_pairs_without_a_score_are_left_out_where_they_lack_it(session):
    rows = run(session, [(3.0, 1.0, 1.0, None), (4.0, 1.0, float("nan"), 2.0), (None, None, 1.0, 2.0)])
    assert {metric: r["n"] for metric, r in rows.items()} == {"IR_r": 2, "IR_c": 1, "TR_r": 1, "TR_c": 1}
    assert rows["IR_r"]["value"] == 2.5


def test_few_pairs_are_hidden(session):
    for row in run(session, [(1.0, 0.5, 0.5, 1.0)] * 9, min_count=10).values():
        assert (row["suppressed"], row["reason"]) == (True, "small")
        assert [row[c] for c in ("n", "value", "low", "high", "correct", "correct_low", "correct_high")] == [None] * 7
