"""Ids computed for whole columns equal those computed one by one, and repeated ids are noticed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.ingest import hashing

KEY = (
    st.none()
    | st.text(max_size=8)
    | st.integers(0, 2**70).map(str)
    | st.sampled_from(["0", "00", "007", "a\0b", "9223372036854775807", "9223372036854775808", "-1", "+1", "1\n", "٣"])
)


def one_by_one(keys):
    return pa.array([None if k is None else hashing.key_id(k) for k in keys], pa.int64())


@given(st.lists(KEY, max_size=20))
def test_key_ids(keys):
    assert hashing.key_ids(pa.array(keys, pa.string())).equals(one_by_one(keys))


@given(rows=st.lists(st.tuples(KEY, KEY), max_size=20))
def test_hash_rows(rows, hash_columns):
    left, right = [r[0] for r in rows], [r[1] for r in rows]
    found = hashing.hash_rows(pa.array(left, pa.string()), pa.array(right, pa.string()))
    assert found.to_pylist() == hash_columns(left, right).to_pylist()


def test_hash_rows_writes_integers_in_decimal(hash_columns):
    found = hashing.hash_rows(pa.array([1, None], pa.int64()), pa.array(["x", "y"]))
    assert found.to_pylist() == hash_columns([1, None], ["x", "y"]).to_pylist()


def test_slices_are_hashed_as_they_are():
    keys = pa.array([f"http://h/{i}" for i in range(5000)])
    assert hashing.key_ids(keys.slice(4000, 10)).equals(one_by_one(keys.slice(4000, 10).to_pylist()))


@given(st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=8))
def test_seen_remembers_what_came_before(batches):
    seen, known = hashing.Seen(), set()
    for batch in batches:
        new = []
        for value in batch:
            new.append(value not in known)
            known.add(value)
        assert seen.add(np.array(batch, dtype=np.int64)).tolist() == new


def test_seen_keeps_no_more_than_it_may():
    seen = hashing.Seen(remembered=10)
    assert seen.add(np.arange(8)).all()
    assert seen.add(np.arange(8, 16)).all()
    assert seen.add(np.arange(16)).sum() == 6  # ten are remembered, the others look new again
