"""Which tokens of a vocabulary are whole words, by the way its tokeniser marks where words begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPACE: Final = "\u0120"
"""How byte-level vocabularies (GPT-2's, RoBERTa's) write a space before a token."""
_BLANK: Final = "\u2581"
"""How SentencePiece writes it; the beginning of a text counts as one."""
_PIECE: Final = "##"
"""How WordPiece (BERT's) writes that a token goes on."""


class Vocabulary:
    """The whole words of a tokeniser: tokens of letters only that begin a word.

    Args:
        tokenizer: Of transformers.
        size: Entries for which the model has scores; at least as many as the tokeniser has.

    Attributes:
        words: Text of each token without marks; empty for what is no whole word.
        behind_space: Which are words where a space, or whatever is no letter, stands before; bool (size,).
        elsewhere: Which are at the beginning of a text or behind a mark without a space; bool (size,).
    """

    def __init__(self, tokenizer: Any, size: int) -> None:
        tokens = [t if isinstance(t, str) else "" for t in tokenizer.convert_ids_to_tokens(range(len(tokenizer)))]
        special = set(tokenizer.all_special_ids)
        mark = next((m for m in (_SPACE, _BLANK) if any(t.startswith(m) for t in tokens)), "")
        self.words = [""] * size
        marked = np.zeros(size, bool)
        for number, token in enumerate(tokens[:size]):
            text = _text(tokenizer, token, mark)
            if number not in special and text.isalpha():
                self.words[number] = text
                marked[number] = bool(mark) and token.startswith(mark)
        known: NDArray[np.bool_] = np.array([bool(w) for w in self.words])
        self.behind_space = marked if mark else known
        self.elsewhere = known & ~marked if mark == _SPACE else self.behind_space


def _text(tokenizer: Any, token: str, mark: str) -> str:
    """What a token writes; nothing for one that goes on another."""
    if mark == _SPACE:  # bytes are written as letters: only the tokeniser reads them
        return str(tokenizer.convert_tokens_to_string([token])).removeprefix(" ")
    return token.removeprefix(mark) if mark else "" if token.startswith(_PIECE) else token
