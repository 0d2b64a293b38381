"""balance: weights and draws that make labels equally frequent."""

from __future__ import annotations

import pyarrow as pa
import pytest
from statsmodels.stats.proportion import proportion_confint


def run(lake, counts, **options):
    labels = [label for label, n in counts.items() for _ in range(n)]
    groups = pa.table({"image_id": pa.array(range(len(labels)), pa.int64()), "label": labels})
    return {r["label"]: r for r in lake.audit("balance", groups=groups, **options).to_arrow().to_pylist()}


def test_weights(lake):
    counts = {"f": 50, "m": 150, "x": 100}
    rows = run(lake, counts | {"unclear": 700})
    assert {label: r["count"] for label, r in rows.items()} == counts
    assert {r["n"] for r in rows.values()} == {300}
    assert {label: r["weight"] for label, r in rows.items()} == pytest.approx({"f": 2.0, "m": 2 / 3, "x": 1.0})
    assert sum(counts[label] * r["weight"] for label, r in rows.items()) == pytest.approx(300)
    assert len({round(counts[label] * r["weight"], 9) for label, r in rows.items()}) == 1
    assert {label: r["keep"] for label, r in rows.items()} == pytest.approx({"f": 1.0, "m": 1 / 3, "x": 0.5})
    assert {label: r["repeats"] for label, r in rows.items()} == pytest.approx({"f": 3.0, "m": 1.0, "x": 1.5})
    for label, row in rows.items():
        assert row["share"] == counts[label] / 300
        assert (row["low"], row["high"]) == pytest.approx(
            proportion_confint(counts[label], 300, method="wilson"), rel=1e-12
        )


def test_weights_are_those_of_the_drawn_subset(lake):
    rows = {
        label: (count, keep, repeats)
        for label, count, keep, repeats in lake.sql(
            "SELECT label, count, keep, repeats FROM balance(min_count := 0)"
        ).fetchall()
    }
    under = dict(lake.sql("SELECT label, count(*) FROM balanced_subset(min_count := 0) GROUP BY 1").fetchall())
    over = dict(
        lake.sql(
            "SELECT label, sum(copies)::BIGINT FROM balanced_subset(method := 'over', min_count := 0) GROUP BY 1"
        ).fetchall()
    )
    assert under == {label: count * keep for label, (count, keep, _) in rows.items()}
    assert over == {label: count * repeats for label, (count, _, repeats) in rows.items()}


def test_small_labels_take_no_part(lake):
    rows = run(lake, {"f": 5, "m": 150, "x": 100, "y": 120})
    assert [label for label, r in rows.items() if r["suppressed"]] == ["f", "x"]
    assert {rows["f"][k] for k in ("count", "n", "share", "weight", "keep", "repeats")} == {None}
    assert (rows["y"]["n"], rows["m"]["keep"]) == (270, 0.8)
