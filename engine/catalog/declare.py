"""Declaring and dropping the nouns of a lake: everything is checked first, and either all of it is done or nothing."""

from __future__ import annotations

from counterbalance.engine.catalog.columns import add_column
from counterbalance.engine.catalog.dropping import drop_column, drop_index, drop_view
from counterbalance.engine.catalog.indexing import create_index
from counterbalance.engine.catalog.views import create_view, must_rebuild

__all__ = ["add_column", "create_index", "create_view", "drop_column", "drop_index", "drop_view", "must_rebuild"]
