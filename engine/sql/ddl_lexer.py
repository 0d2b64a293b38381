"""A cursor over the tokens of one statement, with errors that say the place and the right form."""

from __future__ import annotations

import re
from typing import Any, Final

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from counterbalance.engine.errors import SqlError
from counterbalance.engine.sql.parse import unreadable

_WORD: Final = re.compile(r"[^\W\d]\w*")
_OPEN: Final = "([{"
_CLOSE: Final = ")]}"


class Tokens:
    """Reads one statement from left to right.

    Args:
        text: The statement.

    Raises:
        SqlError: It cannot be cut into tokens.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at, self.form = text, 0, ""
        try:
            self._tokens: list[Token] = DuckDB().tokenize(text)
        except TokenError as error:
            raise unreadable(text, error) from None

    @property
    def is_done(self) -> bool:
        """Return whether nothing is left but semicolons."""
        return all(t.token_type == TokenType.SEMICOLON for t in self._tokens[self.at :])

    def end(self) -> None:
        """Refuse anything more.

        Raises:
            SqlError: The statement goes on, or another one follows.
        """
        if self.is_done:
            return
        if self._tokens[self.at].token_type == TokenType.SEMICOLON:
            raise self.error("one statement at a time", at=self.at + 1, hint="split the text at its semicolons")
        raise self.error(f"{self._shown()} is not expected here")

    def error(self, message: str, *, at: int | None = None, code: str = "E3155", hint: str | None = None) -> SqlError:
        """Return an error at a token, the present one by default; the hint is the statement's form."""
        return self.placed(SqlError(message, code=code, hint=hint), self.at if at is None else at)

    def placed(self, error: SqlError, at: int) -> SqlError:
        """Return the error with the place of a token; its hint is the statement's form unless it has one."""
        start = self._tokens[at].start if at < len(self._tokens) else len(self.text.rstrip())
        before = self.text[:start]
        line, column = before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1
        return SqlError(
            error.message, code=error.code, hint=error.hint or self.form, sql=self.text, line=line, column=column
        )

    def is_word(self, *words: str) -> bool:
        """Tell whether these words or signs come next."""
        following = self._tokens[self.at : self.at + len(words)]
        return len(following) == len(words) and all(map(_is, following, words))

    def taken(self, *words: str) -> bool:
        """Read these words or signs if they come next; whether they did."""
        found = self.is_word(*words)
        self.at += len(words) if found else 0
        return found

    def words(self, *words: str) -> None:
        """Read words that must come."""
        for word in words:
            if not self.taken(word):
                raise self.error(f"{word} is expected, not {self._shown()}")

    symbol = words

    def name(self, what: str) -> str:
        """Read a name, in lower case unless it is quoted; what it is of, for the error."""
        if self.at >= len(self._tokens):
            raise self.error(f"the name of {what} is expected, not {self._shown()}")
        token = self._tokens[self.at]
        if token.token_type == TokenType.IDENTIFIER and token.text:
            self.at += 1
            return token.text
        if token.token_type in _NO_NAMES or not _WORD.fullmatch(self._raw(token)):
            raise self.error(f"the name of {what} is expected, not {self._shown()}")
        self.at += 1
        return self._raw(token).lower()

    def dotted(self, what: str) -> str:
        """Read ``name`` or ``table.name``."""
        name = self.name(what)
        return f"{name}.{self.name(what)}" if self.taken(".") else name

    def names_in_parenthesis(self, what: str) -> tuple[str, ...]:
        """Read ``(name, …)``."""
        self.symbol("(")
        found = [self.name(what)]
        while self.taken(","):
            found.append(self.name(what))
        self.symbol(")")
        return tuple(found)

    def value(self) -> Any:
        """Read a literal: text, number, ``true`` or ``false``."""
        if self.taken("TRUE") or self.taken("FALSE"):
            return _is(self._tokens[self.at - 1], "TRUE")
        negative = self.taken("-")
        token = self._tokens[self.at] if self.at < len(self._tokens) else None
        if token is not None and token.token_type == TokenType.NUMBER:
            self.at += 1
            number = float(token.text) if re.search(r"[.eE]", token.text) else int(token.text)
            return -number if negative else number
        if token is not None and token.token_type == TokenType.STRING and not negative:
            self.at += 1
            return token.text
        raise self.error(f"a value is expected, not {self._shown()}: text in single quotes, a number, true or false")

    def parenthesis(self) -> tuple[int, int]:
        """Read from ``(`` to its ``)``; returns where the text between them begins and ends."""
        opening = self.at
        self.symbol("(")
        self._skip(")")
        if self.at >= len(self._tokens):
            raise self.error("this parenthesis is not closed", at=opening)
        self.at += 1
        return self._tokens[opening].end + 1, self._tokens[self.at - 1].start

    def slice_until(self, *words: str) -> str:
        """Read up to one of these words outside of parentheses; the text before it."""
        begin = self.at
        self._skip(*words)
        if self.at >= len(self._tokens) or self.at == begin:
            if self.at > begin:
                raise self.error(f"{words[0]} is expected", at=begin)
            return ""
        return self.text[self._tokens[begin].start : self._tokens[self.at - 1].end + 1]

    def rest(self) -> tuple[int, int]:
        """Read all that is left, up to a semicolon; where its text begins, after the token before, and ends."""
        if self.is_done:
            raise self.error("the statement ends too early")
        begin = self._tokens[self.at - 1].end + 1
        while self.at < len(self._tokens) and self._tokens[self.at].token_type != TokenType.SEMICOLON:
            self.at += 1
        finish = self._tokens[self.at].start if self.at < len(self._tokens) else len(self.text)
        return begin, finish

    def _skip(self, *words: str) -> None:
        """Go to one of these words or signs outside of brackets, or to the end."""
        depth = 0
        while self.at < len(self._tokens):
            token = self._tokens[self.at]
            if not depth and (token.token_type == TokenType.SEMICOLON or any(_is(token, w) for w in words)):
                if token.token_type == TokenType.SEMICOLON:
                    self.at = len(self._tokens)
                return
            quoted = token.token_type in {TokenType.STRING, TokenType.IDENTIFIER}
            depth += 0 if quoted else (token.text in _OPEN) - (token.text in _CLOSE) if len(token.text) == 1 else 0
            if depth < 0:
                self.at = len(self._tokens)
                return
            self.at += 1

    def _shown(self) -> str:
        if self.is_done:
            return "the end"
        return repr(self._raw(self._tokens[self.at]))

    def _raw(self, token: Token) -> str:
        return self.text[token.start : token.end + 1]


_NO_NAMES: Final = {TokenType.STRING, TokenType.NUMBER}


def _is(token: Token, word: str) -> bool:
    if token.token_type in {TokenType.STRING, TokenType.IDENTIFIER}:
        return False
    return bool(token.text.upper() == word)
