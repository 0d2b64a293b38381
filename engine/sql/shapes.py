"""Whether rows that were given for a relation parameter have the columns that its text asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from counterbalance.engine.errors import CounterbalanceError, SqlError, did_you_mean
from counterbalance.engine.sql import failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlglot import exp

    from counterbalance.engine.sql.bodies import Given
    from counterbalance.engine.sql.queries import QueryParameter

_TYPES: Final[dict[str, tuple[str, Callable[[pa.DataType], bool]]]] = {
    "id": ("BIGINT", pa.types.is_integer),
    "rank": ("INTEGER", pa.types.is_integer),
    "score": ("DOUBLE", lambda t: pa.types.is_floating(t) or pa.types.is_integer(t)),
}
_TEXT: Final[tuple[str, Callable[[pa.DataType], bool]]] = (
    "VARCHAR",
    lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_null(t) or pa.types.is_dictionary(t),
)
_CODES: Final = frozenset({"E3103", "E3105", "E3107", "E3108"})
"""Of errors that rows of another shape lead to: DuckDB's on names, conversions, input and types."""
_ABOUT_TYPES: Final = re.compile(r"compare|convert|cast|type|arguments", re.IGNORECASE)


def explained(
    error: SqlError,
    text: str,
    given: Iterable[tuple[Given, exp.Query]],
    columns: Callable[[exp.Query], pa.Schema],
) -> SqlError:
    """The error, or the one behind it: rows that were given for a parameter lack what it needs.

    Args:
        error: What DuckDB said.
        text: What the user wrote.
        given: Relation arguments with queries of their rows.
        columns: The columns of a query.
    """
    if error.code not in _CODES:
        return error
    for one, rows in given:
        try:
            found = misfit(one.parameter, one.where, one.shown, columns(rows), error)
        except CounterbalanceError:
            continue
        if found is not None:
            failures.point(found, one.shown, text)
            return found
    return error


def misfit(parameter: QueryParameter, where: str, shown: str, columns: pa.Schema, error: SqlError) -> SqlError | None:
    """The error that says what the rows lack, if that is what another error is about.

    Args:
        parameter: What they were given for.
        where: Its name and that of the audit or view.
        shown: The rows, as the user named them.
        columns: What they have.
        error: What DuckDB said.

    Example:
        >>> from counterbalance.engine.sql.queries import QueryParameter
        >>> groups = QueryParameter("groups", "relation", None, "group relation (image_id, label)")
        >>> said = SqlError('Referenced column "label" not found in FROM clause!')
        >>> found = misfit(groups, "'groups' of f()", "images", pa.schema([("image_id", pa.int64())]), said)
        >>> print(found.message)
        'groups' of f() needs a column 'label', which images has not
        >>> print(found.hint)
        it takes (image_id BIGINT, label VARCHAR); images has image_id
    """
    wanted = parameter.columns
    takes = ", ".join(f"{name} {_type(name)[0]}" for name in wanted)
    hint = f"it takes ({takes}); {shown} has {', '.join(columns.names)}"
    absent = [c for c in wanted if c not in columns.names and re.search(rf"\b{c}\b", error.message)]
    if absent:
        meant = did_you_mean(absent[0], columns.names)
        return SqlError(f"{where} needs a column {absent[0]!r}, which {shown} has not{meant}", code="E3131", hint=hint)
    odd = [c for c in wanted if c in columns.names and not _type(c)[1](columns.field(c).type)]
    if odd and _ABOUT_TYPES.search(error.message):
        kind = columns.field(odd[0]).type
        return SqlError(f"{where} needs {_type(odd[0])[0]} in column {odd[0]!r}, not {kind}", code="E3131", hint=hint)
    return None


def _type(column: str) -> tuple[str, Callable[[pa.DataType], bool]]:
    return _TYPES.get(column.rsplit("_", 1)[-1], _TEXT)
