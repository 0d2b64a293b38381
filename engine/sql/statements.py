"""The engine's own statements: what declares, drops and refreshes columns, views and indexes.

``read`` knows them by their first words and leaves everything else to the session. They are read from the tokens of the
parser's own lexer, so that the text of an expression or a ``SELECT`` is kept as the user wrote it, comments included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from counterbalance.engine.errors import RefusedError, SqlError, did_you_mean
from counterbalance.engine.sql.ddl_lexer import Tokens
from counterbalance.engine.sql.parse import DIALECT, parse
from counterbalance.engine.sql.types import in_full

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FORMS: Final = {
    "add": "ALTER TABLE t ADD COLUMN [IF NOT EXISTS] c [TYPE] AS (expression) [WITH (schedule = '@daily')]",
    "drop column": "ALTER TABLE t DROP COLUMN [IF EXISTS] c [CASCADE]",
    "view": "CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] v WITH (key = 'image_id') AS SELECT …",
    "drop view": "DROP MATERIALIZED VIEW [IF EXISTS] v [CASCADE]",
    "index": "CREATE INDEX [IF NOT EXISTS] [name] ON t [USING kind] (column) [WITH (…)]",
    "drop index": "DROP INDEX [IF EXISTS] name",
    "refresh": "REFRESH [name, t.c, … | ALL] [WITH (full = true)]",
}
"""The form of every statement, for hints."""
_FIRST_WORDS: Final = re.compile(
    r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(ALTER|CREATE|DROP|REFRESH)\b(?:\s|--[^\n]*\n|/\*.*?\*/)*(\w*)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class AddColumn:
    """``ALTER TABLE … ADD COLUMN``: a generated column.

    Args:
        table: Its table or view.
        name: Its name.
        type: SQL type to cast to, if any.
        expression: What stands between the parentheses.
        if_not_exists: The same column that is there already is not an error.
        options: ``schedule``, ``sensitive``.
        recipe: The recipe that says it, if one does.
    """

    table: str
    name: str
    type: str | None
    expression: str
    if_not_exists: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    recipe: str | None = None


@dataclass(frozen=True, slots=True)
class DropColumn:
    """``ALTER TABLE … DROP COLUMN``."""

    table: str
    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class CreateView:
    """``CREATE MATERIALIZED VIEW``.

    Args:
        name: Its name.
        select: The query, as written.
        key: Key columns, as written.
        options: ``schedule``, ``sensitive``, ``errors``.
        replace: Take the place of the one that is there.
        if_not_exists: The same view that is there already is not an error.
        recipe: The recipe that says it, if one does.
    """

    name: str
    select: str
    key: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    replace: bool = False
    if_not_exists: bool = False
    recipe: str | None = None


@dataclass(frozen=True, slots=True)
class DropView:
    """``DROP MATERIALIZED VIEW``."""

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """``CREATE INDEX``; a name or a kind that is left out is chosen when it is declared."""

    name: str | None
    table: str
    kind: str | None
    columns: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    if_not_exists: bool = False
    recipe: str | None = None


@dataclass(frozen=True, slots=True)
class DropIndex:
    """``DROP INDEX``."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Refresh:
    """``REFRESH``: some targets, or all.

    Args:
        targets: Columns as ``table.column``, views, indexes, tables; empty for all.
        all: Whether it is about everything.
        options: ``full``, ``retry_errors``, ``due``, ``workers``, ``executor``, ``device``, ``batch_size``.
    """

    targets: tuple[str, ...]
    all: bool
    options: Mapping[str, Any] = field(default_factory=dict)


Declaration = AddColumn | DropColumn | CreateView | DropView | CreateIndex | DropIndex
Statement = Declaration | Refresh
COLUMN_OPTIONS: Final[dict[str, type]] = {"schedule": str, "sensitive": bool}
VIEW_OPTIONS: Final[dict[str, type]] = {"key": str, **COLUMN_OPTIONS, "errors": str}
REFRESH_OPTIONS: Final[dict[str, type]] = {
    "full": bool,
    "retry_errors": bool,
    "due": bool,
    "workers": int,
    "executor": str,
    "device": str,
    "batch_size": int,
}
TYPE_NAMES: Final = {bool: "true or false", str: "text in quotes", int: "a whole number above 0"}
OPTION_DOCS: Final = {
    "batch_size": "rows that a function is given at once",
    "device": "where functions run: auto, cpu, cuda (every GPU), cuda:0, cuda:0,1 …",
    "due": "only what a schedule asks for",
    "errors": "the column of a view that says why its rows were skipped; they go into meta.errors",
    "executor": "who computes: local, inline, ray, or an installed one",
    "full": "compute all rows again",
    "key": "the columns that tell rows apart, such as 'image_id' or 'image_id, label'",
    "retry_errors": "try rows again whose function failed",
    "schedule": "when it is due, in UTC: cron text such as '0 4 * * *', or @hourly, @daily, @weekly, @monthly, @yearly",
    "sensitive": "whether only a session with a purpose reads it; what reads closed columns is closed by itself",
    "workers": "processes that compute; one a device when left out",
}
"""What options in WITH say, for the reference."""


def read(text: str) -> Statement | None:
    """Return one of the engine's own statements, or ``None`` for anything else.

    Args:
        text: One statement; a trailing semicolon is fine.

    Raises:
        SqlError: It begins as one of them and goes on wrongly, or another one follows; carries line and column.
        RefusedError: The query of a view does more than read.

    Example:
        >>> read("ALTER TABLE captions ADD COLUMN mood AS (vader(text))").expression
        'vader(text)'
        >>> read("REFRESH captions.mood, v WITH (full = true)").targets
        ('captions.mood', 'v')
        >>> read("SELECT 1") is None
        True
    """
    reader = _reader(text)
    if reader is None:
        return None
    try:
        tokens = Tokens(text)
        statement = reader(tokens)
        tokens.end()
    except (SqlError, RefusedError) as error:
        if isinstance(error, SqlError) and error.sql is None:
            error.sql = text
        raise
    return statement


def _reader(text: str) -> Callable[[Tokens], Statement] | None:
    first = _FIRST_WORDS.match(text)
    if first is None:
        return None
    verb, second = first[1].upper(), first[2].upper()
    if verb == "REFRESH":
        return _refresh
    if verb == "ALTER":
        return _alter if second == "TABLE" else None
    if verb == "DROP":
        return {"MATERIALIZED": _drop_view, "INDEX": _drop_index}.get(second)
    if second == "OR":
        rest = re.match(r"\s*REPLACE\s+(\w+)", text[first.end() :], re.IGNORECASE)
        second = rest[1].upper() if rest else ""
    return {"MATERIALIZED": _create_view, "INDEX": _create_index}.get(second)


def _alter(tokens: Tokens) -> Statement:
    tokens.form = f"{FORMS['add']}, or {FORMS['drop column']}"
    tokens.words("ALTER", "TABLE")
    table = tokens.name("a table")
    if tokens.taken("DROP"):
        tokens.form = FORMS["drop column"]
        tokens.taken("COLUMN")
        if_exists = tokens.taken("IF", "EXISTS")
        return DropColumn(table, tokens.name("a column"), if_exists, _cascade(tokens))
    tokens.form = FORMS["add"]
    tokens.words("ADD")
    tokens.taken("COLUMN")
    if_not_exists = tokens.taken("IF", "NOT", "EXISTS")
    name = tokens.name("a column")
    kind = _type(tokens)
    if tokens.taken("GENERATED"):
        tokens.words("ALWAYS")
    tokens.words("AS")
    expression = _expression(tokens)
    tokens.taken("STORED")
    return AddColumn(table, name, kind, expression, if_not_exists, _options(tokens, COLUMN_OPTIONS))


def _type(tokens: Tokens) -> str | None:
    at = tokens.at
    text = tokens.slice_until("AS", "GENERATED")
    if not text:
        return None
    try:
        exp.DataType.build(in_full(text), dialect=DIALECT)
    except (ParseError, TokenError, ValueError, AttributeError, TypeError, IndexError, RecursionError):
        hint = "such as VARCHAR, INTEGER, DOUBLE, FLOAT[512]; FLOAT16[512] for vectors of half the bytes"
        raise tokens.error(f"no type {text!r}", at=at, code="E3142", hint=hint) from None
    return text


def _expression(tokens: Tokens) -> str:
    begin, finish = tokens.parenthesis()
    text = tokens.text[begin:finish]
    if not text.strip():
        raise tokens.error("the expression is empty", at=tokens.at - 1)
    _parsed(tokens, begin, finish, "SELECT ")
    return text.strip()


def _parsed(tokens: Tokens, begin: int, finish: int, prefix: str) -> None:
    """Refuse a part that does not parse, with its place in the whole text."""
    blank = re.sub(r"[^\n]", " ", tokens.text[:begin])
    try:
        parse(prefix + blank + tokens.text[begin:finish] + "\n")
    except SqlError as error:
        error.sql = tokens.text
        if error.line == 1 and error.column is not None:
            error.column = max(1, error.column - len(prefix))
        raise


def _create_view(tokens: Tokens) -> Statement:
    tokens.form = FORMS["view"]
    tokens.words("CREATE")
    replace = tokens.taken("OR", "REPLACE")
    tokens.words("MATERIALIZED", "VIEW")
    if_not_exists = tokens.taken("IF", "NOT", "EXISTS")
    if replace and if_not_exists:
        raise tokens.error("OR REPLACE and IF NOT EXISTS contradict each other", at=tokens.at - 1)
    name = tokens.name("a view")
    options = _options(tokens, VIEW_OPTIONS)
    if "key" not in options:
        raise tokens.error("a materialized view needs a key: the columns that name a row", code="E3157")
    key = tuple(part.strip() for part in options.pop("key").split(","))
    tokens.words("AS")
    begin, finish = tokens.rest()
    _parsed(tokens, begin, finish, "")
    return CreateView(name, tokens.text[begin:finish].strip(), key, options, replace, if_not_exists)


def _drop_view(tokens: Tokens) -> Statement:
    tokens.form = FORMS["drop view"]
    tokens.words("DROP", "MATERIALIZED", "VIEW")
    if_exists = tokens.taken("IF", "EXISTS")
    return DropView(tokens.name("a view"), if_exists, _cascade(tokens))


def _create_index(tokens: Tokens) -> Statement:
    tokens.form = FORMS["index"]
    tokens.words("CREATE", "INDEX")
    if_not_exists = tokens.taken("IF", "NOT", "EXISTS")
    name = None if tokens.taken("ON") else tokens.name("an index")
    if name is not None:
        tokens.words("ON")
    table = tokens.name("a table")
    kind = tokens.name("a kind of index") if tokens.taken("USING") else None
    columns = tokens.names_in_parenthesis("a column")
    return CreateIndex(name, table, kind, columns, _options(tokens, None), if_not_exists)


def _drop_index(tokens: Tokens) -> Statement:
    tokens.form = FORMS["drop index"]
    tokens.words("DROP", "INDEX")
    if_exists = tokens.taken("IF", "EXISTS")
    return DropIndex(tokens.name("an index"), if_exists)


def _refresh(tokens: Tokens) -> Statement:
    tokens.form = FORMS["refresh"]
    tokens.words("REFRESH")
    tokens.taken("MATERIALIZED", "VIEW")
    targets: list[str] = []
    everything = tokens.is_done or tokens.is_word("WITH") or tokens.taken("ALL")
    while not everything:
        targets.append(tokens.dotted("a column, view or index"))
        if not tokens.taken(","):
            break
    return Refresh(tuple(dict.fromkeys(targets)), everything, _options(tokens, REFRESH_OPTIONS))


def _cascade(tokens: Tokens) -> bool:
    return tokens.taken("CASCADE") or (tokens.taken("RESTRICT") and False)


def _options(tokens: Tokens, known: Mapping[str, type] | None) -> dict[str, Any]:
    """Return what stands after WITH; ``known`` names the options and their types, ``None`` leaves them to others."""
    found: dict[str, Any] = {}
    if not tokens.taken("WITH"):
        return found
    tokens.symbol("(")
    while True:
        at = tokens.at
        name = tokens.name("an option")
        if known is not None and name not in known:
            raise tokens.placed(_unknown(name, known), at)
        if name in found:
            raise tokens.error(f"option {name!r} is given twice", at=at)
        tokens.symbol("=")
        place = tokens.at
        value = tokens.value()
        if known is not None and not _fits(value, known[name]):
            raise tokens.placed(_unfit(name, known), place)
        found[name] = value
        if not tokens.taken(","):
            break
    tokens.symbol(")")
    return found


def check_options(given: Mapping[str, Any], known: Mapping[str, type]) -> None:
    """Refuse options that there are none of, or whose value is of another type.

    Raises:
        SqlError: There is one.

    Example:
        >>> check_options({"schedule": "@daily"}, COLUMN_OPTIONS)
    """
    for name, value in given.items():
        if name not in known:
            raise _unknown(name, known)
        if not _fits(value, known[name]):
            raise _unfit(name, known)


def _unknown(name: str, known: Mapping[str, type]) -> SqlError:
    hint = "options: " + ", ".join(known)
    return SqlError(f"no option {name!r}{did_you_mean(name, known)}", code="E3158", hint=hint)


def _unfit(name: str, known: Mapping[str, type]) -> SqlError:
    return SqlError(f"{name} must be {TYPE_NAMES[known[name]]}", code="E3159")


def _fits(value: Any, kind: type) -> bool:
    return type(value) is kind and (not isinstance(value, int) or kind is bool or value > 0)
