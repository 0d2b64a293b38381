"""Intervals of ratios of what is seen to chance hold the truth, end within what counts allow, and are those of numpy."""

from __future__ import annotations

import math
import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterbalance as cb


@pytest.fixture(scope="module")
def session(build):
    made = cb.connect(f"memory://ratios-{os.getpid()}")
    made.ingest({"images": build.images(image_id=[1])})
    with made.session() as opened:
        yield opened


def intervals(session, tables):
    """Ends of the interval of each table of (both, one, other, n)."""
    rows = pa.table(dict(zip("abcd", np.asarray(tables, float).T, strict=True)))
    found = session.sql("SELECT ratio_low(a, b, c, d) AS low, ratio_high(a, b, c, d) AS high FROM $rows", rows=rows)
    return tuple(found.to_arrow()[c].to_numpy() for c in ("low", "high"))


TABLES = [
    (30, 50, 70, 200),
    (12, 12, 1000, 2000),
    (0, 12, 40, 90),
    (3, 40, 3, 90),
    (29, 30, 30, 31),
    (500, 900, 550, 1000),
]


@pytest.mark.parametrize("counts", TABLES)
def test_they_are_those_of_numpy(session, ratio_interval, counts):
    low, high = intervals(session, [counts])
    assert (low[0], high[0]) == pytest.approx(ratio_interval(*counts), rel=1e-9)


def test_twelve_of_twelve_tell_less_than_the_margins_allow(session):
    """Of 12 images with a kite all are of a label that half of 2,000 have; Wilson's lower end of 12 of 12 is 75.7 %."""
    low, high = intervals(session, [(12, 12, 1000, 2000)])
    assert math.log(low[0]) == pytest.approx(math.log(0.757 / 0.5), abs=0.002)
    assert high[0] == 2


@pytest.mark.parametrize(
    "counts",
    [
        "NULL, 50, 70, 200",
        "9, NULL, 70, 200",
        "9, 50, NULL, 200",
        "9, 50, 70, NULL",
        "6, 5, 7, 20",
        "0, 0, 5, 9",
        "2, 6, 6, 9",
    ],
)
def test_no_ratio_has_no_interval(session, counts):
    assert session.sql(f"SELECT ratio_low({counts}), ratio_high({counts})").fetchall() == [(None, None)]


@pytest.mark.parametrize("counts", [(5, 10, 5, 10), (7, 7, 10, 10)])
def test_what_all_have_goes_with_nothing(session, counts):
    assert [end[0] for end in intervals(session, [counts])] == [1, 1]


CELLS = st.tuples(st.integers(0, 400), st.integers(0, 400), st.integers(0, 400), st.integers(0, 4000))


@given(st.lists(CELLS.filter(lambda c: c[0] + c[1] and c[0] + c[2]), min_size=1, max_size=50))
def test_they_hold_the_estimate_and_end_within_what_counts_allow(session, cells):
    a, b, c, d = np.array(cells).T
    both, one, other, n = a, a + b, a + c, a + b + c + d
    low, high = intervals(session, np.array([both, one, other, n]).T)
    ratio = both * n / one / other
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()
    assert (low <= ratio * (1 + 1e-12)).all()
    assert (ratio <= high * (1 + 1e-12)).all()
    assert (low >= 0).all()
    assert (high <= n / np.maximum(one, other) * (1 + 1e-12)).all()


@given(st.lists(CELLS.filter(lambda c: c[0] + c[1] and c[0] + c[2]), min_size=1, max_size=50), st.floats(1, 10))
@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "4")))
def test_they_are_there_for_counts_divided_by_a_design_effect(session, cells, effect):
    a, b, c, d = np.array(cells).T
    both, one, other, n = (counts / effect for counts in (a, a + b, a + c, a + b + c + d))
    ratio = both * n / one / other
    low, high = intervals(session, np.array([both, one, other, n]).T)
    assert (low <= ratio * (1 + 1e-9)).all()
    assert (ratio <= high * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    ("n", "one", "other", "ratio"),
    [
        pytest.param(
            n,
            one,
            other,
            ratio,
            marks=[] if (n, ratio) in {(200, 1), (1000, 1.6), (200, 0.3)} else pytest.mark.thorough,
        )
        for n in (200, 1000)
        for one, other in ((0.1, 0.05), (0.1, 0.5), (0.5, 0.5), (0.02, 0.9))
        for ratio in (0.3, 1, 1.05, 1.6)
        if n * one >= 10 and ratio * max(one, other) <= 0.95
    ],
)
def test_they_hold_the_truth_as_often_as_they_say(session, n, one, other, ratio):
    both = one * other * ratio
    cells = np.random.default_rng(7).multinomial(n, [both, one - both, other - both, 1 - one - other + both], 4000)
    cells = cells[(cells[:, 0] + cells[:, 1] > 0) & (cells[:, 0] + cells[:, 2] > 0)]
    tables = np.array([cells[:, 0], cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2], np.full(len(cells), n)]).T
    low, high = intervals(session, tables)
    assert 0.93 < np.mean((low <= ratio) & (ratio <= high)) < 0.985
