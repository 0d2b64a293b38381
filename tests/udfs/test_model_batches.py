"""What models share: batches by a budget, seeds, vectors and errors by row."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.udfs.models import running

SIZES = st.lists(st.integers(1, 60), max_size=80)


@given(SIZES, st.integers(1, 200), st.integers(1, 20))
def test_batches_keep_the_budget_and_hold_every_row_once(sizes, budget, rows):
    batches = [b.tolist() for b in running.by_budget(sizes, budget, rows)]
    assert sorted(row for batch in batches for row in batch) == list(range(len(sizes)))
    for batch in batches:
        assert len(batch) <= rows
        assert len(batch) == 1 or len(batch) * max(sizes[row] for row in batch) <= budget


@given(SIZES, st.integers(1, 200))
def test_no_two_batches_that_follow_would_fit_into_one(sizes, budget):
    batches = [b.tolist() for b in running.by_budget(sizes, budget)]
    for one, two in itertools.pairwise(batches):
        assert (len(one) + 1) * sizes[two[0]] > budget


def test_vectors_keep_their_rows():
    partial = running.vectors({2: np.array([1, 2], np.float32)}, {0: "bad"}, 3, pa.list_(pa.float32(), 2))
    assert partial.values.to_pylist() == [None, None, [1, 2]]
    assert partial.errors == {0: "bad"}


def test_on_a_cpu_nothing_is_rounded():
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(3, 3)
    with running.inference("cpu"):
        result = layer(torch.ones(1, 3))
    assert (result.dtype, result.requires_grad) == (torch.float32, False)
