"""Fit how one bias follows from another over categories: ``transfer_fit``."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from counterbalance.engine.functions import Parameter, udf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

POINTS: Final = pa.list_(pa.struct([("category", pa.string()), ("x", pa.float64()), ("y", pa.float64())]))
FIT: Final = pa.list_(
    pa.struct(
        [
            ("metric", pa.string()),
            ("category", pa.string()),
            ("value", pa.float64()),
            ("low", pa.float64()),
            ("high", pa.float64()),
            ("data", pa.float64()),
            ("model", pa.float64()),
            ("fitted", pa.float64()),
        ]
    )
)
_Z: Final = 1.959963984540054
_NOTHING: Final = 1e-12
"""Mean squares below this, of values on [-1, 1], are what rounding left."""
_FEWEST: Final = 30
"""Categories below which percentiles of resamples hold too rarely (docs/coverage.md)."""
_CHUNK: Final = 1 << 20
"""Weights of resamples that are fitted at once."""


@udf(
    returns=FIT,
    parameters=[
        Parameter("points", POINTS),
        Parameter("degree", pa.int64(), 1, constant=True),
        Parameter("interval", pa.string(), "fisher", constant=True),
        Parameter("resamples", pa.int64(), 1000, constant=True),
        Parameter("seed", pa.int64(), 0, constant=True),
    ],
    version="2",
)
def transfer_fit(
    points: pa.Array, degree: int = 1, interval: str = "fisher", resamples: int = 1000, seed: int = 0
) -> pa.Array:
    """Return the correlation of two values of some categories, a polynomial fitted to them, and what it leaves over.

    Args:
        points: Each category once, with the explaining value ``x`` and the explained ``y``, in any order.
        degree: Of the polynomial, by least squares.
        interval: ``'fisher'``: Fisher's z of the correlation, and of the multiple correlation for r2, with n - 3 and n -
            degree - 2; Student's t for slope and intercept. ``'bootstrap'``: percentiles of fits to resampled categories,
            expanded for few of them (Hesterberg 2015), none of fewer than 30. Either way an r2 of a higher degree that the F test does not tell from 0 begins at 0.
        resamples: How many of these.
        seed: Of the draws: categories in the order of their names, by digits of MD5 of seed, draw and place.

    Returns:
        Rows of 95 % intervals for the metrics ``rho``, ``r2`` and, at degree 1, ``slope`` and ``intercept``; then one of
        metric ``residual`` for each category, with x (``data``), y (``model``), the fitted y, and value = y - fitted. NULL
        where x or y is the same everywhere.

    Example:
        >>> given = [{"category": c, "x": x, "y": y} for c, x, y in (("a", 1, 1), ("b", 2, 3), ("c", 3, 5), ("d", 4, 9))]
        >>> found = {row["metric"]: row for row in transfer_fit(pa.array([given], POINTS)).to_pylist()[0][:4]}
        >>> {metric: round(row["value"], 4) for metric, row in found.items()}
        {'rho': 0.9827, 'r2': 0.9657, 'slope': 2.6, 'intercept': -2.0}
    """
    rows = [
        list(_rows(sorted(row or [], key=lambda p: p["category"]), degree, interval == "bootstrap", resamples, seed))
        for row in points.to_pylist()
    ]
    return pa.array(rows, FIT)


class _Fits(NamedTuple):
    """Fits to some weightings of the points: one value a weighting, ``fitted`` (weightings, points); NaN where there is none."""

    rho: Doubles
    r2: Doubles
    slope: Doubles
    intercept: Doubles
    slope_error: Doubles
    intercept_error: Doubles
    fitted: Doubles


def _rows(
    points: list[dict[str, Any]], degree: int, bootstrap: bool, resamples: int, seed: int
) -> Iterator[dict[str, Any]]:
    x, y = (np.array([p[name] for p in points], np.float64) for name in ("x", "y"))
    n = len(points)
    fits = _fits(x, y, np.ones((1, n)), degree)
    drawn = _resampled(x, y, degree, resamples, seed) if bootstrap else None
    for metric in ("rho", "r2", "slope", "intercept")[: 4 if degree == 1 else 2]:
        value = float(getattr(fits, metric)[0])
        if drawn is None:
            low, high = _ends(metric, value, fits, n, degree)
        elif n < _FEWEST:
            low = high = math.nan
        else:
            low, high = _percentiles(drawn[metric], n)
        if metric == "r2" and degree > 1 and _is_none(value, n, degree):
            low = min(low, 0.0)
        elif metric == "r2" and degree == 1 and drawn is not None and n >= _FEWEST:
            low, high = _squared(*_percentiles(drawn["rho"], n))
        yield {"metric": metric} | {k: _known(v) for k, v in (("value", value), ("low", low), ("high", high))}
    for point, fitted in zip(points, fits.fitted[0].tolist(), strict=True):
        yield {
            "metric": "residual",
            "category": point["category"],
            "value": _known(point["y"] - fitted),
            "data": point["x"],
            "model": point["y"],
            "fitted": _known(fitted),
        }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _fits(x: Doubles, y: Doubles, weights: Doubles, degree: int) -> _Fits:
    """Fit polynomials by weighted least squares, on polynomials that are orthogonal under the weights (Forsythe 1957).

    Both values are brought to [-1, 1] first. Sums run along rows, so that a fit does not depend on others beside it.

    Args:
        x: Explaining values, one a point.
        y: Explained values.
        weights: float64 (fits, points).
        degree: Of the polynomials; what rounding would decide is left out.
    """
    if not len(x) or not np.ptp(x) or not np.ptp(y):
        unknown = np.full(len(weights), np.nan)
        return _Fits._make([unknown] * 6 + [np.full(weights.shape, np.nan)])
    (u, x_middle, x_half), (v, y_middle, y_half) = _scaled(x), _scaled(y)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = weights.sum(axis=1)
        u_mean, v_mean = ((weights * values).sum(axis=1) / whole for values in (u, v))
        residual = v - v_mean[:, None]
        squares = (weights * residual**2).sum(axis=1)
        before, norm_before = np.ones_like(weights), whole
        term = u - u_mean[:, None]
        curve, explained = np.tile(v_mean[:, None], len(x)), np.zeros_like(whole)
        for power in range(1, degree + 1):
            norm, along = ((weights * term * other).sum(axis=1) for other in (term, residual))
            used = norm > _NOTHING * whole
            factor = np.where(used, along / norm, 0)
            curve = curve + factor[:, None] * term
            explained = explained + factor * along
            if power == 1:
                steep, first, rho = factor, np.where(used, norm, np.nan), along / np.sqrt(norm * squares)
            centre = (weights * u * term**2).sum(axis=1) / norm
            after = (u - centre[:, None]) * term - (norm / norm_before)[:, None] * before
            before, norm_before, term = term, norm, np.where(used[:, None], after, 0)
        known = np.where((squares > _NOTHING * whole) & ~np.isnan(first), 0.0, np.nan)
        slope = steep * y_half / x_half
        x_mean = u_mean * x_half + x_middle
        spread = y_half * np.sqrt(np.maximum(squares - explained, 0) / np.where(whole == 2, np.nan, whole - 2))
        return _Fits(
            rho=np.clip(rho, -1, 1) + known,
            r2=np.minimum(explained / squares, 1) + known,
            slope=slope + known,
            intercept=v_mean * y_half + y_middle - slope * x_mean + known,
            slope_error=spread / x_half / np.sqrt(first) + known,
            intercept_error=spread * np.sqrt(1 / whole + (x_mean / x_half) ** 2 / first) + known,
            fitted=curve * y_half + y_middle + known[:, None],
        )


def _scaled(values: Doubles) -> tuple[Doubles, float, float]:
    """Return values on [-1, 1], with the middle and half the width of their range."""
    low, high = float(values.min()), float(values.max())
    return (2 * values - low - high) / (high - low), (low + high) / 2, (high - low) / 2


def _ends(metric: str, value: float, fits: _Fits, n: int, degree: int) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a metric by its formula."""
    if metric in {"slope", "intercept"}:
        from scipy.special import stdtrit

        half = float(stdtrit(n - 2, 0.975)) * float(getattr(fits, f"{metric}_error")[0]) if n > 2 else math.nan
        return value - half, value + half
    lost = degree if metric == "r2" else 1
    multiple = metric == "r2" and degree > 1
    correlation = math.sqrt(value) if multiple else float(fits.rho[0])
    low = high = correlation
    if abs(correlation) < 1:
        half = _Z / math.sqrt(n - lost - 2) if n > lost + 2 else math.nan
        z = math.atanh(correlation)
        low, high = math.tanh(z - half), math.tanh(z + half)
    if metric == "rho" or math.isnan(low):
        return low, high
    return _squared(low, high)


def _squared(low: float, high: float) -> tuple[float, float]:
    """Return the ends of the square of what lies between two ends."""
    return max(low, -high, 0) ** 2, max(high, -low) ** 2


def _is_none(r2: float, n: int, degree: int) -> bool:
    """Tell whether so large an r2 comes by chance alone in more than 2.5 % of samples, by the F test."""
    from scipy.special import fdtrc

    left = n - degree - 1
    return left > 0 and r2 < 1 and float(fdtrc(degree, left, r2 / degree * left / (1 - r2))) > 0.025


def _resampled(x: Doubles, y: Doubles, degree: int, resamples: int, seed: int) -> dict[str, Doubles]:
    """Return the metrics of fits to resampled points."""
    n = len(x)
    step = max(1, _CHUNK // max(1, n))
    parts = []
    for first in range(1, resamples + 1, step):
        draws = range(first, min(first + step, resamples + 1))
        weights = [
            np.bincount([_drawn(seed, draw, place, n) for place in range(1, n + 1)], minlength=n) for draw in draws
        ]
        parts.append(_fits(x, y, np.array(weights, np.float64), degree))
    return {name: np.concatenate([getattr(p, name) for p in parts]) for name in ("rho", "r2", "slope", "intercept")}


def _drawn(seed: int, draw: int, place: int, n: int) -> int:
    """Return which of n points a draw takes at a place, from 0."""
    lot = hashlib.md5(f"{seed}:{draw}:{place}".encode(), usedforsecurity=False).hexdigest()
    return int(n * (int(lot[:6], 16) / (1 << 24)))


def _percentiles(values: Doubles, n: int) -> tuple[float, float]:
    """Return two percentiles of what is known, from its own values, between which lie 95 % and what samples of n lack of that.

    The tails are those that the normal curve has beyond ``sqrt(n / (n - 1))`` times the point of Student's t: the expanded
    percentile interval of Hesterberg, What Teachers Should Know About the Bootstrap (2015).
    """
    from scipy.special import ndtr, stdtrit

    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return math.nan, math.nan
    tail = float(ndtr(-math.sqrt(n / (n - 1)) * stdtrit(n - 1, 0.975)))
    low, high = math.floor(tail * (len(known) + 1)), math.ceil((1 - tail) * (len(known) + 1))
    return float(known[max(low, 1) - 1]), float(known[min(high, len(known)) - 1])
