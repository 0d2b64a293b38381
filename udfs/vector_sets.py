"""Measure how wide a set of vectors spreads, and how well it covers another: ``effective_dimension`` and ``nearest_vectors``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, udf

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VECTORS: Final = pa.list_(pa.list_(pa.float64()))
NEAREST: Final = pa.list_(pa.struct([("place", pa.int64()), ("similarity", pa.float64())]))
_ROUNDING: Final = 1e-12


@udf(
    returns=pa.int64(),
    parameters=[Parameter("vectors", _VECTORS), Parameter("share", pa.float64(), 0.95, constant=True)],
    version="1",
)
def effective_dimension(vectors: pa.Array, share: float = 0.95) -> pa.Array:
    """Return how many principal components a set of vectors needs for a share of its variance; vectors are centred first.

    Args:
        vectors: Lists of vectors of one length.
        share: Of the variance, above 0 and up to 1.

    Returns:
        int64; 0 where all vectors are equal, NULL where there is none.

    Raises:
        RequestError: Vectors of several lengths (E3700) or with no numbers (E3702), or a share out of range (E3051).

    Source:
        Kabra et al., GELDA (2023), diversity of a proposal.

    Example:
        >>> effective_dimension(pa.array([[[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]], []])).to_pylist()
        [1, None]
    """
    if not 0 < share <= 1:
        raise RequestError(f"a share of the variance cannot be {share}", code="E3051", hint="such as 0.95")
    with threadpool_limits(1):
        found = [_dimension(_matrix(v), share) if v.is_valid and len(v.values) else None for v in vectors]
    return pa.array(found, pa.int64())


@udf(
    returns=NEAREST,
    parameters=[Parameter("vectors", _VECTORS), Parameter("others", _VECTORS)],
    version="1",
)
def nearest_vectors(vectors: pa.Array, others: pa.Array) -> pa.Array:
    """Return for each of some vectors the nearest of others, by cosine.

    Args:
        vectors: Lists of vectors of one length.
        others: Lists of vectors of the same length.

    Returns:
        For each vector the place of the nearest other, from 1, the first of equal ones, and their cosine; NULL where there
        is no other.

    Raises:
        RequestError: Vectors of several lengths (E3700), without a direction or with no numbers (E3702).

    Example:
        >>> nearest_vectors(pa.array([[[1.0, 0.0]]]), pa.array([[[0.0, 1.0], [3.0, 0.0]]])).to_pylist()
        [[{'place': 2, 'similarity': 1.0}]]
    """
    with threadpool_limits(1):
        found = [_nearest(a, b) for a, b in zip(vectors, others, strict=True)]
    return pa.array(found, NEAREST)


def _matrix(vectors: pa.ListScalar) -> NDArray[np.float64]:
    values = vectors.values
    widths = set(values.value_lengths().to_pylist())
    width = next(iter(widths)) if len(widths) == 1 else None
    if not width:
        raise RequestError("vectors have several lengths, or one is NULL", code="E3700", hint="take one model for all")
    found = np.asarray(values.flatten().to_numpy(zero_copy_only=False), np.float64).reshape(-1, width)
    if not np.isfinite(found).all():
        raise RequestError("a vector holds something else than numbers", code="E3702")
    return found


def _dimension(matrix: NDArray[np.float64], share: float) -> int:
    variances = np.linalg.svd(matrix - matrix.mean(axis=0), compute_uv=False) ** 2
    whole = variances.sum()
    if not whole > _ROUNDING * (matrix**2).sum():
        return 0
    return int(np.argmax(np.cumsum(variances) / whole >= share - _ROUNDING)) + 1


def _nearest(vectors: pa.ListScalar, others: pa.ListScalar) -> list[dict[str, float | int]] | None:
    if not vectors.is_valid or not others.is_valid or not len(vectors.values) or not len(others.values):
        return None
    own, other = _directions(_matrix(vectors)), _directions(_matrix(others))
    if own.shape[1] != other.shape[1]:
        raise RequestError(
            f"vectors of {own.shape[1]} and of {other.shape[1]} dimensions", code="E3700", hint="take one model for all"
        )
    cosines = np.clip(np.einsum("id,jd->ij", own, other), -1, 1)
    places = cosines.argmax(axis=1)
    return [{"place": int(p) + 1, "similarity": float(row[p])} for row, p in zip(cosines, places, strict=True)]


def _directions(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.sqrt((matrix**2).sum(axis=1, keepdims=True))
    if not lengths.all():
        raise RequestError("a vector has no direction: it is all zeros", code="E3702")
    return np.asarray(matrix / lengths)
