"""Replace gendered words in texts, keeping everything else as it is.

A word is a longest run of word characters, so ``man`` in ``man's`` is one and in ``woman`` is none. Its replacement takes
its case: ``Man`` gives ``Person``, ``MAN`` gives ``PERSON``, anything else lower case. *a* or *an* right before it becomes
what the new word takes by its sound ("an actress": a performer), if it was what the old word takes.

*Her* and *his* have two uses. They are determiners ("her dog": their, his) when a word follows that can begin what is
owned: white space, perhaps an opening quotation mark or bracket, then a word that is not in ``lists.after_pronouns``, a
closed list of prepositions, conjunctions, articles, pronouns, auxiliaries and adverbs; in "his or her dog" both are.
Otherwise they are pronouns ("a photo of her", "helping her to eat": them, him). The rule errs on verbs without *to*
that are watched or heard in no list of ours, and on gifts ("gives her flowers").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.udfs import persons, wordlists
from counterbalance.udfs.rows import Rows, apply
from counterbalance.udfs.tokens import WORDS, cut
from counterbalance.udfs.word_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterbalance.udfs.tokens import Tokens

Gender = Literal["male", "female"]

_OR_OTHER: Final = re.compile(r"(?:\s+(?:and|or)\s+|\s*/\s*)(?:his|her)\b", re.IGNORECASE)
_PAIRED: Final = re.compile(r"\s+(?:and|or|&)\s+|\s*/\s*", re.IGNORECASE)
_PLURAL: Final = frozenset({"they", "them", "their"})
_NEXT: Final = re.compile(r"[ \t]+([A-Za-z]+)")
_ARTICLE: Final = re.compile(r"\b(a|an|the|one|this|that|another|each|every)(\s+)$", re.IGNORECASE)
_INDEFINITE: Final = re.compile("\\b(an?)(\\s+[\"'\u201c\u2018(\\[]?)$", re.IGNORECASE)
_LIKE_YOU: Final = r"eu|ewe|one(?:\b|sie)|once\b|u(?:\b|biq|fo|gand|k|n\b|nanim|ni(?![dmn])|r(?:[aiu]n|ol|ug)|s(?:\b|[abeu]|ing)|t(?:ah|en|er|il|op))"
"""Beginnings of words whose first letter is a vowel, and whose first sound is that of *you* or *one*."""
_AN: Final = re.compile(rf"(?!{_LIKE_YOU})[aeiou]|heir|honest|honou?r|hour|[fhlmnrsx]\b", re.IGNORECASE)
_SPELLED: Final = re.compile(r"[FLMNRX][BCDFGJKMNPQSTVXZ]|NH|H[B-DF-HJ-NP-TVXZ]|S[BDFGJRSVXZ]")
"""Beginnings of abbreviations that are read letter by letter, the first as *eff*, *ell* and the like: FBI, NFL."""
_POSSESSIVE: Final = re.compile("['\u2019][sS]\\b")
_NOUNS: Final = ("ss", "us", "is", "sports", "sales", "news", "arts", "graphics")
"""How nouns end that look like a verb on *-s*."""
_SEEN: Final = re.compile(
    r"\b(?:s(?:ee|ees|aw|een|eeing)|watch(?:es|ed|ing)?|hear(?:s|d|ing)?|help(?:s|ed|ing)?|lets?|letting|shows?|showing|shown"
    r"|catch(?:es|ing)?|caught|film(?:s|ed|ing)?|photograph(?:s|ed|ing)?|find(?:s|ing)?|found|ke(?:eps?|pt))\s+$",
    re.IGNORECASE,
)
_FOLLOWING: Final = re.compile("\\s+[\"'\u201c\u2018(\\[]?(\\w+)")


@dataclass(frozen=True, slots=True)
class Uses:
    """What stands for a gendered word before a noun, and elsewhere."""

    determiner: str
    pronoun: str


@cache
def table(column: Literal["neutral", "counterpart"], gender: Gender | None = None) -> Mapping[str, Uses]:
    """Return the replacements of gendered words of ``lists.gender_words``, of one gender or of both."""
    found: dict[str, dict[str, str]] = {}
    for row in wordlists.wordlist("gender_words").to_pylist():
        if gender in (None, row["class"]):
            found.setdefault(row["term"], {})[row["use"] or "pronoun"] = row[column]
    return {word: Uses(uses.get("determiner", uses["pronoun"]), uses["pronoun"]) for word, uses in found.items()}


def cased(model: str, word: str) -> str:
    """Return the word in the case of another.

    Example:
        >>> cased("MAN", "person"), cased("Man", "person"), cased("mAn", "person")
        ('PERSON', 'Person', 'person')
    """
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word.capitalize() if model[:1].isupper() else word


Finder = Callable[[str], "list[re.Match[str]]"]
"""From a text to the places of its gendered words."""


def replacer(replacements: Mapping[str, Uses], *, neutral: bool) -> Callable[[str, Finder], str]:
    """Return a function that puts replacements for gendered words into a text.

    Args:
        replacements: By word.
        neutral: They are neutral words: equal ones of a pair ("his or her", "men and women") become one, and male or female
            before a noun goes ("a male nurse": a nurse).
    """

    def use(text: str, found: re.Match[str]) -> str:
        uses = replacements[found[0].lower()]
        is_owner = uses.determiner != uses.pronoun and _owned(text, found.start(), found.end())
        return uses.determiner if is_owner else uses.pronoun

    def one(text: str, places: Finder) -> str:
        found = [m for m in places(text) if m[0].lower() in replacements]
        words = [use(text, m) for m in found]
        parts: list[str] = []
        at = 0
        for n, (match, word) in enumerate(zip(found, words, strict=True)):
            before = text[at : match.start()]
            if neutral and n and word == words[n - 1] and _is_plural(word) and _PAIRED.fullmatch(before):
                at = match.end()
                continue
            end = _before_noun(text, match) if neutral else None
            parts.append(_with_article(before, match[0], word if end is None else text[end:]))
            at = match.end() if end is None else end
            if end is None:
                parts.append(cased(match[0], word))
            elif match[0][0].isupper():
                parts.append(text[end].upper())
                at = end + 1
        return "".join([*parts, text[at:]])

    return one


def _is_plural(word: str) -> bool:
    return word in _PLURAL or word.endswith(("s", "people", "children"))


def _before_noun(text: str, found: re.Match[str]) -> int | None:
    """Return where the noun begins that *male* or *female* describes; ``None`` where they are a noun themselves."""
    if found[0].lower() not in {"male", "female"}:
        return None
    following = _NEXT.match(text, found.end())
    if following is None:
        return None
    word = following[1].lower()
    is_verb = (
        word in persons.context("does")
        or word.endswith(("ing", "ed"))
        or _begins_no_noun(following[1])
        or word in persons.classes()
    )
    is_verb |= word.endswith("s") and not word.endswith(_NOUNS) and bool(_ARTICLE.search(text, 0, found.start()))
    return None if is_verb else following.start(1)


def _with_article(before: str, old: str, new: str) -> str:
    """Return the text before a word with the article that another in its place takes; one that was wrong stays.

    Example:
        >>> _with_article("A ", "male", "athlete"), _with_article("with an ", "actress", "performer")
        ('An ', 'with a ')
    """
    found = _INDEFINITE.search(before)
    is_an = found is not None and _takes_an(new)
    if found is None or is_an == _takes_an(old) or (len(found[1]) == 2) == is_an:
        return before
    article = found[1][0] + ("N" if old.isupper() else "n") * is_an
    return f"{before[: found.start()]}{article}{found[2]}"


def _takes_an(word: str) -> bool:
    """Return whether a word begins with the sound of a vowel.

    Example:
        >>> [word for word in ("aunt", "heir", "hero", "user", "usher", "one", "FBI agent", "US actor") if _takes_an(word)]
        ['aunt', 'heir', 'usher', 'FBI agent']
    """
    return _AN.match(word) is not None or _SPELLED.match(word) is not None


def blanked(words: Iterable[str], mask: str) -> Callable[[str, Finder], str]:
    """Return a function that puts a mask in the place of gendered words; an empty one takes the space before and *'s* along."""
    known = frozenset(words)

    def one(text: str, places: Finder) -> str:
        parts: list[str] = []
        at = 0
        for match in places(text):
            if match[0].lower() in known:
                before = text[at : match.start()]
                owner = None if mask else _POSSESSIVE.match(text, match.end())
                parts += [before if mask else before.rstrip(), mask]
                at = owner.end() if owner else match.end()
        left = "".join([*parts, text[at:]])
        return left if mask or text[:1].isspace() else left.lstrip()

    return one


def _owned(text: str, start: int, end: int) -> bool:
    """Return whether what follows can be what *her* or *his* owns."""
    other = _OR_OTHER.match(text, end)
    following = _FOLLOWING.match(text, other.end() if other else end)
    if following is None or _begins_no_noun(following[1]):
        return False
    word = following[1].lower()
    return not ((word.endswith("ing") or word in persons.context("do")) and _SEEN.search(text, 0, start))


def _begins_no_noun(word: str) -> bool:
    return word != "US" and word.lower() in _not_owned()  # a US soldier


@cache
def _not_owned() -> frozenset[str]:
    return frozenset(wordlists.terms("after_pronouns"))


def rewrite(text: pa.Array | pa.ChunkedArray, words: Iterable[str], one: Callable[[str, Finder], str]) -> pa.Array:
    """Return texts with ``one`` applied to those that hold any of the words (lower case); the others as they are."""
    known = frozenset(words)
    plain: Finder = lambda row: [*_gendered().finditer(row)]  # noqa: E731

    def call(rows: Rows) -> pa.Array:
        tokens = cut(rows, WORDS).exact(WORDS)
        held = holding(tokens, known)
        odd = persons.doubt().of(tokens)
        made = replaced(rows, rows.text, held & ~odd, lambda row: one(row, plain))
        return replaced(rows, made, held & odd, lambda row: one(row, persons.named))

    return apply(text, call, pa.string())


@cache
def _gendered() -> re.Pattern[str]:
    return pattern(persons.classes())


def holding(tokens: Tokens, words: frozenset[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which rows hold any of the words."""
    return np.asarray(tokens.row_sums(np.array([word in words for word in tokens.chunks], np.int64)) > 0)


def replaced(
    rows: Rows, others: pa.Array, chosen: np.ndarray[Any, np.dtype[np.bool_]], one: Callable[[str], str]
) -> pa.Array:
    """Return ``one`` of the chosen rows, ``others`` in place of the rest, NULL where the text is."""
    mask = pa.array(chosen)
    changed = pa.array([one(row) for row in rows.text.filter(mask).to_pylist()], pa.string())
    result = pc.replace_with_mask(others, mask, changed) if len(changed) else others
    return result if rows.null is None else pc.if_else(rows.mask(), pa.scalar(None, pa.string()), result)
