r"""Cut a batch into words: distinct ones, and for each word of each row which one it is.

Cutting is done on bytes: a *chunk* is a longest run of word bytes, where every byte above 0x7f counts as one, so that
chunks are whole characters. A chunk of ASCII only is one token; any other chunk is cut exactly, by Python's ``re`` or
``str.split``, once for each distinct chunk. Upper-case ASCII is folded first, the rest by ``str.lower`` of the chunk.
That equals cutting ``text.lower()`` row by row, but for a Greek capital sigma next to ``'``, ``.`` or ``:``, whose lower
case depends on what stands behind them.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.udfs.rows import Rows

_WORD: Final = re.compile(r"\w+")
_WORD_BYTES: Final = (string.ascii_letters + string.digits + "_").encode()
_SPACE_BYTES: Final = bytes(range(0x09, 0x0E)) + bytes(range(0x1C, 0x21))
_FOLD: Final = np.arange(256, dtype=np.uint8)
_FOLD[ord("A") : ord("Z") + 1] += 32


def _table(listed: bytes, *, inside: bool) -> np.ndarray[Any, np.dtype[np.bool_]]:
    table = np.full(256, not inside)
    table[list(listed)] = inside
    table[0x80:] = True
    return table


@dataclass(frozen=True, slots=True)
class Cutter:
    """How text becomes tokens.

    Args:
        inside: For each byte, whether it belongs to a chunk.
        split: Tokens, in lower case, of a chunk that is not ASCII.
    """

    inside: np.ndarray[Any, np.dtype[np.bool_]]
    split: Callable[[str], list[str]]

    def tokens(self, chunk: str) -> tuple[str, ...]:
        """Return the tokens of a chunk.

        Example:
            >>> WORDS.tokens("caf\u00e9\u2019s"), SPACES.tokens("man,")
            (('café', 's'), ('man,',))
        """
        return (chunk,) if chunk.isascii() else tuple(self.split(chunk))


WORDS: Final = Cutter(_table(_WORD_BYTES, inside=True), lambda chunk: _WORD.findall(chunk.lower()))
r"""Tokens by ``\w+``: letters, digits and ``_``."""

SPACES: Final = Cutter(_table(_SPACE_BYTES, inside=False), lambda chunk: chunk.lower().split())
"""Tokens by white space, as ``str.split()`` cuts; punctuation stays attached."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Chunks of a slice.

    Args:
        chunks: The distinct chunks, in order of appearance, ASCII letters in lower case.
        codes: For each chunk of the text its place in ``chunks``; int32.
        rows: For each row where its chunks start in ``codes``, and where the last one ends; int64, rows + 1.
    """

    chunks: list[str]
    codes: np.ndarray[Any, np.dtype[np.int32]]
    rows: np.ndarray[Any, np.dtype[np.int64]]

    def row_sums(self, weights: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return for each row the sum of its chunks' weights.

        Args:
            weights: One for each distinct chunk.
        """
        sums = np.zeros(len(self.codes) + 1, np.int64)
        np.cumsum(weights[self.codes], out=sums[1:])
        return np.asarray(np.diff(sums[self.rows]), np.int64)

    def exact(self, cutter: Cutter) -> Tokens:
        """Return the same with every chunk that is not ASCII in its tokens.

        Example:
            >>> from counterbalance.udfs.rows import slices
            >>> cut(next(slices(pa.array(["the man\u2019s hat"]))), WORDS).exact(WORDS).chunks
            ['the', 'man', 's', 'hat']
        """
        if all(map(str.isascii, self.chunks)):
            return self
        own = [cutter.tokens(chunk) for chunk in self.chunks]
        places: dict[str, int] = {}
        flat = np.array([places.setdefault(token, len(places)) for tokens in own for token in tokens], np.int32)
        counts = np.fromiter(map(len, own), np.int64, len(own))
        repeats = counts[self.codes]
        ends = np.concatenate([[0], np.cumsum(repeats)])
        starts = np.cumsum(counts) - counts
        at = np.repeat(starts[self.codes] - ends[:-1], repeats) + np.arange(ends[-1])
        return Tokens(list(places), flat[at], ends[self.rows])

    def rows_of(self, places: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return row numbers of places in ``codes``."""
        return np.asarray(np.searchsorted(self.rows, places, side="right") - 1, np.int64)


def cut(rows: Rows, cutter: Cutter) -> Tokens:
    """Cut rows into chunks.

    Example:
        >>> from counterbalance.udfs.rows import slices
        >>> tokens = cut(next(slices(pa.array(["A man, a plan", "", "a MAN"]))), WORDS)
        >>> tokens.chunks, tokens.codes.tolist(), tokens.rows.tolist()
        (['a', 'man', 'plan'], [0, 1, 0, 2, 0, 1], [0, 4, 4, 6])
    """
    inside = cutter.inside[rows.data]
    starts = _edges(inside, rows.offsets, last=False)
    ends = _edges(inside, rows.offsets, last=True) + 1
    offsets = np.zeros(len(starts) + 1, np.int32)
    np.cumsum(ends - starts, out=offsets[1:])
    folded = _FOLD[rows.data[inside]]
    words = pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(folded)).dictionary_encode()
    return Tokens(
        words.dictionary.to_pylist(),
        words.indices.to_numpy(),
        np.asarray(np.searchsorted(starts, rows.offsets), np.int64),
    )


def _edges(
    inside: np.ndarray[Any, np.dtype[np.bool_]], offsets: np.ndarray[Any, np.dtype[np.int64]], *, last: bool
) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return the places of first (or last) bytes of chunks; a chunk ends with its row."""
    edge = inside.copy()
    filled = offsets[:-1] < offsets[1:]
    if last:
        edge[:-1] &= ~inside[1:]
        ends = offsets[1:][filled] - 1
        edge[ends] = inside[ends]
    else:
        edge[1:] &= ~inside[:-1]
        begins = offsets[:-1][filled]
        edge[begins] = inside[begins]
    return np.flatnonzero(edge)
