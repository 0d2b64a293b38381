"""Whether rows that were given for a relation parameter have the columns that it asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from counterbalance.engine.errors import CounterbalanceError, SqlError, did_you_mean
from counterbalance.engine.sql.diagnostics import engine_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from counterbalance.engine.sql.plan import Given, Plan
    from counterbalance.engine.sql.query_model import QueryParameter


def _number(of: pa.DataType) -> bool:
    is_any = pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_null
    return any(check(of) for check in is_any)


def _vector(of: pa.DataType) -> bool:
    is_any = pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_null
    return any(check(of) for check in is_any)


def _text(of: pa.DataType) -> bool:
    is_any = pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary, pa.types.is_null
    return any(check(of) for check in is_any)


_Type = tuple[str, "Callable[[pa.DataType], bool]"]
_UNKNOWN: Final[_Type] = ("", lambda _: True)
_TYPES: Final[dict[str, _Type]] = {
    "id": ("BIGINT", pa.types.is_integer),
    "pair_id": _UNKNOWN,  # of any type: it is only compared
    "rank": ("INTEGER", pa.types.is_integer),
    **dict.fromkeys(
        ("score", "x", "y", "width", "height", "rr", "r_o", "o_r", "cc", "c_o", "o_c"), ("DOUBLE", _number)
    ),
    **dict.fromkeys(("embedding", "grid", "text_o", "image_o", "text_c", "drawn_o", "drawn_c"), ("FLOAT[]", _vector)),
    **dict.fromkeys(
        ("annotator", "attribute", "category", "class", "concept", "counterfactual", "kind", "label", "original"),
        ("VARCHAR", _text),
    ),
    **dict.fromkeys(("predicted", "scope", "template", "term", "text", "topic", "word"), ("VARCHAR", _text)),
}
"""Of columns by name, or by the last part of it; nothing is said of others."""
_CODES: Final = frozenset({"E3103", "E3105", "E3107"})
"""Of errors that rows of another shape lead to: DuckDB's on names, conversions, input and types."""
_ABOUT_TYPES: Final = re.compile(r"compare|convert|cast|type|arguments", re.IGNORECASE)


def explained(
    error: SqlError,
    text: str,
    given: Iterable[tuple[Given, Plan]],
    columns: Callable[[Plan], pa.Schema],
) -> SqlError:
    """Return the error, or the one behind it: rows that were given for a parameter lack what it needs.

    Args:
        error: What DuckDB said.
        text: What the user wrote.
        given: Relation arguments with plans of their rows.
        columns: The columns of a plan.
    """
    if error.code not in _CODES:
        return error
    for one, rows in given:
        try:
            found = misfit(one.parameter, one.where, one.shown, columns(rows), error)
        except CounterbalanceError:
            continue
        if found is not None:
            engine_errors.located(found, text)
            if found.line is None:
                engine_errors.point(found, one.shown, text)
            return found
    return error


def misfit(parameter: QueryParameter, where: str, shown: str, columns: pa.Schema, error: SqlError) -> SqlError | None:
    """Return the error that says what the rows lack, if that is what another error is about.

    Args:
        parameter: What they were given for.
        where: Its name and that of the audit or view.
        shown: The rows, as the user named them.
        columns: What they have.
        error: What DuckDB said.

    Example:
        >>> from counterbalance.engine.sql.query_model import QueryParameter
        >>> groups = QueryParameter("groups", "relation", columns=("image_id", "label"))
        >>> said = SqlError('Referenced column "label" not found in FROM clause!')
        >>> found = misfit(groups, "'groups' of f()", "images", pa.schema([("image_id", pa.int64())]), said)
        >>> print(found.message)
        'groups' of f() needs a column 'label'; images has none
        >>> print(found.hint)
        it takes (image_id BIGINT, label VARCHAR); images has image_id
    """
    wanted = parameter.columns
    takes = ", ".join(f"{name} {_type(name)[0]}".rstrip() for name in wanted)
    hint = f"it takes ({takes}); {shown} has {', '.join(columns.names)}"
    absent = [c for c in wanted if c not in columns.names and re.search(rf"\b{c}\b", error.message)]
    if absent:
        meant = did_you_mean(absent[0], columns.names)
        return SqlError(f"{where} needs a column {absent[0]!r}; {shown} has none{meant}", code="E3131", hint=hint)
    odd = [c for c in wanted if c in columns.names and not _type(c)[1](columns.field(c).type)]
    if odd and _ABOUT_TYPES.search(error.message):
        kind = columns.field(odd[0]).type
        return SqlError(f"{where} needs {_type(odd[0])[0]} in column {odd[0]!r}, not {kind}", code="E3131", hint=hint)
    return None


def _type(column: str) -> _Type:
    return _TYPES.get(column) or _TYPES.get(column.rsplit("_", 1)[-1], _UNKNOWN)
