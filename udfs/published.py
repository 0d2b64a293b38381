"""Neutralise captions exactly as in the released code of GenSynth.

There a text is lower-cased, then for each of 44 words in turn: the word is replaced (or deleted), white space is squeezed
to one space, one space before ``? . ! , "`` is dropped where white space or the end follows, and the ends are stripped.
Because clean-up runs 44 times over, in between, its order matters for texts such as ``wives . .``. Here passes whose word
does not occur are only run until nothing changes any more, which gives the same text.

Source: Smith et al., Balancing the Picture (2023), github.com/oxai/debias-gensynth, measure_bias.py.
"""

from __future__ import annotations

import re
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.udfs import rewriting, wordlists
from counterbalance.udfs.rows import Rows, apply
from counterbalance.udfs.tokens import WORDS, cut
from counterbalance.udfs.word_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SPACE: Final = re.compile(r"\s+")
_BEFORE_MARK: Final = re.compile(r' ([?.!,"](?: |$))')  # all white space is one space by then
_BLANK: Final = r"[\t-\r\x1c-\x1f ]"
_UNCLEAN: Final = rf'{_BLANK}{_BLANK}|[\t-\r\x1c-\x1f]|{_BLANK}[?.!,"]|^{_BLANK}|{_BLANK}$'


def neutralized(text: pa.Array | pa.ChunkedArray, one: Callable[[str], str], words: frozenset[str]) -> pa.Array:
    """Return ``one`` of every text; only lower-casing where it would do no more.

    Args:
        text: Texts; NULL gives NULL.
        one: ``replacer()``, ``deleter()`` or ``masker()``.
        words: The 44 words.
    """

    def call(rows: Rows) -> pa.Array:
        chosen = rewriting.holding(cut(rows, WORDS).exact(WORDS), words)
        chosen |= pc.match_substring_regex(rows.text, _UNCLEAN).to_numpy(zero_copy_only=False)
        chosen[rows.non_ascii()] = True
        return rewriting.replaced(rows, pc.ascii_lower(rows.text), chosen, one)

    return apply(text, call, pa.string())


@cache
def words() -> dict[str, str]:
    """Return the 44 words in their order, with their neutral word."""
    rows = wordlists.wordlist("gender_gensynth").to_pylist()
    return {row["term"]: row["neutral"] for row in rows}


@cache
def replacer() -> Callable[[str], str]:
    """Return what replaces words as for its CLIP run: ``"A man walks ."`` gives ``"a person walks."``."""
    neutral = words()
    either = pattern(neutral, fold=False)
    unclean = re.compile(r'\s\s|[^\S ]|\s[?.!,"]|^\s|\s$')
    passes = _in_turn(neutral)

    def one(text: str) -> str:
        text = text.lower()
        if unclean.search(text) is None:  # cleaning changes nothing before, between or after
            return either.sub(lambda match: neutral[match[0]], text)
        return passes(text)

    return one


@cache
def deleter() -> Callable[[str], str]:
    """Return what deletes words as for its TF-IDF run: ``"A man walks ."`` gives ``"a walks."``."""
    passes = _in_turn(dict.fromkeys(words(), ""))
    return lambda text: passes(text.lower())


@cache
def masker() -> Callable[[str], str]:
    """Return what masks words as for its BERT run, without cleaning: ``"A man walks ."`` gives ``"a [MASK] walks ."``."""
    either = re.compile(rf"\b(?:{'|'.join(words())})\b", re.IGNORECASE)
    return lambda text: either.sub("[MASK]", text.lower())


def _in_turn(replacements: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that makes one pass for each word, in order."""
    either = pattern(replacements, fold=False)
    turns = {w: (i, re.compile(rf"\b{w}\b"), new) for i, (w, new) in enumerate(replacements.items())}

    def one(text: str) -> str:
        done = 0
        for turn, word, new in sorted((turns[w] for w in set(either.findall(text))), key=itemgetter(0)):
            text = _cleaned(text, turn - done)
            text = _cleaned(word.sub(new, text), 1)
            done = turn + 1
        return _cleaned(text, len(turns) - done)

    return one


def _cleaned(text: str, times: int) -> str:
    """Return the text after so many passes of cleaning."""
    for _ in range(times):
        before = text
        text = _SPACE.sub(" ", text) if text[:1].isspace() else " ".join(text.split())
        if _BEFORE_MARK.search(text):
            text = _BEFORE_MARK.sub(r"\1", text)
        text = text.strip()
        if text == before:
            break
    return text
