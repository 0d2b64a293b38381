"""Statements that would take minutes to plan are refused before they are parsed; long lists of values pass."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import LimitError
from counterbalance.engine.sql import parse

HUGE = {
    "a sum of 50,000": "SELECT 1" + " + 1" * 50_000,
    "a condition of 20,000 parts": "SELECT 1 FROM images WHERE image_id = 1" + " OR image_id = 2" * 20_000,
    "200,000 values": f"SELECT 1 IN ({', '.join(map(str, range(200_000)))})",
    "a text of 3 MB": f"SELECT '{'x' * 3_000_000}'",
    "brackets": "SELECT " + "(" * 4000 + "1" + ")" * 4000,
}


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", HUGE)
def test_it_is_refused(lake, name, monkeypatch):
    monkeypatch.setattr(parse.DuckDB, "parser", lambda *_, **__: pytest.fail("it was parsed"))
    monkeypatch.setattr(parse._Plain, "parser", lambda *_, **__: pytest.fail("it was parsed"))
    for ask in (lake.sql, lake.session().expand):
        with pytest.raises(LimitError) as caught:
            ask(HUGE[name])
        assert caught.value.code == "E5005"
        assert "mine=table" in caught.value.hint


def test_lists_that_people_write_pass(lake):
    keys = ", ".join(["'one'", "'six'", *(f"'{number:060}'" for number in range(10_000))])
    assert lake.sql(f"SELECT key FROM images WHERE key IN ({keys}) ORDER BY 1").fetchall() == [("one",), ("six",)]


def test_long_tables_of_values_pass(lake):
    rows = ", ".join(f"({number}, 'a')" for number in range(3_000))
    assert lake.sql(f"SELECT count(*) FROM (VALUES {rows}) v(a, b)").fetchall() == [(3000,)]


def test_a_statement_that_declares_is_bounded_too(lake):
    with pytest.raises(LimitError, match="20,000 words"):
        lake.sql(f"CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS {HUGE['a condition of 20,000 parts']}")
