"""Names that may be given to columns, views and indexes."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import SqlError
from counterbalance.engine.schema import BASE_TABLES, CODE_SUFFIX, KEY_INDEX, STAMP_SUFFIX
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import queries
from counterbalance.engine.sql.call_syntax import callable_names
from counterbalance.engine.sql.parse import TABLE_FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Collection

    from counterbalance.engine.catalog.planning import Catalog

_WORD: Final = re.compile(r"[A-Za-z]\w*", re.ASCII)
_HIDDEN: Final = (STAMP_SUFFIX, CODE_SUFFIX, KEY_INDEX)
_WORDS_OF_STATEMENTS: Final = frozenset({"all", "main", "meta", "lists", "temp", "system", "sensitive", "refresh"})
_LONGEST: Final = 64


def check(name: str, what: str) -> None:
    """Refuse a name that would have to be quoted, or that the engine keeps for itself.

    Raises:
        SqlError: It is one.

    Example:
        >>> check("mood_2", "a column")
    """
    hint = "a name is a letter, then letters, digits and '_'"
    if not _WORD.fullmatch(name):
        raise SqlError(f"{name!r} is not a name for {what}", code="E3170", hint=hint)
    if len(name) > _LONGEST:
        raise SqlError(
            f"{name[:20] + '…'!r} is not a name for {what}: it has {len(name)} characters",
            code="E3170",
            hint=f"a name has at most {_LONGEST}",
        )
    if name.lower().endswith(_HIDDEN):
        raise SqlError(
            f"{name!r} is not a name for {what}: such names are hidden columns of the engine", code="E3170", hint=hint
        )
    if name.lower() in reserved():
        raise SqlError(f"{name!r} is a word of SQL, and no name for {what}", code="E3170", hint="take another name")


@cache
def reserved() -> frozenset[str]:
    """Return words that cannot stand as a name without quotes."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        words = connection.sql(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
        ).fetchall()
    return frozenset(word for (word,) in words)


def check_column(catalog: Catalog, table: str, name: str) -> None:
    """Refuse a name that cannot be a new column of a table.

    Raises:
        SqlError: It is in use, or cannot be a name.
    """
    check(name, "a column")
    if name.lower() in {c.lower() for c in catalog.types(table)}:
        if name in catalog.definitions.columns(table):
            drop = f"ALTER TABLE {table} DROP COLUMN {name}"
            raise in_use(f"{table} has a generated column {name!r}", f"to declare it anew: {drop}")
        raise in_use(f"{table} has a column {name!r}")


def check_relation(catalog: Catalog, name: str, what: str) -> None:
    """Refuse a name that something else has that can stand in FROM or after REFRESH.

    Raises:
        SqlError: It is in use, or cannot be a name.
    """
    check(name, what)
    if name != name.lower():
        raise SqlError(
            f"{name!r} is not a name for {what}", code="E3170", hint=f"such names are in lower case: {name.lower()}"
        )
    user = _user_of(catalog, name)
    if user is not None:
        raise in_use(f"{name!r} is {user}")


def in_use(what: str, hint: str = "take another name") -> SqlError:
    """Return the error for a name that something else has."""
    return SqlError(f"{what} already", code="E3171", hint=hint)


def _user_of(catalog: Catalog, name: str) -> str | None:
    known = queries.queries()
    taken: dict[str, Collection[str]] = {
        "a base table": BASE_TABLES,
        "a materialized view": catalog.definitions.views(),
        "an index": catalog.definitions.indexes(),
        "a shipped query": known,
        "a table function": {*SIGNATURES, *TABLE_FUNCTIONS},
        "a function": callable_names(),
        "a word of the engine": _WORDS_OF_STATEMENTS,
        "a table of this lake": catalog.stored,
    }
    return next((what for what, names in taken.items() if name in names), None)
