"""Tell which gendered words of a text name people: ``named``.

``lists.gender_words`` are the words. In "a man-made lake", "king crab", "a mother giraffe" or "ladies' room" they name nobody,
and in "a dog with his ball" the word is the dog's. ``lists.gender_context`` says what tells so:

* a phrase of a row of words, one of which is gendered;
* an animal right after male, female, mother and the like ("a male and female lion", "mother polar bear");
* a product or a room after the plural: "men's shoes", "womens watch";
* before a pronoun, "a female" without a noun, or "his mother": an animal, and nobody else.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from counterbalance.udfs import wordlists
from counterbalance.udfs.word_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

PRONOUNS: Final = frozenset({"he", "she", "him", "her", "his", "hers", "himself", "herself"})
_OF_ANIMALS: Final = (
    "male", "males", "female", "females", "mother", "mothers", "father", "fathers", "mom", "momma", "mama", "papa", "dad",
    "daddy", "mommy", "sister", "brother",
)  # fmt: skip
_KIN: Final = frozenset(
    {"mother", "father", "mom", "moms", "mum", "mums", "momma", "mama", "papa", "dad", "dads", "mommy", "daddy"}
)
_OWNER: Final = re.compile(r"\b(?:his|her|its|their)\s+$", re.IGNORECASE)
_ALONE: Final = re.compile(
    r"\s*(?:$|[^\w\s]|(?:and|or|in|on|at|with|of|to|by|for|from|near|is|are|who|that)\b)", re.IGNORECASE
)
_APART: Final = "[\\s'\u2019-]+"


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
def signs() -> frozenset[str]:
    """Return the words without which all gendered words of a text name people."""
    common = {*wordlists.terms("stop_words"), *classes(), "s", "o"}
    rare = ({*phrase.split()} - common or {phrase.split()[0]} for phrase in context("phrase"))
    return frozenset(context("animal") | context("product")).union(*rare)


@cache
def _words() -> re.Pattern[str]:
    return pattern(classes())


@cache
def _phrases() -> re.Pattern[str]:
    listed = sorted(context("phrase"), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(p.replace(' ', _APART) for p in listed)})\b", re.IGNORECASE)


@cache
def _animal_after() -> re.Pattern[str]:
    """Return a pattern for words such as mother with an animal behind."""
    between = _either([*context("modifier"), "male", "female", "mother", "father"])
    listed = _either(_OF_ANIMALS)
    return re.compile(rf"\b{listed}(?:[\s,/&-]+{between})*[\s-]+{_either(context('animal'))}\b", re.IGNORECASE)


@cache
def _products() -> re.Pattern[str]:
    plural = "(?:men|women|boys|girls|ladies|gentlemen|gents)"
    between = rf"(?:\s+{_either(context('modifier'))})?"
    return re.compile(
        rf"\b{plural}(?:\s?[\u2019']s?|s)?{between}\s+{_either(context('product'))}\b"
        rf"|\b(?:mens|womens){between}\s+\w+", re.IGNORECASE
    )  # fmt: skip


def _either(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


@cache
def _living() -> re.Pattern[str]:
    animal, person = _either(context("animal")), _either(context("person"))
    return re.compile(rf"\b(?:(?P<animal>{animal})|{person})\b", re.IGNORECASE)


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
    nobody = [m.span() for found in (_phrases(), _products()) for m in found.finditer(text)]
    kept = [m for m in places if not any(start <= m.start() < end for start, end in nobody)]
    animals = {at for m in _animal_after().finditer(text) for at in _gendered_starts(m)}
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
