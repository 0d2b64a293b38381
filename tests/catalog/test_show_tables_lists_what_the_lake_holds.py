"""SHOW TABLES lists the tables and materialized views of a lake; SHOW ALL TABLES whatever can be named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from counterbalance.engine.schema import BASE_TABLES

if TYPE_CHECKING:
    import counterbalance as cb


@pytest.mark.parametrize("text", ["SHOW TABLES", "  show\n tables;"])
def test_its_own(lake: cb.Lake, text: str) -> None:
    lake.create_materialized_view("few", "SELECT image_id FROM images WHERE width > 300", "image_id")
    lake.refresh()
    result = lake.sql(text)
    assert {name: kind for name, kind, _ in result.fetchall()} == {
        **dict.fromkeys(BASE_TABLES, "table"),
        "few": "materialized view",
    }
    assert any("SHOW ALL TABLES" in note for note in result.notes)


def test_all(lake: cb.Lake) -> None:
    result = lake.sql("SHOW ALL TABLES")
    assert {kind for _, kind, _ in result.fetchall()} >= {"table", "view", "audit", "meta", "list", "table function"}
    assert result.notes == []
