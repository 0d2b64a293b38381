"""Codes that are looked up by a word's bytes are those of that word, whatever else has been looked up before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.udfs import vader_words
from counterbalance.udfs.vader_words import LONGEST, ShortWords


def code(word):
    """A number that no other word of these tests has."""
    return int.from_bytes(word.encode()[-3:], "little") * 64 + min(len(word.encode()), 63)


def work_out(words):
    return np.array([code(word) for word in words], np.int32)


def check(table, words, kind=None):
    found = table.codes(pa.array(words, kind or pa.string()), work_out)
    assert found.dtype == np.int32
    assert found.tolist() == [code(word) for word in words]


WORDS = st.lists(st.text(st.sampled_from("ab\0é😀"), max_size=LONGEST + 2), max_size=30)


@given(st.lists(WORDS, max_size=6), st.sampled_from([pa.string(), pa.large_string()]))
def test_any_words(batches, kind):
    table = ShortWords()
    for words in batches:
        check(table, words, kind)
        check(table, words[::-1], kind)


def test_ends_and_lengths():
    """Words that differ by a NUL at their end, by one byte behind others, or are too long to be kept."""
    words = ["", "\0", "a", "a\0", "a\0\0"]
    words += [letter * size for size in range(1, 20) for letter in "ab"] + ["x" * 16 + "y", "x" * 16, "x" * 15 + "\0"]
    table = ShortWords()
    check(table, words)
    check(table, words[::-1])


def test_slices():
    table, words = ShortWords(), pa.array([f"word{number}" for number in range(100)])
    for start in (0, 3, 99, 100):
        assert table.codes(words.slice(start, 20), work_out).tolist() == [
            code(w) for w in words.slice(start, 20).to_pylist()
        ]


def test_many_words_share_places(monkeypatch):
    """A full table forgets, and is right all the same."""
    monkeypatch.setattr(vader_words, "_FIRST_BITS", 3)
    monkeypatch.setattr(vader_words, "_MOST_BITS", 5)
    table, draw = ShortWords(), np.random.default_rng(3)
    for _ in range(50):
        check(table, [f"w{number}" for number in draw.integers(0, 300, 40)])
    assert len(table._rows) == 1 << 5


def test_it_grows_and_keeps():
    table = ShortWords()
    words = [f"w{number}" for number in range(20_000)]
    check(table, words)
    assert table._bits > vader_words._FIRST_BITS
    asked = []

    def counted(missing):
        asked.extend(missing)
        return work_out(missing)

    assert table.codes(pa.array(words), counted).tolist() == [code(word) for word in words]
    assert len(asked) < len(words) / 2  # the others are where they were put


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_no_words(kind):
    assert ShortWords().codes(pa.array([], kind), work_out).tolist() == []
    assert ShortWords().codes(pa.array(["", ""], kind), work_out).tolist() == [code(""), code("")]


def test_threads():
    table = ShortWords()

    def run(seed):
        draw = np.random.default_rng(seed)
        for _ in range(60):
            check(table, [f"t{number}" for number in draw.zipf(1.2, 300) % 9_000])
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(4)))
