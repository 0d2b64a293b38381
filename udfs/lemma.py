r"""Find lemmas of English words, computed once for each distinct word.

A text is cut into words by ``\w+`` after lower-casing (and Unicode NFC), function words (``stop_words``) are left out,
the rest goes through simplemma's English lemmatiser, and lemmas that are function words are left out, too. Lemmas are
lower-case: simplemma makes ``german`` to ``German``.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from counterbalance.udfs import wordlists
from counterbalance.udfs.tokens import WORDS, Tokens, cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from counterbalance.udfs.rows import Rows

_KEPT: Final = 1 << 18
"""Chunks whose lemmas are remembered."""


@cache
def stop_words() -> frozenset[str]:
    """Return the words that lemmatising leaves out."""
    return frozenset(wordlists.terms("stop_words"))


@cache
def _lemmatize() -> Callable[[str, str], str]:
    """Return the lemmatiser, without a cache of its own; it loads its dictionary (0.15 s, 30 MB) at the first word."""
    from simplemma import Lemmatizer

    lemmatize: Callable[[str, str], str] = Lemmatizer(cache_max_size=0).lemmatize
    return lemmatize


@lru_cache(_KEPT)
def _of_chunk(chunk: str) -> tuple[str, ...]:
    stop, lemmatize = stop_words(), _lemmatize()
    tokens = (chunk,) if chunk.isascii() else WORDS.tokens(unicodedata.normalize("NFC", chunk))
    lemmas = (lemmatize(token, "en").lower() for token in tokens if token not in stop)
    return tuple(lemma for lemma in lemmas if lemma not in stop)


def inflected(lemmas: Iterable[str]) -> frozenset[str]:
    """Return all ASCII words that the lemmatiser can make to these lemmas, and perhaps some more.

    Those of its dictionary, the lemma itself, and what its rules for other words cut off. A word with ``_`` is not among them.

    Example:
        >>> sorted(inflected(["steal"]))
        ['steaies', 'steal', 'steald', 'stealing', 'steals', 'stole', 'stolen']
    """
    return _inflected(frozenset(lemmas))


@lru_cache(32)  # of a list of words each; the whole dictionary is walked through
def _inflected(known: frozenset[str]) -> frozenset[str]:
    _lemmatize()
    found = {word.lower() for word, lemma in _dictionary().items() if lemma.lower() in known}
    by_rule = {word for lemma in known for word in (lemma, lemma + "s", lemma + "d", lemma[:-1] + "ies")}
    return frozenset(word for word in found | by_rule if word.isascii() and word.isalnum())


def _dictionary() -> Mapping[str, str]:
    from simplemma.strategies.dictionaries.dictionary_factory import DEFAULT_DICTIONARY_FACTORY

    return DEFAULT_DICTIONARY_FACTORY.get_dictionary("en")


def lemmatized(rows: Rows) -> tuple[Tokens, list[tuple[str, ...]]]:
    """Return the chunks of a slice, and for each distinct one its lemmas (mostly one or none)."""
    tokens = cut(rows, WORDS)
    return tokens, list(map(_of_chunk, tokens.chunks))


def lemmas_of(text: str) -> list[str]:
    """Return the lemmas of a short text, in order.

    Example:
        >>> lemmas_of("The men were LOOTING shops")
        ['man', 'loot', 'shop']
    """
    words = WORDS.split(unicodedata.normalize("NFC", text))
    return [lemma for lemmas in map(_of_chunk, words) for lemma in lemmas]
