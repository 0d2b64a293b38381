"""Queries over base tables as SQL of another engine, to be run there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from counterbalance.engine import lists
from counterbalance.engine.backends.spark.dialect import translated
from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import functions
from counterbalance.engine.sql.parse import to_sql

if TYPE_CHECKING:
    Dialect = Literal["duckdb", "spark", "trino"]


def written(tree: exp.Expr, dialect: Dialect) -> str:
    """Return a query as the text of an engine; word lists are written out in it, so that it reads base tables alone.

    Args:
        tree: The query, over base tables, word lists and functions. It is changed.
        dialect: Whose SQL.

    Raises:
        RequestError: It calls Python functions, which Trino does not have (``E3476``).
    """
    for table in list(tree.find_all(exp.Table)):
        if table.db.lower() == "lists" and table.name.lower() in lists.names():
            table.replace(_rows_of(table))
    if dialect == "trino":
        _refuse_functions(tree)
        return tree.sql("trino", pretty=True, comments=False)
    text = to_sql(tree, pretty=True)
    return text if dialect == "duckdb" else translated(text, own=functions()).sql("spark", pretty=True, comments=False)


def _rows_of(table: exp.Table) -> exp.Expr:
    """Return a word list as the rows that it holds, under the name that it has in the query."""
    rows = lists.wordlist(table.name.lower())
    values = [tuple(row.values()) for row in rows.to_pylist()]
    return exp.values(values, alias=table.alias_or_name, columns=rows.column_names)


def _refuse_functions(tree: exp.Expr) -> None:
    called = sorted({str(call.name).lower() for call in tree.find_all(exp.Anonymous)} & functions().keys())
    if called:
        raise RequestError(
            f"{', '.join(called)}: functions in Python, which Trino does not have",
            code="E3476",
            hint="run it on Spark, or keep what they give as a generated column and read that",
        )
