"""Find the dimensions of vectors that tell a label: what CLIP-clip drops (Wang, Liu and Wang 2021, section 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterbalance.engine.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray


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

    matrix = vectors if isinstance(vectors, np.ndarray) else np.asarray(vectors.flatten()).reshape(len(vectors), -1)
    if not 0 < count < matrix.shape[1] or len(labels) != len(matrix):
        raise RequestError(
            f"cannot choose {count} of {matrix.shape[1]} dimensions by {len(labels)} labels of {len(matrix)} rows",
            code="E3525",
        )
    information = mutual_info_classif(matrix, np.asarray(labels, str), random_state=seed)
    return sorted(np.argsort(-information, kind="stable")[:count].tolist())
