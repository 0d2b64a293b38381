"""Conditions on single coded columns, asked of DuckDB for each value once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from sqlglot import exp

from counterbalance.engine.backends.duckdb.connection import scratch
from counterbalance.engine.sql.parse import to_sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_VALUES = "values__"


class Condition(NamedTuple):
    """A condition on one coded column."""

    column: str
    text: exp.Expr


Conditions = tuple[Condition, ...]
"""They hold together."""


def passed(
    conditions: Conditions,
    codes: Mapping[str, Sequence[str | None]],
    given: Mapping[str, Any],
) -> dict[str, NDArray[np.bool_]] | None:
    """Return by column whether conditions that hold together are true: of NULL first, then of each code.

    Args:
        conditions: Each on one coded column.
        codes: Dictionaries of coded columns.
        given: Values of ``$name``.

    Returns:
        ``None`` where a condition fails for some value, which the rows that are read may not have.
    """
    import duckdb

    found: dict[str, NDArray[np.bool_]] = {}
    for column, text in conditions:
        names = {n.name for n in text.find_all(exp.Placeholder, exp.Parameter)}
        if not names <= given.keys():
            return None
        values = pa.table(
            {"place": np.arange(len(codes[column]) + 1), column: pa.array([None, *codes[column]], pa.string())}
        )
        query = f"SELECT coalesce(({to_sql(text)}), false) FROM {_VALUES} ORDER BY place"
        try:
            with scratch() as cursor:
                cursor.register(_VALUES, values)
                rows = cursor.sql(query, params={n: given[n] for n in names} or None).fetchall()
        except duckdb.Error:
            return None
        own = np.array([bool(row[0]) for row in rows], np.bool_)
        found[column] = found[column] & own if column in found else own
    return found
