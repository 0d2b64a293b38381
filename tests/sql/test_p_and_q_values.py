"""two_sided_p is scipy's to 3e-8, student_point near scipy's, and false_discovery that of statsmodels."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import counterbalance as cb


@pytest.fixture(scope="module")
def session(build):
    made = cb.connect(f"memory://p-and-q-{os.getpid()}")
    made.ingest({"images": build.images(image_id=[1])})
    with made.session() as opened:
        yield opened


def test_p(session):
    x = np.concatenate([[0.0], np.geomspace(1e-9, 1400, 400)])
    found = session.sql("SELECT two_sided_p(x) AS p FROM given", given=pa.table({"x": x})).to_arrow()["p"]
    assert found.to_pylist() == pytest.approx(stats.chi2.sf(x, 1).tolist(), rel=3e-8)
    assert session.sql("SELECT two_sided_p(NULL), two_sided_p(-1)").fetchall() == [(None, None)]


def test_the_point_of_student(session):
    found = session.sql("SELECT student_point(df) AS t FROM range(0, 60) AS r(df)").to_arrow()["t"].to_pylist()
    assert found[0] is None
    assert found[1:3] == pytest.approx(stats.t.ppf(0.975, [1, 2]).tolist(), rel=1e-12)
    assert found[3:5] == pytest.approx(stats.t.ppf(0.975, [3, 4]).tolist(), abs=0.004)
    assert found[5:] == pytest.approx(stats.t.ppf(0.975, np.arange(5, 60)).tolist(), abs=3e-4)


@pytest.mark.parametrize("seed", range(4))
def test_q(session, seed):
    draw = np.random.default_rng(seed)
    p = np.round(draw.random(300) ** 3, draw.integers(1, 6))  # with ties
    missing = draw.random(300) < 0.1
    given = pa.table({"place": np.arange(300), "p": pa.array(p, mask=missing)}).take(draw.permutation(300))
    rows = session.sql("SELECT place, q FROM false_discovery(given) ORDER BY place", given=given).to_arrow()
    wanted = np.full(300, np.nan)
    wanted[~missing] = multipletests(p[~missing], method="fdr_bh")[1]
    assert [q is None for q in rows["q"].to_pylist()] == missing.tolist()
    assert rows["q"].drop_null().to_pylist() == pytest.approx(wanted[~missing].tolist(), rel=1e-12)


def test_no_tests_have_no_q(session):
    assert session.sql("FROM false_discovery((SELECT 0.5 AS p WHERE false))").fetchall() == []
