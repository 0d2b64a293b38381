"""Which of the rows at hand differ from the rows stored under the same keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import lance
    import numpy as np
    from numpy.typing import NDArray

_PLACE: Final = "uri"
_ORIGIN: Final = "source"
_FIRST: Final = f'CASE WHEN s."{_ORIGIN}" IS NULL THEN n."{_ORIGIN}" END'
_WEB: Final = "regexp_matches({}.uri, '^https?://')"
_SAME_NAME: Final = (
    "ends_with(s.uri, '/' || CASE WHEN " + _WEB.format("n") + r" THEN regexp_extract(n.uri, '[^/]+$') ELSE n.uri END)"
)
_KEPT: Final = f"{_SAME_NAME} AND NOT ({_WEB.format('n')} AND {_WEB.format('s')})"
_SAID_PLACE: Final = f"CASE WHEN NOT coalesce({_KEPT}, false) THEN n.uri END"


def changed_rows(
    dataset: lance.LanceDataset,
    key: str,
    columns: Mapping[str, int],
    rows: pa.Table,
    row_ids: NDArray[np.int64],
    told: NDArray[np.int64],
    measures: Mapping[str, Sequence[str]],
) -> pa.Table:
    """Return the rows that say something new, completed with what is stored where they say nothing.

    Args:
        dataset: The stored table.
        key: Its key column.
        columns: The columns to compare, each with its bit; a NULL in ``rows`` agrees with anything, and a ``uri`` that is
            only a name, or an address in the web, with a place that is none and ends in that name: pictures whose folder
            was named once stay where they are. Of several sources, or spellings of one, the first stays the ``source``.
        rows: Rows whose keys are all stored.
        row_ids: Lance row id of each.
        told: Bits of the columns that this run told of each already.
        measures: By column those that it tells something of: where one of them changes, it is what ``rows`` say, or NULL.

    Returns:
        Key and ``columns`` of the changed rows, in the order of ``rows``, plus ``__position`` (row number in ``rows``)
        and ``__clash``: names of the columns that would change and were told already, or ``""``.
    """
    import duckdb

    stored = dataset._take_rows(row_ids.tolist(), columns=[key, *columns])  # noqa: SLF001 - the documented way by row id
    rows = rows.select([key, *columns]).append_column("__position", pa.array(range(len(rows)), pa.int64()))
    asked = rows.append_column("__told", pa.array(told))
    said = {c: f'n."{c}"' for c in columns} | {_PLACE: _SAID_PLACE, _ORIGIN: _FIRST}
    differs = {c: f'({said[c]} IS NOT NULL AND {said[c]} IS DISTINCT FROM s."{c}")' for c in columns}
    names = ", ".join(f"CASE WHEN {d} AND n.__told & {columns[c]} <> 0 THEN '{c}' END" for c, d in differs.items())
    clash = f"concat_ws(', ', {names})"
    others = {c: [m for m in measures.get(c, ()) if m in columns] for c in columns}
    stands = {
        c: f"n.__told & {columns[c]} = 0 AND (" + " OR ".join(f's."{m}" IS NOT NULL AND {differs[m]}' for m in of) + ")"
        for c, of in others.items()
        if of
    }
    kept = {c: f'CASE WHEN NOT ({stands[c]}) THEN s."{c}" END' if c in stands else f's."{c}"' for c in columns}
    merged = ", ".join(f'coalesce({said[c]}, {kept[c]}) AS "{c}"' for c in columns)
    with duckdb.connect() as connection:
        connection.register("n", asked)
        connection.register("s", stored)
        query = (
            f'SELECT n."{key}", {merged}, n.__position, {clash} AS __clash FROM n JOIN s ON n."{key}" = s."{key}" '
            f"WHERE {' OR '.join(differs.values())} ORDER BY n.__position"
        )
        return connection.sql(query).to_arrow_table().cast(_schema(rows, key, columns))


def _schema(rows: pa.Table, key: str, columns: Mapping[str, int]) -> pa.Schema:
    fields = [rows.schema.field(c) for c in (key, *columns, "__position")]
    return pa.schema([*fields, pa.field("__clash", pa.string())])
