"""How large a statement may be: planning takes longer than its size says, and cannot be interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot.tokenizer_core import TokenType

from counterbalance.engine.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlglot.tokenizer_core import Token

MOST_CHARACTERS: Final = 2_000_000
MOST_WORDS: Final = 250_000
"""Words, values and signs; a list of 100,000 values has 200,000 and takes 4 s to plan."""
LONGEST_RUN: Final = 20_000
"""Words, values and signs without a comma or bracket between them; a sum of 10,000 takes 1 s, and time grows faster than it."""
DEEPEST: Final = 200
_OPEN: Final = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSE: Final = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_HINT: Final = 'give many values as a table: sql("… WHERE key IN (SELECT key FROM mine)", mine=table)'


def check_length(text: str) -> None:
    """Refuse a text that is too long to be read.

    Raises:
        LimitError: It is (E5005).

    Example:
        >>> check_length("SELECT 1")
    """
    if len(text) > MOST_CHARACTERS:
        raise _too_large(f"{len(text):,} characters", f"{MOST_CHARACTERS:,}")


def check_words(words: Iterable[Token]) -> None:
    """Refuse a statement of too many words, too long a run of them, or brackets nested too deeply.

    Raises:
        LimitError: It is too large (E5005).

    Example:
        >>> from sqlglot import tokenize
        >>> check_words(tokenize("SELECT 1 IN (2, 3)"))
        >>> check_words(tokenize("SELECT 1" + " + 1" * 20_000))
        Traceback (most recent call last):
            ...
        counterbalance.engine.errors.LimitError: the statement has more than 20,000 words and signs without a comma or bracket between them
        hint: give many values as a table: sql("… WHERE key IN (SELECT key FROM mine)", mine=table)
    """
    runs = [0]
    for number, word in enumerate(words):
        kind = word.token_type
        if number >= MOST_WORDS:
            raise _too_large("more words and signs than it may have", f"{MOST_WORDS:,}")
        if kind in _OPEN:
            runs.append(0)
            if len(runs) > DEEPEST:
                raise _too_large("brackets nested too deeply", f"{DEEPEST}")
        elif kind in _CLOSE:
            if len(runs) > 1:
                runs.pop()
        elif kind == TokenType.COMMA:
            runs[-1] = 0
        else:
            runs[-1] += 1
            if runs[-1] > LONGEST_RUN:
                raise LimitError(
                    f"the statement has more than {LONGEST_RUN:,} words and signs without a comma or bracket between them",
                    code="E5005",
                    hint=_HINT,
                )


def _too_large(what: str, most: str) -> LimitError:
    return LimitError(f"the statement has {what}; the limit is {most}", code="E5005", hint=_HINT)
