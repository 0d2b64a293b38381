"""Find countries named in texts, by the terms of ``lists.countries``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.udfs import word_pattern, wordlists
from counterbalance.udfs.matching import Matcher
from counterbalance.udfs.tokens import WORDS, cut

if TYPE_CHECKING:
    from counterbalance.udfs.rows import Rows

    Integers = np.ndarray[Any, np.dtype[np.int64]]

OUTPUTS: Final = ("country", "iso2", "iso3")
MATCHING: Final = ("lemmas", "cased")
_WORD: Final = re.compile(r"\w+")
_NO_PLURAL: Final = ("s", "sh", "ch", "ese", "men")


@cache
def labels(output: str) -> list[str]:
    """Return names, or codes, of the countries in order of their names."""
    rows = wordlists.wordlist("countries").to_pylist()
    by_name = {row["country"]: str(row[output]) for row in rows}
    return [by_name[name] for name in sorted(by_name)]


@cache
def by_lemmas() -> Matcher:
    """Find countries whatever the case, by lemmas, as ``matches()`` does.

    Plurals are added ("Germans"): simplemma has none for lower-case demonyms.
    """
    terms: dict[str, list[str]] = {name: [] for name in labels("country")}
    for row in wordlists.wordlist("countries").to_pylist():
        if row["matching"] != "cased":
            plural = row["class"] != "name" and not row["term"].endswith(_NO_PLURAL)
            terms[row["country"]] += [row["term"], row["term"] + "s"] if plural else [row["term"]]
    return Matcher(list(terms.values()))


def pattern(matching: str) -> str:
    """Return an RE2 pattern that every text matches that names a country."""
    if matching == "lemmas":
        return by_lemmas().pattern()
    return rf"{word_pattern.pattern(filter(str.isascii, _written()), fold=False).pattern}|[^\x00-\x7F]"


@dataclass(frozen=True, slots=True)
class _Term:
    """A term as written, the countries it stands for, and whether an ``s`` may follow."""

    text: str
    countries: tuple[int, ...]
    plural: bool

    def end(self, text: str, start: int) -> int | None:
        """Return where the term ends in ``text``, if it stands at ``start`` as a whole word."""
        if not text.startswith(self.text, start):
            return None
        end = start + len(self.text)
        if self.plural and text.startswith("s", end):
            end += 1
        return None if _WORD.match(text, end) else end


@cache
def _written() -> dict[str, list[_Term]]:
    """Return the terms, longest first, by their first word in lower case."""
    rows = wordlists.wordlist("countries").to_pylist()
    places = {name: i for i, name in enumerate(labels("country"))}
    by_term: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_term.setdefault(row["term"], []).append(row)
    first: dict[str, list[_Term]] = {}
    for text in sorted(by_term, key=len, reverse=True):
        own = by_term[text]
        countries = tuple(sorted({places[row["country"]] for row in own}))
        term = _Term(
            text, countries, plural=all(row["class"] != "name" for row in own) and not text.endswith(_NO_PLURAL)
        )
        word = _WORD.findall(text.lower())[0]
        for start in {word, word + "s" if term.plural and word == text.lower() else word}:
            first.setdefault(start, []).append(term)
    return first


def as_written(rows: Rows) -> tuple[Integers, Integers]:
    """Return row and country numbers of terms that occur as written, by row, then country; each pair once.

    A term is a whole word, or several, with the capitals, spaces and marks it has in the list; an ``s`` may follow an
    adjective or demonym ("Germans"). Of terms that overlap the one that starts first counts, then the longest: "Papua New
    Guinea" is not Guinea.
    """
    tokens, first = cut(rows, WORDS), _written()
    starts = np.array([any(word in first for word in WORDS.tokens(chunk)) for chunk in tokens.chunks], np.bool_)
    wanted = np.unique(tokens.rows_of(np.flatnonzero(starts[tokens.codes])))
    texts = rows.text.take(pa.array(wanted)).to_pylist()
    found = [(row, country) for row, text in zip(wanted.tolist(), texts, strict=True) for country in _in_text(text)]
    table = np.array(found, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _in_text(text: str) -> list[int]:
    """Return the countries of one text, rising."""
    first, found, taken = _written(), set[int](), 0
    for word in _WORD.finditer(text):
        if word.start() < taken:
            continue
        for term in first.get(word[0].lower(), ()):
            end = term.end(text, word.start())
            if end is not None:
                found.update(term.countries)
                taken = end
                break
    return sorted(found)
