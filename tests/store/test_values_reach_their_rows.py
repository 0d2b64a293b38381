"""Values written into a fragment lie in the rows they were meant for, whatever rows are deleted, kept or left out between them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.store import columns


def written(source, count, step, chunk=3):
    """What is written for a fragment of which every row that is not deleted is filled."""
    places = [place for place, row in enumerate(source) if row >= 0]
    fragment = SimpleNamespace(physical_rows=len(source), num_deletions=len(source) - len(places))
    rows = np.array([source[place] for place in places], np.int64)
    chunks = pa.chunked_array([list(range(i, min(i + chunk, count))) for i in range(0, count, chunk)], pa.int64())
    one = columns.Fill(fragment, np.array(places, np.int64), rows)
    parts = columns._whole(one, pa.table({"v": chunks}), step)
    return [value for part in parts for value in part["v"].to_pylist()]


@pytest.mark.parametrize(
    "source", [[-1, 5, 7], [-1, 0, 2], [5, 7, -1], [5, -1, 6], [0, 1, 2], [2, 1, 0], [-1, -1], [0, 11], [-1, 0, 3, 4]]
)
@pytest.mark.parametrize("step", [2, 3, 100])
def test_deleted_rows_and_left_out_values(source, step):
    assert written(source, 12, step) == [None if row < 0 else row for row in source]


@given(st.lists(st.integers(-1, 19), min_size=1, max_size=40), st.integers(1, 12), st.integers(1, 7))
def test_any_rows(source, step, chunk):
    assert written(source, 20, step, chunk) == [None if row < 0 else row for row in source]
