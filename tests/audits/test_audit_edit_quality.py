"""edit_quality: accuracy, acceptance, background and R@K of edits against pandas, cell by cell; planted failures found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import t
from statsmodels.stats.proportion import proportion_confint


def run(session, edits, **options):
    table = edits if isinstance(edits, pa.Table) else pa.Table.from_pandas(edits, preserve_index=False)
    rows = session.audit("edit_quality", edits=table, **{"min_count": 1, **options}).to_arrow().to_pylist()
    return {(r["metric"], r["k"], r["label"], r["template"]): r for r in rows}


def hits(rankings):
    rows = [(q, i, r) for q, items in rankings.items() for r, i in enumerate(items, 1)]
    q, i, r = zip(*rows, strict=True)
    return pa.table({"query_id": q, "item_id": i, "rank": pa.array(r, pa.int32()), "score": [1.0 / n for n in r]})


EDITS = pa.table(
    {
        "edit_id": [1, 2, 3, 4, 5],
        "image_id": [1, 2, 3, 4, 5],
        "label": ["female", "male", "female", "male", "male"],
        "template": ["swap", "swap", "turn", "turn", "turn"],
        "accepted": [True, False, True, True, None],
        "predicted": ["female", "male", "male", None, "female"],
        "background": [0, 0, 3, 0, 0],
    }
)


def test_by_hand(session):
    rows = run(session, EDITS)
    got = {key: (r["count"], r["n"], r["value"]) for key, r in rows.items()}
    assert got["accuracy", None, "all", "all"] == (2, 4, 0.5)
    assert got["accuracy", None, "female", "all"] == (1, 2, 0.5)
    assert got["accuracy", None, "all", "turn"] == (0, 2, 0.0)
    assert got["accepted", None, "all", "all"] == (3, 4, 0.75)
    assert got["accepted", None, "male", "turn"] == (1, 1, 1.0)
    assert got["background", None, "all", "all"] == (4, 5, 0.8)
    assert got["background", None, "male", "all"] == (3, 3, 1.0)
    assert {key[0] for key in got} == {"accuracy", "accepted", "background"}  # the largest change is one image's
    assert not [key for key in got if key[0] == "recall"]
    wholes_first = [(label, template) for label in ("all", "female", "male") for template in ("all", "swap", "turn")]
    assert [key[2:] for key in got if key[0] == "accuracy"] == wholes_first


def test_recall_among_a_pool(session):
    """Texts of edits 1 to 4 over a pool that has images of other edits too; text 5 was not asked."""
    pool = hits({1: [1, 9], 2: [9, 8, 7, 2], 3: [7, 8, 9], 4: [2, 4]})
    rows = run(session, EDITS, hits=pool, k=[1, 2, 4])
    got = {key[1:]: (r["count"], r["n"]) for key, r in rows.items() if key[0] == "recall"}
    assert [got[k, "all", "all"] for k in (1, 2, 4)] == [(1, 4), (2, 4), (3, 4)]
    assert [got[k, "female", "all"] for k in (1, 2, 4)] == [(1, 2), (1, 2), (1, 2)]
    assert got[4, "male", "swap"] == (1, 1)


def test_other_items_may_count_as_found(session):
    pool = hits({1: [9, 1]})
    relevant = pa.table({"query_id": [1], "item_id": [9]})
    rows = run(session, EDITS, hits=pool, relevant=relevant, k=[1])
    assert rows["recall", 1, "female", "swap"]["value"] == 1


def test_agrees_with_pandas(session):
    draw = np.random.default_rng(1)
    n = 600
    edits = pd.DataFrame(
        {
            "edit_id": np.arange(n),
            "image_id": np.arange(n),
            "label": draw.choice(["male", "female", "other"], n),
            "template": draw.choice(["a", "b", "c", "d"], n),
            "accepted": draw.random(n) < 0.3,
            "predicted": draw.choice(["male", "female", None], n, p=[0.5, 0.4, 0.1]),
            "background": np.where(draw.random(n) < 0.9, 0, draw.integers(1, 255, n)),
        }
    )
    rows = run(session, edits)
    seen = 0
    for label in ("all", "male", "female", "other"):
        for template in ("all", "a", "b", "c", "d"):
            own = edits[edits.label.isin([label]) | (label == "all")]
            own = own[own.template.isin([template]) | (template == "all")]
            said = own[own.predicted.notna()]
            outcomes = {
                "accuracy": said.predicted == said.label,
                "accepted": own.accepted,
                "background": own.background == 0,
            }
            for metric, good in outcomes.items():
                row = rows[metric, None, label, template]
                assert (row["count"], row["n"], row["value"]) == (good.sum(), len(good), pytest.approx(good.mean()))
                wilson = proportion_confint(good.sum(), len(good), method="wilson")
                assert (row["low"], row["high"]) == pytest.approx(wilson, rel=1e-9, abs=1e-12)
                seen += 1
    assert len(rows) == seen


def test_edits_without_a_template_have_no_rows_by_template(session):
    edits = EDITS.set_column(3, "template", pa.nulls(5, pa.string()))
    assert {key[2:] for key in run(session, edits)} == {("all", "all"), ("female", "all"), ("male", "all")}


def test_few_edits_are_hidden(session):
    rows = run(session, EDITS, min_count=4)
    assert rows["accuracy", None, "all", "all"]["n"] == 4
    hidden = rows["accuracy", None, "female", "all"]
    assert hidden["suppressed"]
    assert [hidden[c] for c in ("count", "n", "value", "low", "high")] == [None] * 5


def test_three_edits_do_not_follow_from_the_others(session):
    """Three of the label rare: neither of the totals nor of the other templates do they follow; nor who was taken for it."""
    n = 120
    edits = pd.DataFrame(
        {
            "edit_id": np.arange(n),
            "image_id": np.arange(n),
            "label": ["rare"] * 3 + ["male", "female", "other"] * 39,
            "template": ["a"] * 63 + ["b"] * 57,
            "accepted": True,
            "predicted": ["male"] * n,
            "background": 0,
        }
    )
    edits.loc[edits.label == "female", "predicted"] = ["female"] * 36 + ["male"] * 3
    rows = run(session, edits, min_count=10)
    for metric in ("accuracy", "accepted", "background"):
        own = {key[2:]: r for key, r in rows.items() if key[0] == metric}
        assert own["rare", "a"]["reason"] == own["rare", "all"]["reason"] == "small"
        for template in ("a", "all"):
            hidden = [label for label, at in own if at == template and own[label, at]["n"] is None]
            assert len(hidden) >= 2
            assert "rare" in hidden
    wrong = rows["accuracy", None, "female", "all"]
    assert (wrong["suppressed"], wrong["count"], wrong["value"]) == (True, None, None)
    others = [r for (m, _, _, at), r in rows.items() if m == "accuracy" and at == "all"]
    assert sum(r["count"] is None for r in others) >= 2


def test_nothing_is_said_of_what_no_edit_has(session):
    edits = EDITS.set_column(6, "background", pa.nulls(5, pa.int64()))
    assert {key[0] for key in run(session, edits)} == {"accuracy", "accepted"}


def test_intervals_go_by_images(session):
    """Five edits of each of thirty images, all of them taken or refused with their image, tell as much as thirty."""
    n = 150
    image = np.arange(n) // 5
    edits = pd.DataFrame({"edit_id": np.arange(n), "image_id": image, "label": "a", "template": "t"})
    edits = edits.assign(accepted=image % 3 > 0, predicted="a", background=0)
    row = run(session, edits)["accepted", None, "all", "all"]
    assert (row["count"], row["n"], row["images"]) == (100, 150, 30)
    few = (t.ppf(0.975, n - 1) / t.ppf(0.975, 29)) ** 2
    effective = few * 29  # of the residuals of thirty equal clusters, one less for their mean
    wilson = proportion_confint(effective * 2 / 3, effective, method="wilson")
    assert (row["low"], row["high"]) == pytest.approx(wilson, rel=1e-6)
    alone = run(session, edits.assign(image_id=np.arange(n)))["accepted", None, "all", "all"]
    assert (alone["low"], alone["high"]) == pytest.approx(proportion_confint(100, n, method="wilson"), rel=1e-9)
