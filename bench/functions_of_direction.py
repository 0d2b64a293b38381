"""Functions of bench_direction.py: random unit vectors by number."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from counterbalance.engine.functions import Parameter, udf

DIMENSIONS = 512
_VECTOR = pa.list_(pa.float32(), DIMENSIONS)


@udf(
    returns=_VECTOR,
    parameters=[Parameter("id", pa.int64()), Parameter("which", pa.int64(), constant=True)],
    version="1",
    batch_size=16_384,
)
def bench_unit(id, which):  # noqa: A002 - the column it reads
    """Unit vectors; a batch's depend on its first number."""
    found = np.random.default_rng([which, id[0].as_py()]).standard_normal((len(id), DIMENSIONS), np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return pa.FixedSizeListArray.from_arrays(pa.array(found.reshape(-1)), DIMENSIONS)
