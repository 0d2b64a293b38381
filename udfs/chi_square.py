"""Compute tails of chi-square: ``chi_square_p`` and ``chi_square_bounds``."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.functions import Parameter, udf

BOUNDS: Final = pa.struct([("low", pa.float64()), ("high", pa.float64())])
_NONE: Final = 1e-9
"""Noncentralities below this are none: what the search for a root gives where there is none."""


@udf(
    returns=pa.float64(),
    parameters=[Parameter("statistic", pa.float64()), Parameter("df", pa.int64())],
    version="1",
)
def chi_square_p(statistic: pa.Array, df: pa.Array) -> pa.Array:
    """Return the probability that chi-square is as large as a statistic, or larger.

    Args:
        statistic: Values from 0 up, such as a G²; NULL gives NULL.
        df: Degrees of freedom from 1 up; fewer give NULL.

    Returns:
        float64 in [0, 1].

    Example:
        >>> [round(p, 3) for p in chi_square_p(pa.array([3.841458820694124, 0.0]), pa.array([1, 4])).to_pylist()]
        [0.05, 1.0]
    """
    from scipy.special import chdtrc

    x = statistic.fill_null(np.nan).to_numpy(zero_copy_only=False)
    free = df.fill_null(0).to_numpy(zero_copy_only=False)
    p = np.where(free >= 1, chdtrc(np.maximum(free, 1), x), np.nan)
    return pa.array(p, pa.float64(), mask=np.isnan(p))


@udf(
    returns=BOUNDS,
    parameters=[Parameter("statistic", pa.float64()), Parameter("df", pa.int64())],
    version="1",
)
def chi_square_bounds(statistic: pa.Array, df: pa.Array) -> pa.Array:
    """Return the 95 % interval of the noncentrality of which a chi-square was drawn.

    Args:
        statistic: Values from 0 up; NULL gives NULL.
        df: Degrees of freedom from 1 up; fewer give NULL.

    Returns:
        low and high, float64 from 0 up: where the chance of as much or more, and of as much or less, is 2.5 %.

    Source:
        Smithson, Confidence Intervals (2003).

    Example:
        >>> found = chi_square_bounds(pa.array([10.0]), pa.array([3])).to_pylist()[0]
        >>> round(found["low"], 4), round(found["high"], 4)
        (0.2155, 23.6798)
    """
    from scipy.special import chndtrinc

    x = statistic.fill_null(np.nan).to_numpy(zero_copy_only=False)
    free = df.fill_null(0).to_numpy(zero_copy_only=False)
    missing = np.isnan(x) | (free < 1)
    given = np.where(missing, 1.0, x), np.where(missing, 1, free)
    ends = [chndtrinc(*given, chance) for chance in (0.975, 0.025)]
    columns = [pa.array(np.where(end < _NONE, 0.0, end)) for end in ends]
    return pa.StructArray.from_arrays(columns, fields=list(BOUNDS), mask=pa.array(missing))
