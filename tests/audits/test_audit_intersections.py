"""intersections: two labels against chance; no hidden count follows from sums, whatever the table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from repeats import again
from scipy.optimize import linprog
from statsmodels.stats.proportion import proportion_confint


def relations(counts):
    """Two group relations whose contingency table is ``counts``."""
    rows, columns = np.nonzero(counts)
    times = counts[rows, columns]
    ids = pa.array(np.arange(times.sum()), pa.int64())
    label = [f"r{i}" for i in np.repeat(rows, times)]
    other = [f"c{j}" for j in np.repeat(columns, times)]
    strings = pa.schema([("image_id", pa.int64()), ("label", pa.string())])
    return tuple(pa.table({"image_id": ids, "label": pa.array(x, pa.string())}).cast(strings) for x in (label, other))


def cross(session, counts, least=10):
    groups, others = relations(np.asarray(counts))
    return session.audit("intersections", groups=groups, others=others, min_count=least).to_arrow().to_pylist()


def test_counts_expectation_and_intervals(session, ratio_interval):
    rows = {(r["label"], r["other"]): r for r in cross(session, [[30, 70], [120, 80], [0, 40]])}
    assert list(rows) == [(f"r{i}", f"c{j}") for i in range(3) for j in range(2)]
    row = rows["r0", "c0"]
    assert (row["count"], row["n"], row["share"], row["suppressed"]) == (30, 340, 30 / 340, False)
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(30, 340, method="wilson"), rel=1e-12)
    assert row["expected"] == pytest.approx(100 * 150 / 340, rel=1e-12)
    assert row["ratio"] == pytest.approx(30 * 340 / 100 / 150, rel=1e-12)
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx(ratio_interval(30, 100, 150, 340), rel=1e-9)
    none = rows["r2", "c0"]
    assert (none["count"], none["ratio"], none["ratio_low"]) == (0, 0.0, 0.0)
    assert none["ratio_high"] == pytest.approx(ratio_interval(0, 40, 150, 340)[1], rel=1e-9)


def test_a_small_count_hides_its_rectangle(session):
    rows = cross(session, [[5, 70, 200], [120, 80, 900]])
    hidden = {(r["label"], r["other"]) for r in rows if r["suppressed"]}
    assert hidden == {("r0", "c0"), ("r0", "c1"), ("r1", "c0"), ("r1", "c1")}
    for row in rows:
        if row["suppressed"]:
            assert {
                v
                for k, v in row.items()
                if k not in {"label", "other", "label_count", "other_count", "suppressed", "reason", "params"}
            } == {None}


def test_the_cheapest_rectangle_is_taken(session):
    rows = cross(session, [[5, 70, 20], [120, 80, 900], [60, 50, 15]])
    hidden = {(r["label"], r["other"]) for r in rows if r["suppressed"]}
    assert hidden == {("r0", "c0"), ("r0", "c2"), ("r2", "c0"), ("r2", "c2")}


def test_a_rectangle_with_nothing_across_hides_enough(session):
    """One less here would be one less than nothing across: the count can only be larger, by at least min_count."""
    counts = np.array([[5, 70, 200], [120, 0, 900]])
    rows = cross(session, counts)
    assert not all(r["suppressed"] for r in rows)
    assert attack(rows, counts, 10) >= 10


def test_no_row_or_column_hides_too_little(session):
    """Its sum, which demographics tells, would give away what it hides: here the row of 43 that shows 40."""
    diagonal = [[40, 3, 0], [0, 60, 0], [0, 0, 50]]
    rows = {(r["label"], r["other"]): r for r in cross(session, diagonal)}
    assert {k for k, r in rows.items() if r["suppressed"]} == {("r0", "c0"), ("r0", "c1"), ("r1", "c0"), ("r1", "c1")}
    assert rows["r2", "c2"]["count"] == 50
    assert all(r["suppressed"] for r in cross(session, [[40, 3, 0], [0, 4, 30], [30, 0, 4]]))


def test_a_table_without_rectangles_is_hidden_whole(session):
    assert all(r["suppressed"] for r in cross(session, [[5, 70, 200]]))
    assert all(r["suppressed"] for r in cross(session, [[5], [70], [200]]))


def test_expectations_tell_no_small_row(session):
    """The sum of a row is hidden with the sum of the row it leans on, so that neither follows from the other rows."""
    rows = cross(session, [[2, 3, 1], [300, 200, 100], [500, 600, 700], [50, 60, 70]])
    known = {r["label"] for r in rows if r["expected"] is not None}
    assert "r0" not in known
    assert len(known) <= 2


def test_only_images_with_both_labels_count(session):
    groups = pa.table({"image_id": pa.array([1, 2, 3, 4], pa.int64()), "label": ["a", "a", None, "b"]})
    others = pa.table({"image_id": pa.array([1, 2, 3, 5], pa.int64()), "label": ["x", "y", "x", "x"]})
    rows = session.audit("intersections", groups=groups, others=others, min_count=0).to_arrow().to_pylist()
    assert [(r["label"], r["other"], r["count"], r["n"]) for r in rows] == [("a", "x", 1, 2), ("a", "y", 1, 2)]


def attack(rows, counts, least):
    """Narrowest range of a hidden count or small sum, over all tables that fit what is shown.

    Counts: the attacker even knows the sums of all rows and columns. Sums: those that an expectation gives away.
    """
    labels, others = (sorted({r[k] for r in rows}) for k in ("label", "other"))
    truth = counts[np.ix_([int(x[1:]) for x in labels], [int(x[1:]) for x in others])]
    cells = np.arange(truth.size).reshape(truth.shape)
    unit = np.eye(truth.size)
    at = {(r["label"], r["other"]): cells[labels.index(r["label"]), others.index(r["other"])] for r in rows}
    shown = [(unit[at[r["label"], r["other"]]], r["count"]) for r in rows if r["count"] is not None]
    told = [r for r in rows if r["expected"] is not None]
    row_sums = [(unit[cells[i]].sum(0), truth[i].sum()) for i in range(len(labels))]
    column_sums = [(unit[cells[:, j]].sum(0), truth[:, j].sum()) for j in range(len(others))]
    known = [s for label, s in zip(labels, row_sums, strict=True) if label in {r["label"] for r in told}]
    known += [s for other, s in zip(others, column_sums, strict=True) if other in {r["other"] for r in told}]
    total = (np.ones(truth.size), truth.sum())
    targets = [(unit[at[r["label"], r["other"]]], [*shown, *row_sums, *column_sums]) for r in rows if r["suppressed"]]
    targets = [(goal, facts) for goal, facts in targets if truth.ravel() @ goal > 0]
    targets += [(g, [*shown, *known, total]) for g, n in [*row_sums, *column_sums] if 0 < n < least]
    ranges = [np.inf]
    for goal, facts in targets:
        a, b = (np.array(x) for x in zip(*facts, strict=True))
        ends = [linprog(s * goal, A_eq=a, b_eq=b, bounds=(0, None)).fun * s for s in (1, -1)]
        ranges.append(ends[1] - ends[0])
    return min(ranges)


@pytest.mark.parametrize("seed", [0, *again(1, 2, 3)])
def test_linear_programs_recover_nothing(session, seed):
    draw = np.random.default_rng(seed)
    hidden = partly = 0
    for _ in range(25):
        shape = draw.integers(2, 5), draw.integers(2, 8)
        shares = draw.dirichlet(np.full(np.prod(shape), draw.choice([0.2, 0.5, 1, 3])))
        counts = draw.multinomial(draw.choice([30, 100, 300, 1_000, 5_000]), shares).reshape(shape)
        rows = cross(session, counts)
        small = {(f"r{i}", f"c{j}") for i, j in zip(*np.nonzero((counts > 0) & (counts < 10)), strict=True)}
        assert small <= {(r["label"], r["other"]) for r in rows if r["suppressed"]}
        for r in rows:
            assert r["suppressed"] or r["count"] == counts[int(r["label"][1:]), int(r["other"][1:])]
        hidden += sum(r["suppressed"] for r in rows)
        if not all(r["suppressed"] for r in rows):
            partly += any(r["suppressed"] for r in rows)
            assert attack(rows, counts, 10) >= 1 - 1e-6
            hides = np.zeros(counts.shape, int)
            for r in rows:
                at = int(r["label"][1:]), int(r["other"][1:])
                hides[at] = counts[at] * r["suppressed"]
            for axis in (0, 1):
                few = (hides.sum(axis) > 0) & (hides.sum(axis) < 10) & (counts.sum(axis) >= 10)
                assert not few.any()
    assert hidden > 50
    assert partly > 3


def test_the_attack_works_on_a_table_with_single_hidden_counts():
    """Without further suppression the same attack finds the counts: it can fail, so the test above means something."""
    counts = np.array([[5, 70], [120, 80]])
    rows = [
        {
            "label": f"r{i}",
            "other": f"c{j}",
            "count": int(counts[i, j]),
            "suppressed": counts[i, j] < 10,
            "expected": 1.0,
        }
        for i in range(2)
        for j in range(2)
    ]
    assert attack(rows, counts, 10) < 1e-6
