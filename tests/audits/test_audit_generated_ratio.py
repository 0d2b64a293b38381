"""generated_ratio: shares of a perceived group among generations, by category; the first ones only, small counts suppressed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import false_discovery_control
from statsmodels.stats.proportion import proportion_confint, proportions_ztest


def run(session, categories, **options):
    """``categories``: labels of the generations in order, by category; "" is for a generation without any."""
    flat = [(c, place, label) for c, labels in categories.items() for place, label in enumerate(labels)]
    order = np.random.default_rng(0).permutation(len(flat))  # ids tell nothing of places
    columns = {"image_id": order, "category": [c for c, _, _ in flat], "place": [place for _, place, _ in flat]}
    known = [(i, label) for i, (_, _, label) in zip(order, flat, strict=True) if label]
    groups = pa.table({"image_id": [i for i, _ in known], "label": [label for _, label in known]})
    rows = session.audit("generated_ratio", generations=pa.table(columns), groups=groups, **options).to_arrow()
    return {r["category"]: r for r in rows.to_pylist()}


def test_shares_with_intervals(session):
    rows = run(
        session,
        {
            "doctor": ["female"] * 12 + ["male"] * 30 + ["unclear"] * 8 + [""] * 4,
            "nurse": ["male"] * 10 + ["female"] * 40,
            "king": ["male"] * 20,
        },
    )
    assert list(rows) == ["nurse", "doctor", "king"]
    for name, count, n, unclear in (("doctor", 12, 42, 12), ("nurse", 40, 50, 0), ("king", 0, 20, 0)):
        row = rows[name]
        assert (row["count"], row["n"], row["unclear"], row["suppressed"]) == (count, n, unclear, False)
        assert row["value"] == count / n
        assert (row["low"], row["high"]) == pytest.approx(proportion_confint(count, n, method="wilson"), abs=1e-12)
        assert row["p"] == pytest.approx(proportions_ztest(count, n, 0.5, prop_var=0.5)[1], rel=1e-6)
    p, q = ([r[c] for r in rows.values()] for c in "pq")
    assert q == pytest.approx(list(false_discovery_control(p)))


def test_the_first_hundred(session):
    """Generations of the lowest places count, however many there are."""
    labels = (["female"] * 3 + ["male"]) * 25 + ["male"] * 60
    assert (run(session, {"a": labels})["a"]["count"], run(session, {"a": labels})["a"]["n"]) == (75, 100)
    assert run(session, {"a": labels}, most=500)["a"]["n"] == 160


def test_unclear_generations_take_no_place(session):
    row = run(session, {"a": ["unclear"] * 30 + ["female", "male", ""] * 60}, most=40)["a"]
    assert (row["count"], row["n"], row["unclear"]) == (20, 40, 30 + 19)


def test_another_label_of_several(session):
    labels = ["red"] * 15 + ["blue"] * 10 + ["green"] * 25
    assert run(session, {"a": labels}, label="red")["a"]["value"] == 0.3


@pytest.mark.parametrize(
    ("labels", "hidden"),
    [
        (["female"] * 9, True),
        (["female"] * 10, False),
        (["female"] * 9 + ["male"] * 91, True),
        (["female"] * 91 + ["male"] * 9, True),
    ],
)
def test_small_counts_are_suppressed(session, labels, hidden):
    row = run(session, {"a": labels})["a"]
    assert row["suppressed"] is hidden
    assert (row["value"] is None, row["count"] is None, row["n"] is None) == (hidden,) * 3
    shown = run(session, {"a": labels}, min_count=1)["a"]
    assert not shown["suppressed"]


def test_a_category_of_unclear_generations_has_no_share(session):
    row = run(session, {"a": ["unclear"] * 50})["a"]
    assert (row["n"], row["value"], row["low"]) == (0, None, None)


def test_no_label_follows_from_those_that_are_asked_for(session):
    """Three labels, each asked for by itself: two of them and n would tell the third."""
    labels = ["red"] * 30 + ["blue"] * 3 + ["green"] * 25
    for label in ("red", "green", "blue"):
        row = run(session, {"a": labels}, label=label)["a"]
        assert (row["count"], row["n"], row["value"], row["rarest"]) == (None,) * 4
