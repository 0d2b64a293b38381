"""Tell which gendered words of a text name people: ``named``.

``lists.gender_words`` are the words. In "a man-made lake", "king crab", "a mother giraffe" or "ladies' room" they name nobody,
and in "a dog with his ball" the word is the dog's. ``lists.gender_context`` says what tells so:

* a phrase of a row of words, one of which is gendered;
* an animal right after male, female, mother and the like ("a male and female lion", "mother polar bear"), without somebody
  right behind it ("male horse riders");
* a product or a room after the plural: "men's shoes", "womens watch"; one that is a verb, too, after its possessive ("men wear hats");
* before a pronoun, "a female" without a noun, or "his mother": an animal, and nobody else.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.udfs import wordlists
from counterbalance.udfs.word_pattern import pattern, tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterbalance.udfs.tokens import Tokens

    Booleans = np.ndarray[Any, np.dtype[np.bool_]]

PRONOUNS: Final = frozenset({"he", "she", "him", "her", "his", "hers", "himself", "herself"})
_OF_ANIMALS: Final = (
    "male", "males", "female", "females", "mother", "mothers", "father", "fathers", "mom", "momma", "mama", "papa", "dad",
    "daddy", "mommy", "sister", "brother",
)  # fmt: skip
_KIN: Final = frozenset(
    {"mother", "father", "mom", "moms", "mum", "mums", "momma", "mama", "papa", "dad", "dads", "mommy", "daddy"}
)
_OPEN: Final = PRONOUNS | _KIN | {"male", "males", "female", "females"}
"""Words that may be an animal's own."""
_SPACE: Final = "\\t-\\r\\x1c- "
"""In a set of characters: white space of ASCII, as Python's ``\\s`` has it and RE2's has not."""
_OWNER: Final = re.compile(r"\b(?:his|her|its|their)\s+$", re.IGNORECASE)
_ALONE: Final = re.compile(
    r"\s*(?:$|[^\w\s]|(?:and|or|in|on|at|with|of|to|by|for|from|near|is|are|who|that)\b)", re.IGNORECASE
)
_APART: Final = "[\\s'\u2019-]+"
_YOUNG: Final = frozenset({"baby", "adult", "infant"})
"""People, but right before an animal."""
_PLURALS: Final = ("men", "women", "boys", "girls", "ladies", "gentlemen", "gents")


@cache
def classes() -> dict[str, str]:
    """Return the class of each gendered word."""
    return {row["term"]: row["class"] for row in wordlists.wordlist("gender_words").to_pylist()}


@cache
def context(name: str) -> frozenset[str]:
    """Return the terms of a class of ``lists.gender_context``."""
    rows = wordlists.wordlist("gender_context").to_pylist()
    return frozenset(row["term"] for row in rows if row["class"] == name)


@cache
def _words() -> re.Pattern[str]:
    return pattern(classes())


@cache
def _phrases() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{tree(context('phrase'), fold=False, space=_APART)})\b", re.IGNORECASE)


def _between() -> frozenset[str]:
    return context("modifier") | {"male", "female", "mother", "father"}


@cache
def _animal_after() -> re.Pattern[str]:
    """Return a pattern for words such as mother with an animal behind."""
    between = _either(_between())
    listed = _either(_OF_ANIMALS)
    return re.compile(rf"\b{listed}(?:[\s,/&-]+{between})*[\s-]+{_either(context('animal'))}\b", re.IGNORECASE)


@cache
def _person_behind() -> re.Pattern[str]:
    """Return a pattern for the rider right behind a horse, who is male, not the horse."""
    return re.compile(rf"[\s-]+{_either(context('person'))}\b", re.IGNORECASE)


@cache
def _products() -> re.Pattern[str]:
    plural, product = _either(_PLURALS), context("product")
    between = rf"(?:[\s]+{_either(context('modifier'))})?"
    return re.compile(
        rf"\b{plural}{between}[\s]+{_either(product)}\b"
        rf"|\b{plural}(?:[\s]?[\u2019']s?|s){between}[\s]+{_either(product | context('wear'))}\b"
        rf"|\b(?:mens|womens){between}[\s]+\w+", re.IGNORECASE
    )  # fmt: skip


def _either(words: Iterable[str]) -> str:
    return f"(?:{tree(words, fold=False)})"


@cache
def _living() -> re.Pattern[str]:
    animal, person = _either(context("animal")), _either(context("person"))
    young = rf"(?:{_either(_YOUNG)}[\s-]+(?:{_either(context('modifier'))}[\s-]+)*)?"
    return re.compile(rf"\b(?:{young}(?P<animal>{animal})|{person})\b", re.IGNORECASE)


def named(text: str) -> list[re.Match[str]]:
    """Return the places of the gendered words that name people, in order.

    Example:
        >>> [m[0] for m in named("A man by a man-made lake with his dog")]
        ['man', 'his']
        >>> [m[0] for text in ("a dog with his ball", "a mother and baby giraffe", "a king crab") for m in named(text)]
        []
    """
    places = [*_words().finditer(text)]
    if not places:
        return places
    nobody = sorted(m.span() for found in (_phrases(), _products()) for m in found.finditer(text))
    ends = [0, *accumulate((end for _, end in nobody), max)]
    kept = [m for m in places if ends[bisect_right(nobody, (m.start(), len(text)))] <= m.start()]
    of_animals = (m for m in _animal_after().finditer(text) if not _person_behind().match(text, m.end()))
    animals = {at for m in of_animals for at in _gendered_starts(m)}
    kept = [m for m in kept if m.start() not in animals]
    open_ = {m.start() for m in kept if _may_be_an_animals(text, m)}
    if not open_:
        return kept
    living = [*_living().finditer(text)]
    animal = min((m.start() for m in living if m["animal"]), default=len(text))
    people = [m.start() for m in living if not m["animal"]]
    people += [m.start() for m in kept if m.start() not in open_ or m.start() < animal]
    first = min(people, default=len(text))
    return [m for m in kept if m.start() not in open_ or m.start() < animal or first < m.start()]


def _may_be_an_animals(text: str, found: re.Match[str]) -> bool:
    """Return whether a word is a pronoun, "a female" without a noun, or somebody's mother."""
    word = found[0].lower()
    if word in PRONOUNS:
        return True
    if word in {"male", "males", "female", "females"}:
        return _ALONE.match(text, found.end()) is not None
    return word in _KIN and _OWNER.search(text, 0, found.start()) is not None


def _gendered_starts(found: re.Match[str]) -> Iterable[int]:
    return (m.start() + found.start() for m in _words().finditer(found[0]))


@cache
def patterns() -> dict[str, str]:
    """Return patterns of RE2, for texts of ASCII and any case.

    ``phrase``: a word that names nobody, wherever people are. ``perhaps``: an animal, and behind it a word that may be its own.
    ``first``: an animal, a person or a gendered word; ``animal``: nothing but an animal. ``company``: a person, or a gendered
    word that is no pronoun.
    """
    plain = [
        found().pattern.replace(r"\s", _SPACE).replace(r"\u2019", "") for found in (_phrases, _animal_after, _products)
    ]
    animals, somebody = context("animal"), context("person").union(classes())
    return {
        "phrase": "|".join(plain),
        "perhaps": rf"\b{_either(animals)}\b(?s:.*)\b{_either(_OPEN)}\b",
        "first": rf"\b{_either(animals | somebody - _YOUNG)}\b",
        "animal": f"^{_either(animals)}$",
        "company": rf"\b{_either(somebody - PRONOUNS)}\b",
    }


class Doubt:
    """Tells by words alone in which texts ``named`` could leave a gendered word out; in all others each one names somebody.

    That takes two words in a row that a phrase has, or that stand before an animal or a product (beside a word that may be an
    animal's, or a plural that shoes can be for); or an animal before all people, the first of whom may be its own.
    """

    def __init__(self) -> None:
        animals, products, modifiers = context("animal"), context("product") | context("wear"), context("modifier")
        plurals = {*_PLURALS, *(f"{word}s" for word in _PLURALS)}
        before_products = {*plurals, *modifiers, "s"}
        in_phrases = {_rarest_pair(phrase.split()) for phrase in context("phrase")}
        of_animals = {(word, animal) for word in _between().union(_OF_ANIMALS) for animal in animals}
        of_products = {(word, product) for word in before_products for product in products}
        pairs = in_phrases | of_animals | of_products
        words = sorted({*classes(), *context("person"), *plurals, *(word for pair in pairs for word in pair)})
        self._numbers = {word: number for number, word in enumerate(words, 1)}
        self._phrase, self._animals_after, self._product_after = map(self._table, (in_phrases, of_animals, of_products))
        self._animal, self._may_have_one, self._plural = map(self._flags, (animals, _OF_ANIMALS, plurals))
        self._somebody = self._flags({*classes(), *context("person")} - _YOUNG)
        self._of_shops = self._flags(("mens", "womens"))
        self._open = self._flags(_OPEN)

    def _flags(self, words: Iterable[str]) -> Booleans:
        flags = np.zeros(len(self._numbers) + 1, np.bool_)
        flags[[self._numbers[word] for word in words if word in self._numbers]] = True
        return flags

    def _table(self, pairs: Iterable[tuple[str, str]]) -> Booleans:
        table = np.zeros((len(self._numbers) + 1,) * 2, np.bool_)
        for first, second in pairs:
            table[self._numbers[first], self._numbers[second]] = True
        return table

    def of(self, tokens: Tokens) -> Booleans:
        """Return for each row whether ``named`` has to look.

        Args:
            tokens: Words, all of which are tokens (see ``Tokens.exact``).

        Example:
            >>> from counterbalance.udfs.rows import slices
            >>> from counterbalance.udfs.tokens import WORDS, cut
            >>> import pyarrow as pa
            >>> rows = next(slices(pa.array(["a man and his dog", "a dog and his ball", "king crab", "a king"])))
            >>> doubt().of(cut(rows, WORDS)).tolist()
            [False, True, True, False]
        """
        count = len(tokens.rows) - 1
        numbers = np.array([self._numbers.get(word, 0) for word in tokens.chunks], np.int64)[tokens.codes]
        places = np.flatnonzero(numbers)
        numbers, rows = numbers[places], tokens.rows_of(places)
        next_to = np.flatnonzero((places[1:] == places[:-1] + 1) & (rows[1:] == rows[:-1]))
        pair = (numbers[next_to], numbers[next_to + 1])

        def holds(flags: Booleans) -> Booleans:
            held = np.zeros(count, np.bool_)
            held[rows[flags[numbers]]] = True
            return held

        def has(table: Booleans) -> Booleans:
            held = np.zeros(count, np.bool_)
            held[rows[next_to[table[pair]]]] = True
            return held

        def first(flags: Booleans) -> np.ndarray[Any, np.dtype[np.int64]]:
            found = np.flatnonzero(flags[numbers])
            firsts = np.full(count, len(numbers), np.int64)
            firsts[rows[found][::-1]] = found[::-1]
            return firsts

        animal, somebody = first(self._animal), first(self._somebody)
        is_open = np.append(self._open[numbers], np.bool_(False))[somebody]
        found: Booleans = (
            has(self._phrase)
            | (has(self._animals_after) & holds(self._may_have_one))
            | (has(self._product_after) & holds(self._plural))
            | holds(self._of_shops)
            | ((animal < somebody) & is_open)
        )
        return found


def _rarest_pair(words: list[str]) -> tuple[str, str]:
    """Return the two words in a row of a phrase that are least often next to each other elsewhere."""
    common = {*wordlists.terms("stop_words"), *classes(), "s", "o"}
    return min(pairwise(words), key=lambda pair: (len(common.intersection(pair)), classes().keys().isdisjoint(pair)))


@cache
def doubt() -> Doubt:
    """Return the one there is."""
    return Doubt()
