"""Make patterns for words that stand alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from counterbalance.engine.sql.parse import as_text

if TYPE_CHECKING:
    from collections.abc import Iterable


def pattern(words: Iterable[str], *, fold: bool = True) -> re.Pattern[str]:
    r"""Return a pattern for any of the words standing alone; a tree of letters, which ``re`` walks faster than alternatives.

    Args:
        words: Lower-case ASCII words.
        fold: Whether upper-case ASCII letters match, too.

    Example:
        >>> pattern(["man", "men", "mans"], fold=False).pattern
        '\\b(?:m(?:an(?:s)?|en))\\b'
    """
    return re.compile(rf"\b(?:{tree(words, fold=fold)})\b")


def tree(words: Iterable[str], *, fold: bool = True, space: str = " ") -> str:
    """Return the text of a pattern for exactly these words, longer ones first.

    Args:
        words: As for ``pattern``.
        fold: As for ``pattern``.
        space: The pattern for what stands between the words of a phrase.

    Example:
        >>> tree(["king bed", "king"], fold=False, space="[ -]+")
        'king(?:[ -]+bed)?'
    """
    return _tree(frozenset(words), fold=fold).replace(" ", space)


def where_matching(pattern: str, then: str, otherwise: str) -> str:
    """Return SQL for ``text``: one value where it matches a pattern of RE2, in any case, or is NULL, and another elsewhere.

    Example:
        >>> where_matching("man|men", "f(text)", "false")
        "CASE WHEN NOT regexp_matches(text, 'man|men', 'i') THEN false ELSE f(text) END"
    """
    return f"CASE WHEN NOT {matching(pattern)} THEN {otherwise} ELSE {then} END"


def matching(pattern: str, text: str = "text") -> str:
    """Return SQL for whether a text matches a pattern of RE2, in any case."""
    return f"regexp_matches({text}, {as_text(pattern)}, 'i')"


def _tree(words: frozenset[str], *, fold: bool) -> str:
    tails: dict[str, set[str]] = {}
    for word in words - {""}:
        tails.setdefault(word[0], set()).add(word[1:])
    branches = [
        (f"[{c}{c.upper()}]" if fold and c.isalpha() else c) + (_tree(frozenset(t), fold=fold) if t != {""} else "")
        for c, t in sorted(tails.items())
    ]
    either = branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
    return f"(?:{either})?" if "" in words else either
