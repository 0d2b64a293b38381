"""Functions that the executors' benchmark computes; a file as users write them, for ``udfs=``."""

from __future__ import annotations

import hashlib
import time

import pyarrow as pa

import counterbalance as cb


@cb.udf(returns=pa.int64(), parameters={"text": pa.string()}, version="1", batch_size=512)
def bench_digest(text: pa.Array) -> list[int]:
    """Two hundred rounds of SHA-256, in Python: about 0.1 ms a row, on one core."""
    found = []
    for value in text.to_pylist():
        digest = value.encode()
        for _ in range(200):
            digest = hashlib.sha256(digest).digest()
        found.append(int.from_bytes(digest[:7], "big"))
    return found


@cb.udf(returns=pa.int64(), parameters={"text": pa.string()}, version="1", batch_size=64)
def bench_patient(text: pa.Array) -> list[int]:
    """Length, a millisecond a row."""
    time.sleep(0.001 * len(text))
    return [len(value) for value in text.to_pylist()]
