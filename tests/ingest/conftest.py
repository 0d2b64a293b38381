"""What tests of readers share."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.ingest.hashing import hash63


@pytest.fixture(scope="session")
def hash_columns():
    """Return ids of rows as ``hashing.hash_rows`` gives them, one by one."""

    def hashed(*columns):
        rows = ("\x1f".join("" if v is None else str(v) for v in row) for row in zip(*columns, strict=True))
        return pa.array([hash63(r) for r in rows], pa.int64())

    return hashed
