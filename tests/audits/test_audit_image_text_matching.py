"""image_text_matching: IR_r, IR_c, TR_r, TR_c by hand and against pandas; ties, missing scores, few pairs; who r is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

HEADS = ["rr", "r_o", "o_r", "cc", "c_o", "o_c"]


def run(session, scores, **options):
    columns = zip(HEADS, zip(*scores, strict=True), strict=True)
    table = pa.table({"pair_id": range(len(scores))} | {h: pa.array(v, pa.float64()) for h, v in columns})
    rows = session.audit("image_text_matching", scores=table, **{"min_count": 1, **options}).to_arrow().to_pylist()
    return {r["metric"]: r for r in rows}


def test_by_hand(session):
    """The random text fits both images alike in the second pair; the counterfactual image fits the wrong text there."""
    rows = run(session, [(9.0, 5.0, 4.0, 8.0, 4.0, 5.0), (6.0, 6.0, 2.0, 5.0, 2.0, 6.0)])
    got = {metric: (r["value"], r["correct"], r["n"]) for metric, r in rows.items()}
    assert got == {"IR_r": (2.0, 0.5, 2), "IR_c": (3.5, 1.0, 2), "TR_r": (4.5, 1.0, 2), "TR_c": (1.0, 0.5, 2)}


def test_a_model_that_sees_no_difference_scores_zero(session):
    for row in run(session, [(0.25,) * 6] * 12).values():
        assert (row["value"], row["correct"], row["low"], row["high"]) == (0, 0, 0, 0)


def test_agrees_with_pandas(session):
    draw = np.random.default_rng(2)
    frame = pd.DataFrame(draw.normal(25, 4, (500, 6)), columns=HEADS)
    rows = run(session, frame.to_numpy().tolist())
    wanted = {
        "IR_r": frame.rr - frame.r_o,
        "IR_c": frame.cc - frame.c_o,
        "TR_r": frame.rr - frame.o_r,
        "TR_c": frame.cc - frame.o_c,
    }
    for metric, difference in wanted.items():
        row = rows[metric]
        spread = stats.t.ppf(0.975, 499) * difference.std() / np.sqrt(500)
        mean = difference.mean()
        assert (row["value"], row["low"], row["high"]) == pytest.approx((mean, mean - spread, mean + spread), rel=1e-6)
        wilson = proportion_confint((difference > 0).sum(), 500, method="wilson")
        assert (row["correct_low"], row["correct_high"]) == pytest.approx(wilson, rel=1e-9)


def test_pairs_without_a_score_are_left_out_where_they_lack_it(session):
    rows = run(
        session,
        [
            (3.0, 1.0, 1.0, None, 1.0, 1.0),
            (4.0, 1.0, float("nan"), 2.0, float("nan"), 1.0),
            (None, None, 1.0, 2.0, 1.0, None),
        ],
    )
    assert {metric: r["n"] for metric, r in rows.items()} == {"IR_r": 2, "IR_c": 1, "TR_r": 1, "TR_c": 1}
    assert rows["IR_r"]["value"] == 2.5


def test_pairs_of_one_image_are_no_independent_draws(session):
    """As statsmodels has the mean of rows in clusters; an image with one pair is not in the list."""
    draw = np.random.default_rng(3)
    source = np.repeat(np.arange(80), draw.integers(1, 6, 80))
    scores = draw.normal(25, 4, (source.size, 6)) + draw.normal(0, 6, (80, 6))[source]
    several = np.flatnonzero(np.bincount(source)[source] > 1)
    sources = pa.table({"pair_id": several, "source_id": source[several]})
    row = run(session, scores.tolist(), sources=sources)["TR_c"]
    difference = scores[:, 3] - scores[:, 5]
    fitted = sm.OLS(difference, np.ones(source.size)).fit(cov_type="cluster", cov_kwds={"groups": source}, use_t=True)
    assert (row["n"], row["n_sources"], row["value"]) == (source.size, 80, pytest.approx(difference.mean(), rel=1e-9))
    assert (row["low"], row["high"]) == pytest.approx(tuple(fitted.conf_int()[0]), rel=1e-5)
    alone = run(session, scores.tolist())["TR_c"]
    assert row["correct"] == alone["correct"]
    assert row["correct_high"] - row["correct_low"] > 1.3 * (alone["correct_high"] - alone["correct_low"])


def test_few_images_are_few_however_many_pairs_each_has(session):
    sources = pa.table({"pair_id": range(40), "source_id": [i % 9 for i in range(40)]})
    scores = np.random.default_rng(1).normal(size=(40, 6)).tolist()
    assert {r["reason"] for r in run(session, scores, sources=sources, min_count=10).values()} == {"small"}


def test_few_pairs_are_hidden(session):
    for row in run(session, [(1.0, 0.5, 0.5, 1.0, 0.5, 0.5)] * 9, min_count=10).values():
        assert (row["suppressed"], row["reason"]) == (True, "small")
        assert [row[c] for c in ("n", "value", "low", "high", "correct", "correct_low", "correct_high")] == [None] * 7


def test_scores_of_vectors(session):
    """Figure 3 in loops: the text and image of a random pair, each beside those of the pair that drew it."""
    draw = np.random.default_rng(4)
    names = ("text_o", "image_o", "text_c", "drawn_o", "drawn_c")
    given = {number: {name: draw.normal(size=6) for name in names} for number in range(50)}
    listed = [{"pair_id": n, "image_id": n // 3, **{k: v.tolist() for k, v in one.items()}} for n, one in given.items()]
    table = pa.Table.from_pylist(listed)
    drawn = session.sql("SELECT pair_id, other_id FROM random_others(p, seed := 3)", p=table).fetchall()
    rows = session.sql("FROM image_text_matching(matching_scores(p, seed := 3))", p=table).to_arrow().to_pylist()
    found = {"IR_r": [], "TR_r": [], "IR_c": [], "TR_c": []}
    for pair, other in drawn:
        o, r = given[pair], given[other]
        found["IR_r"].append(r["text_o"] @ r["image_o"] - r["text_o"] @ o["image_o"])
        found["TR_r"].append(r["text_o"] @ r["image_o"] - o["text_o"] @ r["image_o"])
        found["IR_c"].append(o["text_c"] @ o["drawn_c"] - o["text_c"] @ o["drawn_o"])
        found["TR_c"].append(o["text_c"] @ o["drawn_c"] - o["text_o"] @ o["drawn_c"])
    assert {r["metric"]: (r["n"], r["value"], r["correct"]) for r in rows} == {
        metric: (50, pytest.approx(np.mean(d)), pytest.approx(np.mean(np.array(d) > 0))) for metric, d in found.items()
    }
