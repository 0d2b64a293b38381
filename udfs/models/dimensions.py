"""Find the dimensions of vectors that tell a label: what CLIP-clip drops (Wang, Liu and Wang 2021, section 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import Parameter, udf
from counterbalance.udfs.clusters import matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_DIMENSIONS = pa.list_(pa.int32())


@udf(
    returns=_DIMENSIONS,
    parameters=[
        Parameter("vectors", pa.list_(pa.list_(pa.float32()))),
        Parameter("labels", pa.list_(pa.string())),
        Parameter("count", pa.int64(), constant=True),
        Parameter("seed", pa.int64(), 0, constant=True),
    ],
    version="1",
)
def telling_dimensions(vectors: pa.Array, labels: pa.Array, count: int, seed: int = 0) -> pa.Array:
    """Return the dimensions of vectors that tell a label best, by mutual information: what CLIP-clip drops.

    Give both lists in one order, ``list(x ORDER BY id)``. The recipe ``clip_clip`` chooses and drops.

    Args:
        vectors: Lists of float32, all of one length; NULL gives NULL.
        labels: One a vector, none NULL.
        count: How many dimensions.
        seed: Of the noise that tells equal values apart.

    Returns:
        ``count`` numbers of dimensions from 0, ascending.

    Raises:
        RequestError: As many dimensions are asked for as there are, or labels and vectors are not as many (``E3525``); a
            vector is NULL or has another length (``E3700``), or holds what is not a number (``E3702``).

    Source:
        Wang, Liu and Wang, Are gender-neutral queries really gender-neutral? (2021), section 4.2; Ross (2014).

    Example:
        >>> told = [[float(i % 2), float(i)] for i in range(40)]
        >>> telling_dimensions(pa.array([told]), pa.array([["male", "female"] * 20]), 1).to_pylist()
        [[0]]
    """
    found: list[list[int] | None] = []
    for own, given in zip(vectors, labels, strict=True):
        if not own.is_valid or not given.is_valid:
            found.append(None)
            continue
        found.append(telling(matrix("telling_dimensions", own.values), given.as_py(), count, seed=seed))
    return pa.array(found, _DIMENSIONS)


def telling(vectors: pa.Array | NDArray[np.float32], labels: Sequence[str], count: int, *, seed: int = 0) -> list[int]:
    """Return the dimensions with the highest mutual information with a label, for ``drop`` of ``embed_image`` and ``embed_text``.

    Mutual information is estimated by nearest neighbours (Ross 2014), as scikit-learn does; some thousand rows are enough.

    Args:
        vectors: Fixed-size lists of float32 without NULL, or a matrix: rows by dimensions.
        labels: One a row.
        count: How many dimensions.
        seed: Of the noise that tells equal values apart.

    Returns:
        ``count`` numbers of dimensions from 0, ascending; of equally telling ones the first.

    Raises:
        RequestError: As many dimensions are asked for as there are, or labels and rows are not as many.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> label = rng.integers(0, 2, 300)
        >>> vectors = rng.normal(size=(300, 4)).astype(np.float32)
        >>> vectors[:, 2] += 3 * label
        >>> telling(vectors, [str(v) for v in label], 1)
        [2]
    """
    from sklearn.feature_selection import mutual_info_classif

    rows = vectors if isinstance(vectors, np.ndarray) else np.asarray(vectors.flatten()).reshape(len(vectors), -1)
    if not 0 < count < rows.shape[1] or len(labels) != len(rows):
        raise RequestError(
            f"cannot choose {count} of {rows.shape[1]} dimensions by {len(labels)} labels of {len(rows)} rows",
            code="E3525",
        )
    information = mutual_info_classif(rows, np.asarray(labels, str), random_state=seed)
    return sorted(np.argsort(-information, kind="stable")[:count].tolist())
