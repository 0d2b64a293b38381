"""effect_interval holds the effect size as often as it says, ends within what sizes allow, and is NULL where nothing is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from repeats import again

from counterbalance.udfs.associations import effect_interval


def ends(difference, variance, n, other_variance, other_n):
    """Of independent values."""
    errors = variance / (n - 1), other_variance / (other_n - 1)
    df = sum(errors) ** 2 / (errors[0] ** 2 / (n - 1) + errors[1] ** 2 / (other_n - 1))
    columns = difference, sum(errors) ** 0.5, df, variance, n, other_variance, other_n
    found = effect_interval(*(pa.array(np.atleast_1d(c).astype(float), from_pandas=True) for c in columns))
    return tuple(found.field(name).to_numpy(zero_copy_only=False) for name in ("low", "high"))


@pytest.mark.parametrize(("n", "m"), [(10, 10), (25, 500), *again((12, 40), (30, 30), (300, 200))])
@pytest.mark.parametrize("shift", [0, 1, *again(0.5, 3)])
@pytest.mark.parametrize("scale", [1, 2])
def test_it_holds_the_truth_as_often_as_it_says(n, m, shift, scale):
    draw = np.random.default_rng(5)
    x, y = draw.normal(shift, 1, (6000, n)), draw.normal(0, scale, (6000, m))
    low, high = ends(x.mean(1) - y.mean(1), x.var(1), np.full(6000, n), y.var(1), np.full(6000, m))
    truth = shift / np.sqrt((n + m * scale**2) / (n + m) + n * m / (n + m) ** 2 * shift**2)
    assert 0.94 < np.mean((low <= truth) & (truth <= high)) < 0.98


def test_it_holds_the_effect_size_and_ends_within_what_sizes_allow():
    draw = np.random.default_rng(6)
    for _ in range(60):
        n, m = draw.integers(2, 30, 2)
        x, y = draw.normal(draw.normal() * 5, 1, n), draw.normal(0, draw.exponential(), m)
        value = (x.mean() - y.mean()) / np.concatenate([x, y]).std(ddof=1)
        (low,), (high,) = ends(x.mean() - y.mean(), x.var(), n, y.var(), m)
        assert low < value < high
        most = np.sqrt((n + m) * (n + m - 1) / n / m)
        assert -most < low
        assert high < most
        assert ends(y.mean() - x.mean(), y.var(), m, x.var(), n) == (pytest.approx(-high), pytest.approx(-low))


@pytest.mark.parametrize(
    "row",
    [
        (None, 1, 9, 1, 9, 1, 9),
        (1, None, 9, 1, 9, 1, 9),
        (1, 1, None, 1, 9, 1, 9),
        (1, 1, 9, None, 9, 1, 9),
        (1, 1, 9, 1, None, 1, 9),
        (1, 1, 9, 1, 1, 1, 9),
        (1, 1, 9, 0, 9, 0, 9),
        (1, 1, 9, 1, 9, 1, 0),
    ],
)
def test_nothing_is_known(row):
    found = effect_interval(*(pa.array([value], pa.float64()) for value in row))
    assert found.to_pylist() == [{"low": None, "high": None}]
