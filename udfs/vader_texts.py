"""Make VADER's four scores from whitespace tokens, a block of texts at a time.

A text without a scoring word is neutral: that is decided for all texts with one look-up a token. The others, a minority
in captions, are gathered and scored together: word by word, then text by text, in
:mod:`counterbalance.udfs.vader_rules`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.udfs.vader_rules import Scores, Valences, Window, contrast, totals, valences
from counterbalance.udfs.vader_words import (
    DROPPED,
    EXCLAMATIONS,
    QUESTIONS,
    REWRITE,
    SCORES,
    SPECIAL,
    SPECIALS,
    UPPER,
    Rules,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]
    Codes = npt.NDArray[np.int32]
    Numbers = npt.NDArray[np.float64]


class Tokens(NamedTuple):
    """Texts as tokens.

    Args:
        starts: Where each text's tokens start and, last, where they all end; int64 (texts + 1).
        codes: What the rules ask about each token; none of them is to be rewritten.
        ids: Which of the distinct tokens each one is; ``None`` where they were not told apart.
        words: The distinct tokens, for NLTK's rules; empty otherwise.
    """

    starts: Integers
    codes: Codes
    ids: npt.NDArray[np.integer[Any]] | None
    words: list[str]


class _Marked(NamedTuple):
    """The texts that hold a scoring word, with their words only.

    Args:
        starts: Where each one's words start, and the end.
        row: Of each word, which of these texts.
        codes: Of each word.
        ids: Of each word, where they are known.
        emphasis: What the text's exclamation and question marks add.
    """

    starts: Integers
    row: Integers
    codes: Codes
    ids: npt.NDArray[np.integer[Any]] | None
    emphasis: Numbers


def tokens_of(rules: Rules, lists: pa.Array) -> Tokens:
    """Return the tokens of an Arrow list array of strings or of dictionary-encoded strings; NULL lists and tokens count as empty."""
    starts, flat = starts_of(lists), lists.flatten()
    if rules.nltk or pa.types.is_dictionary(flat.type):
        ids, distinct = encoded(flat)
        words = distinct.to_pylist() if rules.nltk else []
        tokens = Tokens(starts, (rules.codes(words) if rules.nltk else rules.codes_of(distinct))[ids], ids, words)
    else:
        distinct = flat.fill_null("") if flat.null_count else flat
        tokens = Tokens(starts, rules.codes_of(distinct), None, [])
    places = np.flatnonzero(tokens.codes & REWRITE)
    if not len(places):
        return tokens
    written = distinct.take(pa.array(places if tokens.ids is None else tokens.ids[places])).to_pylist()
    return _rewritten(rules, tokens, places, written)


def starts_of(lists: pa.Array) -> Integers:
    """Return where each list's items start and, last, where they all end."""
    starts = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum(pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False), out=starts[1:])
    return starts


def encoded(flat: pa.Array) -> tuple[npt.NDArray[np.integer[Any]], pa.Array]:
    """Return the place of each string among the distinct ones, and these, of which none is NULL; NULL counts as empty."""
    given = pa.types.is_dictionary(flat.type)
    if not given:
        flat = flat.dictionary_encode()
    words, indices = flat.dictionary, flat.indices
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(len(words))
        words = pa.concat_arrays([words, pa.array([""], words.type)])
    ids = indices.to_numpy()
    if given:  # it may hold many words that are not used here
        used = np.zeros(len(words), dtype=bool)
        used[ids] = True
        ids = (np.cumsum(used) - 1)[ids]
        words = words.filter(pa.array(used)).fill_null("")
    return ids, words


def score(rules: Rules, lists: pa.Array, *, shares: bool) -> Scores:
    """Return the scores of each text.

    Args:
        rules: The rule set.
        lists: The texts as lists of tokens, as for ``tokens_of``.
        shares: Whether the negative, neutral and positive shares are wanted as well; zeros otherwise.

    Returns:
        Arrays of one float64 a text.
    """
    tokens = tokens_of(rules, lists)
    scores = _neutral(tokens, shares=shares)
    scoring = np.flatnonzero(tokens.codes & SCORES)
    rows = np.searchsorted(tokens.starts, scoring, side="right") - 1
    rows = rows[np.diff(rows, prepend=-1) != 0]
    if len(rows):
        part = _marked(rules, tokens.words, _gather(tokens, rows), shares=shares)
        for all_rows, some in zip(scores, part, strict=True):
            all_rows[rows] = some
    return scores


def _rewritten(rules: Rules, tokens: Tokens, places: Integers, written: list[str]) -> Tokens:
    """Return the same texts with the tokens at some places, which hold emoji or white space, replaced by their words."""
    spelled = {token: rules.rewritten(token) for token in set(written)}
    parts = [word for token in written for word in spelled[token]]
    sizes = np.ones(len(tokens.codes), dtype=np.int64)
    sizes[places] = [len(spelled[token]) for token in written]
    ends = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    new = np.zeros(len(sizes), dtype=bool)
    new[places] = True
    here = np.repeat(new, sizes)
    codes, ids = np.repeat(tokens.codes, sizes), None
    codes[here] = rules.codes(parts)
    if tokens.ids is not None:
        ids = np.repeat(tokens.ids.astype(np.int64), sizes)
        ids[here] = np.arange(len(tokens.words), len(tokens.words) + len(parts))
    return Tokens(ends[tokens.starts], codes, ids, [*tokens.words, *parts])


def _neutral(tokens: Tokens, *, shares: bool) -> Scores:
    """Return the scores of texts without a scoring word: all neutral, or nothing at all for a text without words."""
    texts = len(tokens.starts) - 1
    neutral = np.zeros(texts)
    if shares:
        words = np.zeros(len(tokens.codes) + 1, dtype=np.int64)
        np.cumsum(tokens.codes & DROPPED == 0, out=words[1:])
        neutral[words[tokens.starts[1:]] > words[tokens.starts[:-1]]] = 1.0
    return Scores(np.zeros(texts), neutral, np.zeros(texts), np.zeros(texts))


def _gather(tokens: Tokens, rows: Integers) -> _Marked:
    """Return the given texts (each with a token at least), without the tokens that are not words."""
    lengths = tokens.starts[rows + 1] - tokens.starts[rows]
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    row = np.repeat(np.arange(len(rows)), lengths)
    places = np.arange(starts[-1]) + np.repeat(tokens.starts[rows] - starts[:-1], lengths)
    codes, ids = tokens.codes[places], None if tokens.ids is None else tokens.ids[places]
    emphasis = _emphasis(codes, starts)
    words = codes & DROPPED == 0
    if not words.all():
        row, codes, ids = row[words], codes[words], None if ids is None else ids[words]
        np.cumsum(np.bincount(row, minlength=len(rows)), out=starts[1:])
    return _Marked(starts, row, codes, ids, emphasis)


def _emphasis(codes: Codes, starts: Integers) -> Numbers:
    """Return what exclamation marks (up to four) and question marks (from two on) add to a text's sum."""
    marks = codes >> EXCLAMATIONS
    if not (marks & 63).any():
        return np.zeros(len(starts) - 1)
    exclamations = np.minimum(np.add.reduceat(marks & 7, starts[:-1], dtype=np.int64), 4)
    questions = np.add.reduceat(codes >> QUESTIONS & 7, starts[:-1], dtype=np.int64)
    return exclamations * 0.292 + np.where(questions > 3, 0.96, np.where(questions > 1, questions * 0.18, 0.0))


def _marked(rules: Rules, words: list[str], texts: _Marked, *, shares: bool) -> Scores:
    """Return the scores of texts with scoring words."""
    places = np.flatnonzero(texts.codes & SCORES)
    row = texts.row[places]
    found = valences(rules, _window(texts, places))
    if texts.ids is not None and rules.nltk:
        _repeats(rules, words, texts.ids[places], row, found)
    buts = np.flatnonzero((texts.codes >> SPECIAL) & (SPECIALS - 1) == rules.special["but"])
    if len(buts):
        first_but = np.full(len(texts.starts) - 1, np.iinfo(np.int64).max)
        np.minimum.at(first_but, texts.row[buts], buts)
        contrast(rules, found, row, places, first_but)
    return totals(row, found, np.diff(texts.starts), texts.emphasis, shares=shares)


def _window(texts: _Marked, places: Integers) -> Window:
    """Return the words around each scoring word; code 0 beyond the ends of its text."""
    row = texts.row[places]
    place, left = places - texts.starts[row], texts.starts[row + 1] - places - 1
    padded = np.concatenate([np.zeros(3, np.int32), texts.codes, np.zeros(2, np.int32)])
    one, two, three = (np.where(place >= back, padded[places + 3 - back], 0) for back in (1, 2, 3))
    next_one, next_two = (np.where(left >= on, padded[places + 3 + on], 0) for on in (1, 2))
    capitals = np.add.reduceat(texts.codes & UPPER != 0, texts.starts[:-1], dtype=np.int64)
    mixed = (capitals > 0) & (capitals < np.diff(texts.starts))
    return Window(place, padded[places + 3], (one, two, three), (next_one, next_two), mixed[row])


def _repeats(rules: Rules, words: list[str], ids: npt.NDArray[np.integer[Any]], row: Integers, found: Valences) -> None:
    """Give every repeat of a word, as NLTK does, the valence of its first occurrence in the text; in place."""
    first: dict[tuple[int, str], int] = {}
    several = np.flatnonzero(np.bincount(row)[row] > 1)
    for at, text, token in zip(several.tolist(), row[several].tolist(), ids[several].tolist(), strict=True):
        source = first.setdefault((text, rules.bare(words[token])), at)
        if source != at:
            found.value[at], found.whole[at] = found.value[source], found.whole[source]
