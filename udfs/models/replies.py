"""Write a multiple-choice question, and find the option that a reply means, or the caption that a judge prefers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from counterbalance.udfs.models.running import seed_of

if TYPE_CHECKING:
    from collections.abc import Sequence

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
INSTRUCTION: Final = "Reply with one letter only."
_WORDS: Final = re.compile(r"[^\W_]+")
_AFTER: Final = "or|and|is|was|are|but|because|since|as|not|nor|with|seems|would|if"
"""Small words before which ``A`` is a letter and no article."""
_CAPITAL: Final = re.compile(rf"(?<![\w'\u2019])(?:[B-HJ-Z]|[AI](?!\s+(?!(?:{_AFTER})\b)[a-z]))(?![\w'\u2019])")
_NAMED: Final = re.compile(r"\bmodel[\s_]+([ab])\b|\btie\b", re.IGNORECASE)
_WINNERS: Final = {"a": "first", "b": "second", "tie": "tie"}
_LEAD: Final = frozenset(
    {"the", "my", "a", "it", "is", "s", "so", "would", "be", "most", "likely", "correct", "right", "best", "final"}
    | {"answer", "option", "choice", "letter"}
)


def shuffled(options: Sequence[str], seed: int, *content: object) -> list[str]:
    """Return the options in an order that a row's own content and the seed decide, whichever rows are beside it.

    Example:
        >>> sorted(shuffled(["yes", "no"], 0, "a picture")) == ["no", "yes"]
        True
        >>> len({tuple(shuffled(["yes", "no", "unclear"], seed, "a picture")) for seed in range(50)})
        6
    """
    return [options[i] for i in sorted(range(len(options)), key=lambda i: seed_of(seed, *content, i))]


def question(prompt: str, shown: Sequence[str]) -> str:
    """Return the prompt, the options with a letter each, and the request to reply with a letter.

    Example:
        >>> print(question("Is it raining?", ["no", "yes"]))
        Is it raining?
        A. no
        B. yes
        <BLANKLINE>
        Reply with one letter only.
    """
    lines = [f"{letter}. {option}" for letter, option in zip(LETTERS, shown, strict=False)]
    return "\n".join([prompt, *lines, "", INSTRUCTION])


def meant(reply: str, shown: Sequence[str]) -> str | None:
    """Return the option that a reply means; ``None`` if it names no option, or more than one.

    A reply names an option by its letter (``B``, ``(b)``, ``B.``, ``The answer is B``), by its text or by the first words
    of its text when no other option begins so, or by both. ``A`` and ``I`` before a small word are not letters.

    Args:
        reply: The reply of the model.
        shown: The options in the order of their letters.

    Example:
        >>> [meant(r, ["male", "female"]) for r in ("B", "(b)", "The answer is A.", "female", "B) female", "A or B")]
        ['female', 'female', 'male', 'female', 'female', None]
    """
    words = _folded(reply)
    text = _by_text(words, shown)
    letters = {LETTERS.index(letter) for letter in _CAPITAL.findall(reply)}
    rest = [word for i, word in enumerate(words) if word not in _LEAD or (i == len(words) - 1 and len(word) == 1)]
    if len(rest) == 1 and len(rest[0]) == 1 and rest[0].upper() in LETTERS:
        letters.add(LETTERS.index(rest[0].upper()))
    named = letters | text
    place = named.pop() if len(named) == 1 else len(shown)
    return shown[place] if place < len(shown) else None


def verdict(reply: str) -> str | None:
    """Return which caption a judge prefers: ``'first'``, ``'second'`` or ``'tie'``; ``None`` if it names none, or several.

    Args:
        reply: Model A, Model B or TIE, in any case, with or without words around it; or the letter alone.

    Example:
        >>> [verdict(r) for r in ("Model A", "**model b**", "TIE.", "B", "Model A or Model B", "the first")]
        ['first', 'second', 'tie', 'second', None, None]
    """
    named = {(found[1] or found[0]).casefold() for found in _NAMED.finditer(reply)}
    said = named or set(_folded(reply))
    return _WINNERS.get(said.pop()) if len(said) == 1 else None


def _folded(text: str) -> list[str]:
    return [word.casefold() for word in _WORDS.findall(text)]


def _by_text(words: Sequence[str], shown: Sequence[str]) -> set[int]:
    """Return the places of the options that a reply spells out, with or without a letter or an opening before."""
    options = [_folded(option) for option in shown]
    for start in range(len(words)):
        rest = list(words[start:])
        equal = {i for i, option in enumerate(options) if option == rest}
        found = equal or {i for i, option in enumerate(options) if option[: len(rest)] == rest}
        if len(found) == 1:
            return found
        if words[start] not in _LEAD and not (start == 0 and len(words[0]) == 1):
            break
    return set()
