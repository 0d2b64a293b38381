"""Find terms in texts, by lemmas.

A term of one word occurs where its lemma does. A term of several words occurs where all its lemmas do, in any order. A
hyphenated term (``cyber-attack``) occurs in its joined form (``cyberattack``), too; its hyphenated and spaced forms are
the same to a cutter that splits at hyphens. Terms pass through the same lemmatiser as texts, function words left out:
``looting`` occurs in "a looted shop", and ``break-in`` in every text with ``break``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import RequestError
from counterbalance.udfs import word_pattern
from counterbalance.udfs.lemma import inflected, lemmas_of, lemmatized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.udfs.rows import Rows

    Integers = np.ndarray[Any, np.dtype[np.int64]]

_HYPHEN: Final = re.compile("(?<=\\w)[-\u00ad\u2010\u2011](?=\\w)")


def forms_of(term: str) -> list[frozenset[str]]:
    """Return what stands for a term: sets of lemmas, all of which a text must have.

    Example:
        >>> [sorted(form) for form in forms_of("money-laundering")]
        [['launder', 'money'], ['moneylaundering']]
    """
    return [frozenset(lemmas_of(form)) for form in _forms(term)]


class Matcher:
    """Finds labels in texts by the terms that stand for them.

    Args:
        terms: For each label, in the order wanted in results, its terms.

    Raises:
        RequestError: A term has no word, or function words only (``E3050``).
    """

    def __init__(self, terms: Sequence[Sequence[str]]) -> None:
        self._ids: dict[str, int] = {}
        forms: list[tuple[int, frozenset[int]]] = []
        for label, own in enumerate(terms):
            known = {self._form(form) for term in own for form in _forms(term)}
            forms += [(label, form) for form in sorted(known, key=sorted)]
        self._lemmas, self._forms = list(self._ids), {form for _, form in forms}
        self._labels = np.array([label for label, _ in forms], np.int64)
        self._sizes = np.array([len(form) for _, form in forms], np.int64)
        pairs = sorted((lemma, place) for place, (_, form) in enumerate(forms) for lemma in form)
        self._places = np.array([place for _, place in pairs], np.int64)
        self._starts = np.searchsorted(np.array([lemma for lemma, _ in pairs], np.int64), np.arange(len(self._ids) + 1))

    def _form(self, term: str) -> frozenset[int]:
        lemmas = lemmas_of(term)
        if not lemmas:
            raise RequestError(
                f"the term {term!r} can never occur: it has no word, or only words that are left out",
                code="E3050",
                hint="lists.stop_words has the words that are left out",
            )
        return frozenset(self._ids.setdefault(lemma, len(self._ids)) for lemma in lemmas)

    def find(self, rows: Rows) -> tuple[Integers, Integers]:
        """Return row numbers and labels of all finds, by row, then label; each pair once."""
        if not len(self._labels):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return self._whole(*self._found(rows))

    def find_in(self, lists: pa.Array) -> tuple[Integers, Integers]:
        """Return the same for texts of which the lemmas are given, as lists of strings."""
        if not len(self._labels):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        ids = pc.index_in(pc.list_flatten(lists), value_set=pa.array(list(self._ids), pa.string()))
        known = np.asarray(ids.is_valid())
        at = pc.list_parent_indices(lists).to_numpy()[known].astype(np.int64)
        lemmas = ids.drop_null().to_numpy().astype(np.int64)
        at, lemmas, _ = _pairs(at, lemmas)
        return self._whole(at, lemmas)

    def pattern(self) -> str:
        """Return an RE2 pattern that every text with a find matches: a form of a lemma, or what is not cut at ASCII letters."""
        longest = {max((self._lemmas[number] for number in form), key=len) for form in self._forms}
        return rf"{word_pattern.pattern(inflected(longest), fold=False).pattern}|_|[^\x00-\x7F]"

    def _whole(self, at: Integers, lemmas: Integers) -> tuple[Integers, Integers]:
        """Return rows and labels from distinct pairs of a row and a lemma."""
        repeats = self._starts[lemmas + 1] - self._starts[lemmas]
        places = self._places[_ranges(self._starts[lemmas], repeats)]
        at, places, counts = _pairs(np.repeat(at, repeats), places)
        whole = counts == self._sizes[places]
        at, labels, _ = _pairs(at[whole], self._labels[places[whole]])
        return at, labels

    def _found(self, rows: Rows) -> tuple[Integers, Integers]:
        """Return row numbers and lemma ids of the lemmas that any term has; each pair once."""
        tokens, lemmas = lemmatized(rows)
        ids = self._ids
        known = [(i, ids[lemma]) for i, own in enumerate(lemmas) for lemma in own if lemma in ids]
        chunks = np.array([i for i, _ in known], np.int64)
        values = np.array([lemma for _, lemma in known], np.int64)
        counts = np.bincount(chunks, minlength=len(lemmas)) if len(lemmas) else np.zeros(0, np.int64)
        starts = np.cumsum(counts) - counts
        places = np.flatnonzero(counts[tokens.codes])
        codes = tokens.codes[places]
        found = values[_ranges(starts[codes], counts[codes])]
        at = np.repeat(tokens.rows_of(places), counts[codes])
        at, found, _ = _pairs(at, found)
        return at, found


def _forms(term: str) -> list[str]:
    """Return the term, and with its hyphens left out."""
    joined = _HYPHEN.sub("", term)
    return [term] if joined == term else [term, joined]


def _pairs(rows: Integers, values: Integers) -> tuple[Integers, Integers, Integers]:
    """Return distinct pairs of a row and a value, by row, then value, and how often each occurs."""
    base = int(values.max()) + 1 if len(values) else 1
    keys, counts = np.unique(rows * base + values, return_counts=True)
    return keys // base, keys % base, np.asarray(counts, np.int64)


def _ranges(starts: Integers, lengths: Integers) -> Integers:
    """Return ``starts[0], starts[0] + 1, …`` for each start as many as its length, one after the other."""
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.repeat(starts - before, lengths) + np.arange(int(lengths.sum())), np.int64)


@lru_cache(maxsize=64)
def matcher(terms: tuple[str, ...]) -> Matcher:
    """Return the matcher of terms that stand for themselves."""
    return Matcher([(term,) for term in terms])
