"""Calls whose results are not the same tomorrow, or in another session."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from counterbalance.engine.functions import functions
from counterbalance.engine.sql.parse import to_sql

VOLATILE: Final = frozenset(
    {
        "random", "rand", "setseed", "uuid", "gen_random_uuid", "uuidv4", "uuidv7", "now", "today", "current_timestamp",
        "currenttimestamp", "current_date", "currentdate", "current_time", "currenttime", "current_localtimestamp",
        "localtimestamp", "localtime", "get_current_timestamp", "get_current_time", "current_localtime", "ago",
        "transaction_timestamp", "txid_current", "current_user", "session_user", "current_role", "user", "version",
        "current_setting", "getvariable", "current_database", "current_catalog", "current_schema", "current_schemas",
        "in_search_path", "current_query", "current_query_id", "current_transaction_id", "current_connection_id",
        "nextval", "currval", "setval", "stats", "vector_type", "write_log", "sleep_ms", "pg_conf_load_time",
        "pg_postmaster_start_time",
    }
)  # fmt: skip
"""Functions whose results are not the same tomorrow or in another session; nothing that is stored may call them."""


def duckdb_name(call: exp.Func) -> str:
    """Return what DuckDB calls a function, in lower case.

    Example:
        >>> import sqlglot
        >>> duckdb_name(sqlglot.parse_one("VERSION()", dialect="duckdb"))
        'version'
    """
    name = str(call.name) if isinstance(call, exp.Anonymous) else to_sql(call).partition("(")[0]
    return name.strip().lower()


def is_volatile(call: exp.Func) -> bool:
    """Tell whether a call's result is another tomorrow, or in another session."""
    own = str(call.name if isinstance(call, exp.Anonymous) else call.sql_name()).lower()
    if own in functions():
        return False
    names = {duckdb_name(call), own}
    return bool(names & VOLATILE) or ("age" in names and len(call.expressions) == 1)
