"""Declaring and dropping the nouns of a lake: everything is checked first, and either all of it is done or nothing."""

from __future__ import annotations

from counterbalance.engine.catalog.ddl.add_column import add_column
from counterbalance.engine.catalog.ddl.create_index import create_index
from counterbalance.engine.catalog.ddl.create_view import create_view, must_rebuild
from counterbalance.engine.catalog.ddl.drop import drop_column, drop_index, drop_view

__all__ = ["add_column", "create_index", "create_view", "drop_column", "drop_index", "drop_view", "must_rebuild"]
