"""Connections of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterbalance.engine import spilling
from counterbalance.engine.errors import RequestError

if TYPE_CHECKING:
    import duckdb


def connect(spill: str, memory: str | None, threads: int | None) -> duckdb.DuckDBPyConnection:
    """A closed connection: no files, no network, no extensions, settings locked; it spills into a private folder."""
    import duckdb

    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": spill,
        "preserve_insertion_order": "true",
    }
    if memory is not None:
        config["memory_limit"] = memory
    if threads is not None:
        config["threads"] = str(threads)
    try:
        connection = duckdb.connect(":memory:", config=config)
    except duckdb.Error as error:
        raise RequestError(f"cannot open a session: {str(error).splitlines()[0]}", code="E3041") from error
    connection.execute(f"SET max_temp_directory_size = '{spilling.most_bytes(spill)}'")  # as a config it is not kept to
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection
