"""Tables of a lake inside DuckDB as well: what it answers there, a session must answer too."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import duckdb

from counterbalance.engine.errors import CounterbalanceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session

    Both = tuple[Session, duckdb.DuckDBPyConnection]


@contextlib.contextmanager
def beside_duckdb(lake: Lake, *names: str) -> Iterator[Both]:
    """Open a session on a lake, and a DuckDB connection with the same tables inside."""
    with lake.session() as session, duckdb.connect() as connection:
        for name in names:
            connection.register("rows", session.sql(f"SELECT * FROM {name}").to_arrow())
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
        yield session, connection


def agree(both: Both, query: str, most: int = 1000) -> None:
    """Check that both give the same names, types and rows, in any order, or an error."""
    session, connection = both
    ours = _outcome(lambda: session.sql(query).to_arrow())
    theirs = _outcome(lambda: connection.sql(query).limit(most).to_arrow_table())
    assert ours == theirs, session.sql(query).sql


def _outcome(run: Callable[[], pa.Table]) -> object:
    try:
        found = run()
    except (duckdb.Error, CounterbalanceError):
        return "error"
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    return found.column_names, found.schema.types, sorted(map(str, rows))
