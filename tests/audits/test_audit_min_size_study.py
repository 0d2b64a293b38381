"""min_size_study: agreement by size of box or crop against counting in plain Python and statsmodels; small counts hidden."""

from __future__ import annotations

import itertools
import os
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

import counterbalance as cb

_names = itertools.count()


def run(sizes, labels, reference, *, resized=False, **options):
    """``sizes``: (width, height) of each box; labels: (detection_id, label); rows of shrunk crops where ``resized``."""
    lake = cb.connect(f"memory://sizes-{os.getpid()}-{next(_names)}")
    widths, heights = (pa.array(v, pa.float32()) for v in zip(*sizes, strict=True))
    ids = list(range(len(sizes)))
    boxes = {"detection_id": ids, "image_id": ids, "category": ["person"] * len(sizes)}
    lake.ingest(
        {
            "images": pa.table({"image_id": ids}),
            "detections": pa.table({**boxes, "width": widths, "height": heights}),
        }
    )

    def relation(rows):
        ids, values = zip(*rows, strict=True)
        return pa.table({"detection_id": pa.array(ids, pa.int64()), "label": pa.array(values, pa.string())})

    found = lake.audit("min_size_study", labels=relation(labels), reference=relation(reference), **options)
    return {(r["side_from"], r["side_to"]): r for r in found.to_arrow().to_pylist() if r["resized"] == resized}


def test_a_case_by_hand():
    sizes = [(20, 90)] * 12 + [(90, 30)] * 10 + [(50, 49.9)] * 10 + [(400, 500)] * 10
    labels = [(i, "f") for i in range(42)]
    reference = [(i, "f" if i >= 12 or i < 3 else "m") for i in range(42)]
    rows = run(sizes, labels, reference, bins=[30, 50])
    assert run(sizes, labels, reference, bins=[30, 50], min_count=1)[0, 30]["value"] == 0.25
    got = {k: (r["count"], r["n"], r["value"]) for k, r in rows.items()}
    assert got == {(0, 30): (None, None, None), (30, 50): (20, 20, 1.0), (50, None): (10, 10, 1.0)}


def test_against_counting():
    draw = np.random.default_rng(0)
    sizes = np.float32(draw.uniform(5, 400, (800, 2))).tolist()
    said = {i: str(draw.choice(["f", "m", "unclear"])) for i in range(0, 800, 2)}
    true = {i: v if draw.random() < 0.7 else "f" for i, v in said.items() if i % 3}
    rows = run(sizes, said.items(), true.items())
    edges = [0, 30, 50, 75, 100, 150, 200, 300, np.inf]
    count, n = Counter(), Counter()
    for i, value in true.items():
        at = int(np.digitize(min(sizes[i]), edges)) - 1
        n[at] += 1
        count[at] += said[i] == value
    assert len(rows) == len(n)
    for at in n:
        row = rows[edges[at], None if edges[at + 1] == np.inf else edges[at + 1]]
        if any(0 < c < 10 for c in (n[at], count[at], n[at] - count[at])):
            assert row["suppressed"]
            assert row["count"] is row["n"] is row["value"] is None
            continue
        assert (row["count"], row["n"], row["value"]) == (count[at], n[at], count[at] / n[at])
        assert (row["low"], row["high"]) == pytest.approx(
            proportion_confint(count[at], n[at], method="wilson"), rel=1e-12
        )


def test_small_ranges_are_hidden():
    labels = [(i, "f") for i in range(19)]
    rows = run([(20, 20)] * 9 + [(60, 60)] * 10, labels, labels, bins=[50])
    assert {rows[0, 50][k] for k in ("count", "n", "value", "low", "high")} == {None}
    assert rows[0, 50]["suppressed"]
    assert rows[50, None]["n"] == 10


def test_several_labels_of_a_box():
    """The same label twice counts once, different ones not at all; so do NULL and boxes with a label of one side only."""
    labels = [(i, "f") for i in range(12)] + [(0, "f"), (1, "m"), (12, None)]
    reference = [(i, "f") for i in range(1, 13)] + [(2, "m")]
    rows = run([(60, 60)] * 13, labels, reference, min_count=1)
    assert {(k, r["n"], r["count"]) for k, r in rows.items()} == {((50, 75), 9, 9)}


@pytest.mark.parametrize("bins", [[50, 30, 50], [30, 50, 0], [-10, 30, 50]])
def test_bins_in_any_order(bins):
    labels = [(i, "f") for i in range(30)]
    rows = run([(20, 20), (40, 40), (60, 60)] * 10, labels, labels, bins=bins)
    assert {k: r["n"] for k, r in rows.items()} == {(0, 30): 10, (30, 50): 10, (50, None): 10}


def test_with_person_labels(lake):
    text = "SELECT * FROM min_size_study(person_labels('perceived_gender', min_side := 0, annotator := 'A'), person_labels('perceived_gender', min_side := 0, annotator := 'B'), min_count := 1)"
    assert {"side_from", "side_to", "value", "params"} <= set(lake.sql(text).columns)


@pytest.mark.parametrize("few", [3, 37])
def test_few_that_agree_or_differ_are_hidden(few):
    labels = [(i, "f") for i in range(80)]
    reference = [(i, "f" if i < few or 40 <= i < 60 else "m") for i in range(80)]
    rows = run([(20, 20)] * 40 + [(60, 60)] * 40, labels, reference, bins=[50])
    assert {rows[0, 50][k] for k in ("count", "n", "value", "low", "high")} == {None}
    assert (rows[50, None]["count"], rows[50, None]["n"]) == (20, 40)


def cells_of(count, kinds=("f", "m", "unclear"), seed=0, right=0.6):
    """Two labels a box; most pairs of labels are frequent."""
    draw = np.random.default_rng(seed)
    said = draw.choice(kinds, count)
    true = np.where(draw.random(count) < right, said, draw.choice(kinds, count))
    return said.tolist(), true.tolist()


def kappa_of(said, true):
    kinds = sorted({*said, *true})
    table = np.array(
        [[sum(1 for s, t in zip(said, true, strict=True) if (s, t) == (a, b)) for b in kinds] for a in kinds]
    )
    return cohens_kappa(table), int(table[table > 0].min())


def test_kappa_is_that_of_statsmodels():
    said, true = cells_of(1200)
    rows = run([(20, 20)] * 600 + [(60, 60)] * 600, enumerate(said), enumerate(true), bins=[50])
    for (side, _), part in (((0, 50), slice(0, 600)), ((50, None), slice(600, 1200))):
        (found, smallest), row = kappa_of(said[part], true[part]), rows[side, 50 if side == 0 else None]
        assert smallest >= 10
        assert row["smallest"] == smallest
        assert row["kappa"] == pytest.approx(found.kappa, rel=1e-9)
        # of large samples; 600 are, nearly
        assert (row["kappa_low"], row["kappa_high"]) == pytest.approx((found.kappa_low, found.kappa_upp), abs=0.006)


def test_a_kappa_that_rests_on_few_is_hidden():
    """Of 80 boxes three are f for one and m for the other: agreement is shown, and kappa, which would tell the three, is not."""
    said = ["f"] * 43 + ["m"] * 37
    true = ["f"] * 40 + ["m"] * 28 + ["f"] * 12
    rows = run([(60, 60)] * 80, enumerate(said), enumerate(true), bins=[50])
    assert kappa_of(said, true)[1] == 3
    row = rows[50, None]
    assert (row["count"], row["n"]) == (65, 80)
    assert {row[k] for k in ("kappa", "kappa_low", "kappa_high", "smallest")} == {None}
    assert row["suppressed"]


def test_crops_that_were_shrunk_go_by_their_own_side():
    """The same 40 boxes at 10, 30 and 69 pixels, and as they are: the more can be seen, the more labels are right."""
    true = ["f", "m"] * 20
    as_they_are = run([(80, 90)] * 40, enumerate(true), enumerate(true), bins=[30, 70])
    assert {k: r["n"] for k, r in as_they_are.items()} == {(70, None): 40}
    wrong = {10: 20, 30: 12, 69: 0}
    shrunk = pa.table(
        {
            "detection_id": list(range(40)) * 3 + [0, 1, 2],
            "side": [float(side) for side in wrong for _ in range(40)] + [10.0, np.nan, 30.0],
            "label": [
                value if i >= few else "unclear" for few in wrong.values() for i, value in enumerate(true)
            ] + ["unclear", "f", None],
        }
    )  # fmt: skip
    given = ([(80, 90)] * 40, enumerate(true), enumerate(true))
    rows = run(*given, bins=[30, 70], shrunk=shrunk, resized=True)
    assert {k: (r["count"], r["n"]) for k, r in rows.items()} == {(0, 30): (20, 40), (30, 70): (68, 80)}
    paper = run([(80, 90)] * 40, enumerate(true), enumerate(true), shrunk=shrunk, resized=True, preset="paper")
    assert {k: (r["count"], r["n"]) for k, r in paper.items()} == {
        (10, 15): (20, 40), (30, 35): (28, 40), (60, 70): (40, 40)
    }  # fmt: skip
    assert paper[60, 70]["kappa"] == 1
