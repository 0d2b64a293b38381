"""Functions of bench_direction.py: random unit vectors by number."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from counterbalance.engine.functions import Parameter, udf

DIMENSIONS = 512
_VECTOR = pa.list_(pa.float32(), DIMENSIONS)


BATCH = 16_384


@cache
def _units(which: int) -> Any:
    found = np.random.default_rng(which).standard_normal((BATCH, DIMENSIONS), np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


@udf(
    returns=_VECTOR,
    parameters=[Parameter("id", pa.int64()), Parameter("which", pa.int64(), constant=True)],
    version="2",
    batch_size=BATCH,
)
def bench_unit(id, which):  # noqa: A002 - the column it reads
    """Unit vectors: those of the first batch, their numbers moved on, so that no two batches are equal."""
    rows = np.roll(_units(which)[: len(id)], id[0].as_py() // 100 * (2 * which + 1), axis=1)
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), DIMENSIONS)
