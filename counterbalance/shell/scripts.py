"""Cut a script into statements at the semicolons that are really ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterbalance.engine.errors import CounterbalanceError, SqlError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class SplitScript:
    """A text cut into statements.

    Args:
        statements: The statements, without their semicolons; empty ones are left out.
        complete: Whether the last one ended with a semicolon, or nothing but blanks and comments came after it.
    """

    statements: tuple[str, ...]
    complete: bool


def split(text: str) -> SplitScript:
    """Cut SQL at semicolons outside of quotes and comments.

    Raises:
        SqlError: A quote or comment is never closed (E3102).

    Example:
        >>> split("select ';'; select 2 -- ; two").statements
        ("select ';'", 'select 2 -- ; two')
    """
    ends = [t.end for t in _tokens(text) if t.token_type.name == "SEMICOLON"]
    pieces = list(_pieces(text, ends))
    return SplitScript(tuple(p for p in pieces if _tokens(p)), not _tokens(pieces[-1]))


def _pieces(text: str, ends: list[int]) -> Iterator[str]:
    start = 0
    for end in ends:
        yield text[start:end].strip()
        start = end + 1
    yield text[start:].strip()


def is_complete(text: str) -> bool:
    """Return whether a text typed so far can be run: it ends with a semicolon, or is blank.

    Example:
        >>> is_complete("select 1"), is_complete("select 1;"), is_complete("select ';")
        (False, True, False)
    """
    try:
        return split(text).complete
    except SqlError:
        return False


def _tokens(text: str) -> list[Any]:
    import sqlglot
    from sqlglot.errors import TokenError

    try:
        return list(sqlglot.tokenize(text, dialect="duckdb"))
    except TokenError as error:
        message = "a quote or comment is never closed"
        raise SqlError(message, code="E3102", hint="close it, and end statements with ';'", sql=text) from error


def changes(text: str) -> bool:
    """Return whether a text is a statement that declares, drops or refreshes: no time limit ends those.

    Example:
        >>> changes("REFRESH ALL"), changes("SELECT 1")
        (True, False)
    """
    from counterbalance.engine.sql import statements

    try:
        return statements.read(text) is not None
    except CounterbalanceError:  # it is one, and is not right; the session says what is wrong
        return True
