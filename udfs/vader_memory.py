"""Codes of short words, looked up for a whole column of strings at once, without making Python strings of them.

A word of at most 16 bytes is two integers and its length, so that comparing these compares the word. Each has one place in a table, by a hash
of them; a word that comes to a taken place takes it over, and the other is worked out again when it comes back.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Codes = npt.NDArray[np.int32]
    Words = npt.NDArray[np.uint64]

LONGEST: Final = 16
"""Bytes of the longest word that is remembered."""
_FIRST_BITS: Final = 13
_MOST_BITS: Final = 19
"""The table has 2^13 places at first, 0.2 MB, and grows to 2^19, 12.6 MB."""
_SIZES: Final = range(LONGEST + 2)
_LOW: Final = np.array([(1 << 8 * min(size, 8)) - 1 for size in _SIZES], np.uint64)
_HIGH: Final = np.array([(1 << 8 * min(max(size - 8, 0), 8)) - 1 for size in _SIZES], np.uint64)
_ODD: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_CODE: Final = np.uint64((1 << 32) - 1)
_SHIFT: Final = np.uint64(32)


class _Keys(NamedTuple):
    """First and second eight bytes of each word, one more than its size (18 for a longer one), and their hash."""

    low: Words
    high: Words
    size: Words
    hash: Words


class ShortWords:
    """A table of codes, safe to use from several threads.

    Example:
        >>> table = ShortWords()
        >>> sizes = lambda words: np.array([len(word) for word in words], np.int32)
        >>> table.codes(pa.array(["a", "dog", "a"]), sizes).tolist()
        [1, 3, 1]
        >>> table.codes(pa.array(["dog", "bird"]), lambda words: np.zeros(len(words), np.int32)).tolist()
        [3, 0]
    """

    def __init__(self) -> None:
        self._rows = np.zeros((1 << _FIRST_BITS, 3), np.uint64)
        self._bits, self._kept = _FIRST_BITS, 0
        self._turn = threading.Lock()

    def codes(self, words: pa.Array, work_out: Callable[[list[str]], Codes]) -> Codes:
        """Code of each word.

        Args:
            words: ``string`` or ``large_string`` without NULL, of any length.
            work_out: Codes, not negative, of distinct words that are not remembered.

        Returns:
            int32, one code a word.
        """
        keys = _keys(words)
        with self._turn:
            rows = self._rows.take(_places(keys.hash, self._bits), axis=0)
        known = (rows[:, 0] == keys.low) & (rows[:, 1] == keys.high) & (rows[:, 2] >> _SHIFT == keys.size)
        codes = (rows[:, 2] & _CODE).astype(np.int32)
        missing = np.flatnonzero(~known)
        if len(missing):
            found = (words if len(missing) == len(words) else words.take(pa.array(missing))).dictionary_encode()
            new = work_out(found.dictionary.to_pylist())
            codes[missing] = new[found.indices.to_numpy()]
            self._keep(_keys(found.dictionary), new)
        return codes

    def _keep(self, keys: _Keys, codes: Codes) -> None:
        rows = np.stack([keys.low, keys.high, keys.size << _SHIFT | codes.astype(np.uint64)], axis=1)
        which = keys.size <= LONGEST + 1
        rows = rows[which]
        with self._turn:
            self._kept += len(rows)
            while self._bits < _MOST_BITS and self._kept > 1 << (self._bits - 1):
                self._grow()
            self._rows[_places(keys.hash[which], self._bits)] = rows

    def _grow(self) -> None:
        """Four times the places, and a place there for each word."""
        old = self._rows[self._rows[:, 2] != 0]
        self._bits, self._kept = self._bits + 2, len(old)
        self._rows = np.zeros((1 << self._bits, 3), np.uint64)
        self._rows[_places(_hash(old[:, 0], old[:, 1]), self._bits)] = old


def _keys(words: pa.Array) -> _Keys:
    wide = pa.types.is_large_string(words.type)
    kind, width = (np.int64, 8) if wide else (np.int32, 4)
    _, offsets, data = words.buffers()
    if not len(words) or data is None:
        ends, used = np.zeros(len(words) + 1, np.int64), np.zeros(0, np.uint8)
    else:
        ends = np.frombuffer(offsets, kind, len(words) + 1, words.offset * width).astype(np.int64)
        used = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    padded = np.zeros(len(used) + LONGEST, np.uint8)
    padded[: len(used)] = used
    eight = np.ndarray(len(used) + 9, "<u8", padded, 0, (1,))  # the eight bytes from each byte on
    starts, sizes = ends[:-1] - ends[0], np.minimum(np.diff(ends), LONGEST + 1)
    low, high = eight.take(starts) & _LOW.take(sizes), eight.take(starts + 8) & _HIGH.take(sizes)
    return _Keys(low, high, (sizes + 1).astype(np.uint64), _hash(low, high))


def _hash(low: Words, high: Words) -> Words:
    mixed = low * _ODD[0] ^ high * _ODD[1]
    mixed ^= mixed >> np.uint64(29)
    mixed *= _ODD[1]
    return mixed


def _places(hashed: Words, bits: int) -> npt.NDArray[np.intp]:
    return (hashed >> np.uint64(64 - bits)).astype(np.intp)
