r"""Find the words of an English text: the same numbers for whatever finds, masks or replaces a word.

Cut as the Penn Treebank cuts: marks stand alone, and so do ``'s``, ``'re`` … and ``n't`` behind their word; words keep their
hyphens and the points and commas inside of numbers. Unlike there, nothing is rewritten: a span is a part of the text.
"""

from __future__ import annotations

import re
from typing import Final

_CLITIC: Final = r"['\u2019](?:s|re|ve|ll|d|m)(?!\w)"
_NOT: Final = r"n['\u2019]t(?!\w)"
_TOKEN: Final = re.compile(
    rf"{_CLITIC}"
    rf"|(?<=\w){_NOT}"
    rf"|\w+?(?={_NOT})"
    r"|\d+(?:[.,:/]\d+)+(?!\w)"
    rf"|\w+(?:-\w+)*"
    r"|\.{2,}|-{2,}|[^\w\s]",
    re.IGNORECASE,
)


def spans(text: str) -> list[tuple[int, int]]:
    """Begin and end of every word and mark, in characters, in order; a word's place in this list is its position.

    Example:
        >>> text = "A man's T-shirt isn't red."
        >>> [text[a:b] for a, b in spans(text)]
        ['A', 'man', "'s", 'T-shirt', 'is', "n't", 'red', '.']
    """
    return [match.span() for match in _TOKEN.finditer(text)]
