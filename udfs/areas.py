"""Bound areas under a curve: ``area_interval``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.functions import Parameter, udf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

BOUNDS: Final = pa.struct([("low", pa.float64()), ("high", pa.float64())])
_Z: Final = 1.959963984540054
_STEPS: Final = 60
"""Halvings of [0, 1]: as near as doubles are."""


@udf(
    returns=BOUNDS,
    parameters=[
        Parameter("area", pa.float64()),
        Parameter("positives", pa.int64()),
        Parameter("negatives", pa.int64()),
    ],
    version="1",
)
def area_interval(area: pa.Array, positives: pa.Array, negatives: pa.Array) -> pa.Array:
    """Return the 95 % interval of an area under a ROC curve.

    Its ends are the areas from which the one that was seen is 1.96 standard errors off, with the standard error that the end
    itself would have: so it ends within 0 and 1, and has a width where all positives come before all negatives.

    Args:
        area: The area in [0, 1]; NULL gives NULL.
        positives: How many have the label, from 1 up; fewer give NULL.
        negatives: How many lack it, likewise.

    Returns:
        low and high, float64 in [0, 1].

    Source:
        Newcombe, Confidence intervals for an effect size measure based on the Mann-Whitney statistic, part 2 (2006), method 5;
        the standard error is that of Hanley and McNeil (1982), with the mean of both numbers in the place of either.

    Example:
        >>> found = area_interval(pa.array([0.9, 1.0]), pa.array([20, 20]), pa.array([20, 20])).to_pylist()
        >>> [(round(row["low"], 3), round(row["high"], 3)) for row in found]
        [(0.747, 0.962), (0.899, 1.0)]
    """
    values = [
        a.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False) for a in (area, positives, negatives)
    ]
    seen, m, n = values
    missing = np.isnan(seen) | ~(m >= 1) | ~(n >= 1)
    seen, m, n = np.where(missing, 0.5, seen), np.where(missing, 1, m), np.where(missing, 1, n)
    low = _end(seen, m, n, np.zeros_like(seen), seen)
    high = _end(seen, m, n, np.ones_like(seen), seen)
    return pa.StructArray.from_arrays([pa.array(low), pa.array(high)], fields=list(BOUNDS), mask=pa.array(missing))


def _end(seen: Doubles, m: Doubles, n: Doubles, outside: Doubles, inside: Doubles) -> Doubles:
    """Return where the area that was seen is 1.96 standard errors off, between one that is farther and one that is nearer."""
    for _ in range(_STEPS):
        middle = (outside + inside) / 2
        more = (m + n) / 2 - 1
        variance = (
            middle * (1 - middle) / (m * n) * (1 + more * (1 - middle) / (2 - middle) + more * middle / (1 + middle))
        )
        is_far = np.abs(seen - middle) > _Z * np.sqrt(variance)
        outside, inside = np.where(is_far, middle, outside), np.where(is_far, inside, middle)
    return inside
