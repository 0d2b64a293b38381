"""Builds a vector index and extends it by few rows, so that most partitions of the new piece are empty."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa

from counterbalance.engine.search.indexes import IndexSpec, build, extend
from counterbalance.engine.search.recall import recall

import lance  # isort: skip - after the engine, as everywhere


def rows(count: int) -> pa.Table:
    """Random vectors in 16 dimensions."""
    flat = np.random.default_rng(count).normal(size=count * 16).astype(np.float32)
    return pa.table({"id": range(count), "embedding": pa.FixedSizeListArray.from_arrays(pa.array(flat), 16)})


dataset = lance.write_dataset(rows(1000), sys.argv[1])
spec = IndexSpec("it", "ivf_rq", "embedding")
build(dataset, spec, device="cpu")
dataset = lance.write_dataset(rows(10), sys.argv[1], mode="append")
done = extend(dataset, spec)
recall(dataset, spec, queries=3)
sys.stdout.write(f"{done.mode} {done.rows}\n")
