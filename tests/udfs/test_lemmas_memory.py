"""The memory of lemmas is bounded, keeps what is used, and may be shared by threads."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from counterbalance.udfs.memo import Memo
from counterbalance.udfs.words import lemmas


def test_bounded():
    memo = Memo(str.upper, 100)
    for start in range(0, 5_000, 50):
        keys = [f"k{i}" for i in range(start, start + 70)]
        assert memo.many(keys) == [key.upper() for key in keys]
        assert len(memo) <= 200


def test_what_is_used_stays():
    calls = []

    def call(key):
        calls.append(key)
        return key + "!"

    memo = Memo(call, 10)
    for i in range(200):
        assert memo.many(["often", f"rare{i}"]) == ["often!", f"rare{i}!"]
    assert calls.count("often") == 1
    assert memo.many(["rare0"]) == ["rare0!"]
    assert calls.count("rare0") == 2


def test_empty_values_are_remembered():
    calls = []
    memo = Memo(lambda key: calls.append(key) or (), 10)
    assert memo.many(["a", "a"]) == [(), ()]
    assert memo.many(["a"]) == [()]
    assert 1 <= len(calls) <= 2


def test_threads_share_a_memo():
    memo = Memo(lambda key: (key, key[::-1]), 50)

    def work(seed):
        draw = random.Random(seed)
        for _ in range(300):
            keys = [f"w{draw.randrange(400)}" for _ in range(20)]
            assert memo.many(keys) == [(key, key[::-1]) for key in keys]
        return len(memo)

    with ThreadPoolExecutor(8) as pool:
        assert all(size <= 100 + 8 for size in pool.map(work, range(8)))


def test_lemmas_in_threads():
    texts = pa.array([f"men {i} were looting shops in caf\u00e9s number{i % 97}" for i in range(3_000)])
    alone = lemmas(texts)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda i: lemmas(texts.slice(i * 250, 250)), range(12)))
    assert pa.concat_arrays(results).equals(alone)
