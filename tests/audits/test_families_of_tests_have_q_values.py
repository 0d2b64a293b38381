"""crime_words, geography and concept_ratio test each row by G2, and control false discoveries over all of them."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.stats import chi2_contingency
from statsmodels.stats.multitest import multipletests

import counterbalance as cb


@pytest.fixture(scope="module")
def texts(build):
    draw = np.random.default_rng(6)
    ids = list(range(500))
    who = draw.choice(["man", "woman"], 500)
    things = ["murder", "thief", "robbery in France", "walk in Peru", "gang"]
    shares = {"man": [0.1, 0.2, 0.1, 0.3, 0.3], "woman": [0.3, 0.2, 0.3, 0.1, 0.1]}
    more = [draw.choice(things, p=shares[w]) for w in who]
    lake = cb.connect(f"memory://families-{os.getpid()}")
    captions = build.captions(
        caption_id=ids, image_id=ids, text=[f"a {w} and a {m}" for w, m in zip(who, more, strict=True)]
    )
    lake.ingest({"images": build.images(image_id=ids), "captions": captions})
    return lake


CALLS = {
    "crime_words()": ("count", "n", "base_count", "base_n"),
    "geography()": ("count", "n", "base_count", "base_n"),
    "concept_ratio(min_count := 20)": ("count", "n", "n_label", "all"),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_p_is_that_of_g2_and_q_is_of_all_rows(texts, call):
    rows = [r for r in texts.sql(f"SELECT * FROM {call}").to_arrow().to_pylist() if r["p"] is not None]
    assert len(rows) >= 4
    for row in rows:
        row["all"] = row.get("n_label", 0) + row.get("n_against", 0)
        both, one, other, n = (row[c] for c in CALLS[call])
        table = [[both, one - both], [other - both, n - one - other + both]]
        if np.sum(table, axis=0).all() and np.sum(table, axis=1).all():
            wanted = chi2_contingency(table, correction=False, lambda_="log-likelihood").pvalue
            assert row["p"] == pytest.approx(wanted, rel=1e-6)
    wanted = multipletests([r["p"] for r in rows], method="fdr_bh")[1]
    assert [r["q"] for r in rows] == pytest.approx(list(wanted), rel=1e-9)
    assert min(r["q"] for r in rows) < 0.05


def test_hidden_rows_count_as_tests_that_find_nothing(texts):
    all_of, shown = (
        texts.sql(f"SELECT * FROM crime_words(min_count := {k}) ORDER BY ALL").to_arrow().to_pylist() for k in (0, 30)
    )
    kept = [r for r in shown if r["p"] is not None]
    assert 0 < len(kept) < len([r for r in all_of if r["p"] is not None])
    family = len([r for r in shown if r["label"] is not None])
    wanted = multipletests([r["p"] for r in kept] + [1] * (family - len(kept)), method="fdr_bh")[1][: len(kept)]
    assert [r["q"] for r in kept] == pytest.approx(list(wanted), rel=1e-9)
