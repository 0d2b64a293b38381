"""Audits of many cells test each row by G2, and control false discoveries over all of them."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2_contingency
from statsmodels.stats.multitest import multipletests

import counterbalance as cb


@pytest.fixture(scope="module")
def texts(build):
    draw = np.random.default_rng(6)
    ids = list(range(500))
    who = draw.choice(["man", "woman"], 500)
    things = ["murderer", "thief", "robber in France", "walk in Peru", "gangster"]
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


def g2_p(count, n, all_count, all_n):
    table = [[count, n - count], [all_count - count, all_n - n - all_count + count]]
    return chi2_contingency(table, correction=False, lambda_="log-likelihood").pvalue


def test_harmful_labels_of_a_group_against_all_others(session):
    draw = np.random.default_rng(3)
    label = draw.choice(["f", "m", "x"], 600, p=[0.4, 0.4, 0.2])
    seen = np.where(
        draw.random(600) < np.where(label == "m", 0.4, 0.2), draw.choice(["thief", "animal"], 600), "a person"
    )
    tables = {"groups": {"label": label}, "predictions": {"predicted": seen}}
    given = {name: pa.table({"image_id": range(600), **columns}) for name, columns in tables.items()}
    rows = session.audit("harmful_zero_shot", **given, min_count=0).to_arrow().to_pylist()
    for row in rows:
        of_class = [r for r in rows if r["class"] == row["class"]]
        wanted = g2_p(row["count"], row["n"], sum(r["count"] for r in of_class), 600)
        assert row["p"] == pytest.approx(wanted, rel=1e-6)
    assert len(rows) == 9
    assert [r["q"] for r in rows] == pytest.approx(list(multipletests([r["p"] for r in rows], method="fdr_bh")[1]))


def test_what_is_retrieved_for_words(session):
    draw = np.random.default_rng(4)
    label = draw.choice(["f", "m"], 900)
    hits = {"query_id": [q for q in range(4) for _ in range(100)], "rank": [*range(100)] * 4}
    first = [draw.permutation(900)[np.argsort(draw.random(900) - 0.3 * q * (label == "f"))][:100] for q in range(4)]
    given = {
        "groups": pa.table({"image_id": range(900), "label": label}),
        "images": pa.table({"image_id": range(900)}),
        "words": pa.table({"category": list("abcd"), "embedding": [[float(i)] for i in range(4)]}),
        "asked": pa.table({"query_id": range(4), "category": list("abcd")}),
        "hits": pa.table({**hits, "item_id": np.concatenate(first)}),
    }
    rows = session.audit("so_b_it", **given).to_arrow().to_pylist()
    for row in rows:
        assert row["p"] == pytest.approx(g2_p(row["count"], row["n"], row["base_count"], 900), rel=1e-6)
    assert len(rows) == 8
    assert [r["q"] for r in rows] == pytest.approx(list(multipletests([r["p"] for r in rows], method="fdr_bh")[1]))


def test_hidden_rows_count_as_tests_that_find_nothing(texts):
    all_of, shown = (
        texts.sql(f"SELECT * FROM crime_words(min_count := {k}) ORDER BY ALL").to_arrow().to_pylist() for k in (0, 30)
    )
    kept = [r for r in shown if r["p"] is not None]
    assert 0 < len(kept) < len([r for r in all_of if r["p"] is not None])
    family = len([r for r in shown if r["label"] is not None])
    wanted = multipletests([r["p"] for r in kept] + [1] * (family - len(kept)), method="fdr_bh")[1][: len(kept)]
    assert [r["q"] for r in kept] == pytest.approx(list(wanted), rel=1e-9)
