"""Replace gendered words in texts, keeping everything else as it is.

A word is a longest run of word characters, so ``man`` in ``man's`` is one and in ``woman`` is none. Its replacement takes
its case: ``Man`` gives ``Person``, ``MAN`` gives ``PERSON``, anything else lower case.

*Her* and *his* have two uses. They are determiners ("her dog": their, his) when a word follows that can begin what is
owned: white space, perhaps an opening quotation mark or bracket, then a word that is not in ``lists.after_pronouns``, a
closed list of prepositions, conjunctions, articles, pronouns, auxiliaries and adverbs; in "his or her dog" both are.
Otherwise they are pronouns ("a photo of her", "helping her to eat": them, him). The rule errs on verbs without *to*
("watching her eat") and on gifts ("gives her flowers").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.udfs import wordlists
from counterbalance.udfs.rows import Rows, apply
from counterbalance.udfs.tokens import WORDS, cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Gender = Literal["male", "female"]

_OR_OTHER: Final = re.compile(r"\s+(?:and|or)\s+(?:his|her)\b", re.IGNORECASE)
_FOLLOWING: Final = re.compile("\\s+[\"'\u201c\u2018(\\[]?(\\w+)")


@dataclass(frozen=True, slots=True)
class Uses:
    """What stands for a gendered word before a noun, and elsewhere."""

    determiner: str
    pronoun: str


@cache
def table(column: Literal["neutral", "counterpart"], gender: Gender | None = None) -> Mapping[str, Uses]:
    """Return the replacements of gendered words of ``lists.gender_pairs``, of one gender or of both."""
    found: dict[str, dict[str, str]] = {}
    for row in wordlists.wordlist("gender_pairs").to_pylist():
        if gender in (None, row["class"]):
            found.setdefault(row["term"], {})[row["use"] or "pronoun"] = row[column]
    return {word: Uses(uses.get("determiner", uses["pronoun"]), uses["pronoun"]) for word, uses in found.items()}


def pattern(words: Iterable[str], around: str = "{}", *, fold: bool = True) -> re.Pattern[str]:
    r"""Return a pattern for any of the words standing alone; a tree of letters, which ``re`` walks faster than alternatives.

    Args:
        words: Lower-case ASCII words.
        around: What surrounds them in the pattern.
        fold: Whether upper-case ASCII letters match, too.

    Example:
        >>> pattern(["man", "men", "mans"], fold=False).pattern
        '\\b(?:m(?:an(?:s)?|en))\\b'
    """
    return re.compile(around.format(rf"\b(?:{_tree(frozenset(words), fold=fold)})\b"))


def _tree(words: frozenset[str], *, fold: bool) -> str:
    """Return a pattern for exactly these words, longer ones first."""
    tails: dict[str, set[str]] = {}
    for word in words - {""}:
        tails.setdefault(word[0], set()).add(word[1:])
    branches = [
        (f"[{c}{c.upper()}]" if fold else c) + (_tree(frozenset(t), fold=fold) if t != {""} else "")
        for c, t in sorted(tails.items())
    ]
    either = branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
    return f"(?:{either})?" if "" in words else either


def cased(model: str, word: str) -> str:
    """Return the word in the case of another.

    Example:
        >>> cased("MAN", "person"), cased("Man", "person"), cased("mAn", "person")
        ('PERSON', 'Person', 'person')
    """
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word.capitalize() if model[:1].isupper() else word


def replacer(replacements: Mapping[str, Uses]) -> Callable[[str], str]:
    """Return a function that puts replacements for gendered words into a text."""
    words = pattern(replacements)

    def one(match: re.Match[str]) -> str:
        word = match[0]
        uses = replacements[word.lower()]
        if uses.determiner == uses.pronoun:
            return cased(word, uses.pronoun)
        return cased(word, uses.determiner if _owned(match.string, match.end()) else uses.pronoun)

    return lambda text: words.sub(one, text)


def _owned(text: str, end: int) -> bool:
    """Return whether what follows can be what *her* or *his* owns."""
    other = _OR_OTHER.match(text, end)
    following = _FOLLOWING.match(text, other.end() if other else end)
    return following is not None and following[1].lower() not in _not_owned()


@cache
def _not_owned() -> frozenset[str]:
    return frozenset(wordlists.terms("after_pronouns"))


def rewrite(text: pa.Array | pa.ChunkedArray, words: Iterable[str], one: Callable[[str], str]) -> pa.Array:
    """Return texts with ``one`` applied to those that hold any of the words (lower case); the others as they are."""
    known = frozenset(words)
    return apply(text, lambda rows: replaced(rows, rows.text, holding(rows, known), one), pa.string())


def holding(rows: Rows, words: frozenset[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which rows hold any of the words."""
    tokens = cut(rows, WORDS)
    held = [not words.isdisjoint(WORDS.tokens(chunk)) for chunk in tokens.chunks]
    return np.asarray(tokens.row_sums(np.array(held, np.int64)) > 0)


def replaced(
    rows: Rows, others: pa.Array, chosen: np.ndarray[Any, np.dtype[np.bool_]], one: Callable[[str], str]
) -> pa.Array:
    """Return ``one`` of the chosen rows, ``others`` in place of the rest, NULL where the text is."""
    mask = pa.array(chosen)
    changed = pa.array([one(row) for row in rows.text.filter(mask).to_pylist()], pa.string())
    result = pc.replace_with_mask(others, mask, changed) if len(changed) else others
    return result if rows.null is None else pc.if_else(rows.mask(), pa.scalar(None, pa.string()), result)
