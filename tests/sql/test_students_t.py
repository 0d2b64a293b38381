"""welch_df and student_p: means of two groups are compared as scipy does, by Welch's test."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import counterbalance as cb


@pytest.fixture(scope="module")
def session(build):
    made = cb.connect(f"memory://students-t-{os.getpid()}")
    made.ingest({"images": build.images(image_id=[1])})
    with made.session() as opened:
        yield opened


@pytest.mark.parametrize(("df", "within"), [(3, 0.03), (9, 0.01), (30, 0.002), (1000, 1e-4)])
def test_p_is_near_scipys(session, df, within):
    t = np.linspace(-4, 4, 41)
    found = session.sql(f"SELECT student_p(t, {df}) AS p FROM $rows", rows=pa.table({"t": t})).to_arrow()["p"]
    np.testing.assert_allclose(found, 2 * stats.t.sf(abs(t), df), rtol=within * 2)


def test_degrees_of_freedom_are_welchs_rounded_down(session):
    draw = np.random.default_rng(2)
    for _ in range(20):
        one, other = draw.normal(size=draw.integers(2, 30)), 3 * draw.normal(size=draw.integers(2, 30))
        text = f"SELECT welch_df({one.var()!r}, {len(one)}, {other.var()!r}, {len(other)})".replace("np.float64", "")
        ((df,),) = session.sql(text).fetchall()
        assert df == max(np.floor(stats.ttest_ind(one, other, equal_var=False).df + 1e-9), 1)


def test_pairs_are_compared_as_by_the_paired_test(session):
    draw = np.random.default_rng(3)
    for n in (2, 7, 40):
        one = draw.normal(size=n)
        other = one + draw.normal(size=n)
        shared = -2 * np.cov(one, other)[0, 1] / n
        sides = f"{one.var()!r}, {n}, {other.var()!r}, {n}, {shared!r}".replace("np.float64", "")
        ((error, df),) = session.sql(f"SELECT welch_error({sides}), welch_df({sides}, {n}, {n})").fetchall()
        assert error == pytest.approx(np.std(one - other, ddof=1) / np.sqrt(n))
        assert df == n - 1


def test_pairs_that_cancel_have_no_error(session):
    rows = session.sql(
        "SELECT welch_error(1, 5, 1, 5, s), welch_df(1, 5, 1, 5, s, 5, 5) FROM (VALUES (-0.5), (-0.6)) AS t(s)"
    )
    assert rows.fetchall() == [(0.0, 4.0)] * 2


@pytest.mark.parametrize("sides", ["0, 5, 0, 5", "1, 1, 1, 5", "NULL, 5, 1, 5"])
def test_no_spread_has_none(session, sides):
    assert session.sql(f"SELECT welch_df({sides})").fetchall() == [(None,)]


def test_intervals_of_few_values_hold_what_they_say(session):
    """Of 12 and 10 values the normal interval holds the true difference in 93 % of samples."""
    draw = np.random.default_rng(4)
    one, other = draw.normal(size=(4000, 12)), 2 * draw.normal(size=(4000, 10))
    columns = {"m": one.mean(1) - other.mean(1), "v": one.var(1), "w": other.var(1)}
    text = (
        "SELECT avg(CASE WHEN abs(m) <= student_point(welch_df(v, 12, w, 10)) * welch_error(v, 12, w, 10) THEN 1 ELSE 0 END), "
        "avg(CASE WHEN student_p(m / welch_error(v, 12, w, 10), welch_df(v, 12, w, 10)) < 0.05 THEN 1 ELSE 0 END) FROM $rows"
    )
    ((held, found),) = session.sql(text, rows=pa.table(columns)).fetchall()
    assert 0.94 < held < 0.965
    assert 0.035 < found < 0.06
