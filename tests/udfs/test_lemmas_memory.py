"""The memory of lemmas is bounded, and may be shared by threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from counterbalance.udfs import lemma
from counterbalance.udfs.words import lemmas


def test_bounded():
    assert lemma._of_chunk.cache_info().maxsize == lemma._KEPT
    assert lemma.lemmas_of("men looting") == ["man", "loot"]
    hits = lemma._of_chunk.cache_info().hits
    assert lemma.lemmas_of("Looting men") == ["loot", "man"]
    assert lemma._of_chunk.cache_info().hits == hits + 2


def test_lemmas_in_threads():
    texts = pa.array([f"men {i} were looting shops in caf\u00e9s number{i % 97}" for i in range(3_000)])
    alone = lemmas(texts)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda i: lemmas(texts.slice(i * 250, 250)), range(12)))
    assert pa.concat_arrays(results).equals(alone)
