"""Compute the tail of chi-square: ``chi_square_p``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from counterbalance.engine.functions import Parameter, udf


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
