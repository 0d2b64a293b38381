"""The index of keys finds what a dictionary finds."""

from __future__ import annotations

import errno
import os

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.errors import StorageError
from counterbalance.engine.write import key_index
from counterbalance.engine.write.key_index import ABSENT, VIRTUAL, KeyIndex

keys = st.integers(-(2**63), 2**63 - 1)


def find(index, wanted):
    return index.find(np.array(wanted, np.int64)).tolist()


@given(
    batches=st.lists(st.sets(keys | st.integers(-20, 20), max_size=30), max_size=12),
    wanted=st.lists(keys | st.integers(-25, 25)),
)
def test_as_a_dictionary(batches, wanted):
    index, expected, fresh = KeyIndex(), {}, 0
    for batch in batches:
        new = [k for k in batch if k not in expected]
        rows = range(fresh, fresh + len(new))
        index.add(np.array(new, np.int64), np.array(rows, np.int64))
        expected.update(zip(new, rows, strict=True))
        fresh += len(new)
        assert len(index) == len(expected)
        assert find(index, wanted) == [expected.get(k, ABSENT) for k in wanted]
        assert find(index, list(expected)) == list(expected.values())


@given(batches=st.lists(st.sets(st.integers(-20, 20), max_size=10), max_size=5), wanted=st.sets(st.integers(-25, 25)))
def test_replaced_as_in_a_dictionary(batches, wanted):
    index, expected = KeyIndex(), {}
    for batch in batches:
        new = [k for k in batch if k not in expected]
        index.add(np.array(new, np.int64), np.array(new, np.int64) + 100)
        expected.update((k, k + 100) for k in new)
    there = [k for k in wanted if k in expected]
    index.replace(np.array(there, np.int64), np.array(there, np.int64) + 500)
    expected.update((k, k + 500) for k in there)
    assert find(index, list(range(-25, 26))) == [expected.get(k, ABSENT) for k in range(-25, 26)]


@pytest.fixture
def files(monkeypatch):
    """Runs of more than five keys lie in files, and are merged three keys at a time."""
    monkeypatch.setattr(key_index, "_IN_MEMORY", 5)
    monkeypatch.setattr(key_index, "_AT_ONCE", 3)


def test_in_files_as_in_memory(files):
    test_as_a_dictionary()
    test_replaced_as_in_a_dictionary()


def test_long_runs_take_no_memory(files):
    index = KeyIndex()
    for number in range(64):
        index.add(np.array([number * 7 % 64]), np.array([number]))
    assert [type(keys.base) for keys, _ in index._runs] == [np.memmap]
    assert find(index, range(64)) == [number * 55 % 64 for number in range(64)]


def test_a_full_disk_is_told(files, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    index = KeyIndex()
    index.add(np.arange(5), np.arange(5))
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StorageError, match="no room for the keys") as caught:
        index.add(np.arange(5, 10), np.arange(5))
    assert caught.value.code == "E6045"
    assert "TMPDIR" in caught.value.hint


def test_runs_stay_few():
    index = KeyIndex()
    for number in range(1000):
        index.add(np.array([number * 7 % 1000]), np.array([number]))
    assert len(index._runs) <= 10
    assert find(index, range(1000)) == [number * 143 % 1000 for number in range(1000)]


def test_extreme_keys():
    index = KeyIndex()
    extreme = [2**63 - 1, -(2**63), 0, -1]
    index.add(np.array(extreme, np.int64), np.array([4, 3, 2, 1]))
    assert find(index, [*extreme, 1, -2]) == [4, 3, 2, 1, ABSENT, ABSENT]


def test_nothing_in_nothing():
    index = KeyIndex()
    assert find(index, [1, 2]) == [ABSENT, ABSENT]
    index.add(np.array([], np.int64), np.array([], np.int64))
    assert len(index) == 0
    assert find(index, []) == []


def test_sixteen_bytes_a_key():
    index = KeyIndex()
    index.add(np.arange(100_000), np.arange(100_000))
    assert sum(k.nbytes + r.nbytes for k, r in index._runs) == 16 * 100_000


def test_rows_of_a_dry_run_are_known():
    index = KeyIndex()
    index.add(np.array([5]), np.array([VIRTUAL]))
    assert find(index, [5, 6]) == [VIRTUAL, ABSENT]


def test_a_table_with_deleted_and_updated_rows(tmp_path):
    """Stable row ids lead to the row wherever it moved."""
    place = str(tmp_path / "t.lance")
    rows = pa.table({"k": pa.array(range(100), pa.int64()), "v": pa.array(["old"] * 100)})
    dataset = lance.write_dataset(rows, place, max_rows_per_file=30, enable_stable_row_ids=True)
    dataset.delete("k >= 10 AND k < 20")
    dataset.update({"v": "'new'"}, where="k % 7 = 0")
    dataset.optimize.compact_files()
    dataset = lance.dataset(place)
    index = KeyIndex()
    index.add_rows(dataset, "k")
    assert len(index) == 90
    wanted = [0, 7, 9, 10, 19, 20, 99, 100]
    found = index.find(np.array(wanted))
    assert [w for w, f in zip(wanted, found, strict=True) if f == ABSENT] == [10, 19, 100]
    there = found[found != ABSENT].tolist()
    taken = dataset._take_rows(there, columns=["k", "v"])
    assert taken["k"].to_pylist() == [0, 7, 9, 20, 99]
    assert taken["v"].to_pylist() == ["new", "new", "old", "old", "old"]
