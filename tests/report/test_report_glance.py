"""The report's first list goes by q over all values with an interval, and says how many were looked at."""

from __future__ import annotations

import math

import pytest
from scipy.stats import false_discovery_control

from counterbalance.report.build import _glance
from counterbalance.report.figures import Figure
from counterbalance.report.renderer import _z
from counterbalance.report.svg import Mark


def figure(name, *p):
    return Figure(name, name, "", finding=name, tests=sorted(p))


def test_figures_are_shown_by_q_over_all_of_them():
    figures = [figure("a", 0.001, 0.5), figure("b", 0.02, 0.9, 0.8), figure("c", 0.04, 0.3), figure("d", 1e-9)]
    every = [p for one in figures for p in one.tests]
    q = dict(zip(every, false_discovery_control(every), strict=True))
    wanted = [one.name for one in figures if q[one.tests[0]] < 0.05]
    found = _glance(figures)
    assert [one.name for one in found["findings"]] == wanted == ["a", "d"]
    assert (found["looked_at"], found["figures_looked_at"]) == (8, 4)


def test_the_surest_are_shown_in_the_order_of_the_page():
    figures = [figure(f"f{i}", 10.0 ** -(i + 3)) for i in range(12)]
    assert [one.name for one in _glance(figures)["findings"]] == [f"f{i}" for i in range(4, 12)]
    assert _glance([]) == {"findings": [], "looked_at": 0, "figures_looked_at": 0}


@pytest.mark.parametrize(
    ("mark", "z"),
    [
        (Mark("over", 0.5, 0.3, 0.8), 0.5 / 0.2 * 1.96),
        (Mark("under", -0.5, -0.6, -0.1), -0.5 / 0.4 * 1.96),
        (Mark("none", 0.0, -1.0, 1.0), 0.0),
        (Mark("at a bound", 0.5, 0.5, 0.5), math.inf),
        (Mark("hidden", None), None),
        (Mark("without an interval", 0.5), None),
    ],
)
def test_a_value_is_off_by_the_end_that_faces_the_line(mark, z):
    assert _z(mark, 0.0) == (z if z is None else pytest.approx(z, rel=1e-4))
