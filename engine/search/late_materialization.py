"""What a search found, as a relation: key, ``rank`` and ``score``, and the other columns of those rows, read when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterbalance.engine.schema import ROW
from counterbalance.engine.store.tables import rows_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from counterbalance.engine.search.index_search import Stored


class Found:
    """Rows of a stored table that a search found, best first.

    A column of the table that is itself called ``rank`` or ``score`` is left out.

    Args:
        table: The table.
        hits: Its key, ``rank``, ``score`` and ``_rowid``.
    """

    def __init__(self, table: Stored, hits: pa.Table) -> None:
        self._table, self._hits = table, hits
        own = hits.schema.remove(hits.schema.get_field_index(ROW))
        taken = {n.lower() for n in own.names}
        self.schema = pa.schema([*own, *(f for f in table.schema if f.name.lower() not in taken)])

    def __len__(self) -> int:
        return len(self._hits)

    def rows(self, names: Sequence[str]) -> pa.Table:
        """Return these columns; nothing is read from the table when the search knows them all."""
        others = [n for n in names if n not in self._hits.column_names]
        read = self._read(others) if others else self._hits
        columns = [read[n] if n in others else self._hits[n] for n in names]
        return pa.table(columns, schema=pa.schema([self.schema.field(n) for n in names]))

    def _read(self, names: Sequence[str]) -> pa.Table:
        schema = pa.schema([self.schema.field(n) for n in names])
        return rows_at(self._table.dataset, self._hits[ROW], schema)

    def register(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        """Make them readable under a name; without DuckDB's source protocol (``backends/duckdb/scan.py``) all is read at once."""
        add = getattr(connection, "_register_arrow_source", None)
        if add is None:
            connection.register(name, self.rows(self.schema.names))
        else:
            add(name, _source_class()(self))


def _source_class() -> Any:
    from duckdb._sources.arrow import ArrowScanSource

    class FoundSource(ArrowScanSource):  # type: ignore[misc, unused-ignore]
        """The same, as DuckDB's scan wants it."""

        schema_is_stable = True

        def rows(self) -> int:
            """Return how many there are, for the optimiser."""
            return len(self.obj)

        def __arrow_c_schema__(self) -> Any:
            return self.obj.schema.__arrow_c_schema__()

        def stream(self, columns: Sequence[int] | None, filters: Sequence[Any]) -> tuple[Any, bool]:
            """Return the wanted columns."""
            del filters
            names = self.obj.schema.names
            wanted = names if columns is None else [names[i] for i in columns]
            return self.obj.rows(wanted).__arrow_c_stream__(), columns is not None

    return FoundSource
