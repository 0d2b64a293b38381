"""Intervals by their definitions, for what several audits tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def ratio_interval(both: float, one: float, other: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of both * n / (one * other) by its definition: three shares, each moved to its end by Wilson."""
    from statsmodels.stats.proportion import proportion_confint

    if n in {one, other}:
        return 1, 1
    ends = [proportion_confint(c, k, method="wilson") for c, k in ((both, one), (other - both, n - one), (one, n))]
    (l1, u1), (l0, u0), (lq, uq) = ((max(low, 0), min(high, 1)) for low, high in ends)
    p1, p0, q = both / one, (other - both) / (n - one), one / n
    if both == 0:
        return 0, u1 / (q * u1 + (1 - q) * p0)
    at = _log_ratio(p1, p0, q)
    falls, rises = (uq, lq) if p1 > p0 else (lq, uq)
    down = [at - _log_ratio(l1, p0, q), at - _log_ratio(p1, u0, q), at - _log_ratio(p1, p0, falls)]
    up = [_log_ratio(u1, p0, q) - at, _log_ratio(p1, l0, q) - at, _log_ratio(p1, p0, rises) - at]
    return math.exp(at - math.hypot(*down)), min(math.exp(at + math.hypot(*up)), n / max(one, other))


def _log_ratio(share: float, rest: float, size: float) -> float:
    return math.log(share / (size * share + (1 - size) * rest))


def effect_ends(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the difference of two means over the std of all values, from the values themselves."""
    import numpy as np
    from scipy import stats

    parts = [np.asarray(p, float) for p in (first, second)]
    n = sum(map(len, parts))
    within = np.concatenate([p - p.mean() for p in parts]).std(ddof=1)
    effect = (parts[0].mean() - parts[1].mean()) / within
    test = stats.ttest_ind(*parts, equal_var=False)
    error = sum(p.var(ddof=1) / len(p) for p in parts) / within**2
    # a variance of k normal values is off by a variance of 2 variance^2 / (k - 1), and counts by its share of all
    moved = sum((len(p) / n * p.var(ddof=1)) ** 2 * 2 / (len(p) - 1) for p in parts)
    half = stats.t.ppf(0.975, max(np.floor(test.df + 1e-9), 1)) * np.sqrt(error + (effect / 2 / within**2) ** 2 * moved)
    share = len(parts[0]) * len(parts[1]) / n / (n - 1)
    low, high = ((effect + side * half) / np.sqrt(1 + share * (effect + side * half) ** 2) for side in (-1, 1))
    return low, high
