"""A list of values goes to the ``?`` of a query in the order in which they are written, beside values by name."""

from __future__ import annotations

import pytest

import counterbalance as cb


@pytest.mark.parametrize(
    ("text", "values", "rows"),
    [
        ("SELECT key FROM images WHERE key = ? OR width = ? ORDER BY key", ["000000139", 200], None),
        ("SELECT ?, '?', ? -- ?", ["a", 5], [("a", "?", 5)]),
        ("FROM (SELECT ? AS a) SELECT a, ?", [1, 2], [(1, 2)]),
        ("WITH w AS (SELECT ? AS a) SELECT a, ? FROM w LIMIT ?", [1, 2, 3], [(1, 2)]),
        ("SELECT ?, ?", ("b", "a"), [("b", "a")]),
        ("SELECT label FROM caption_gender WHERE label = ? LIMIT 0", ["man"], []),
        ("SELECT 1", [], [(1,)]),
        ("SELECT ?", [[1, 2]], [([1, 2],)]),
        ("SELECT ?::INT + 1, ?::VARCHAR", ["4", 5], [(5, "5")]),
    ],
)
def test_in_order(lake: cb.Lake, text: str, values: list[object], rows: list[object] | None) -> None:
    found = lake.sql(text, params=values).fetchall()
    assert rows is None or found == rows
    assert lake.sql(text, values).fetchall() == found
    with lake.session() as session:
        assert session.sql(text, params=values).fetchall() == found


def test_beside_names(lake: cb.Lake) -> None:
    assert lake.sql("SELECT ?, $word, ?", params=[1, 2], word="b").fetchall() == [(1, "b", 2)]
    assert lake.sql("SELECT $params", {"params": 3}).fetchall() == [(3,)]
    assert lake.sql("SELECT $1", {"1": 3}).fetchall() == [(3,)]


def test_with_limits(lake: cb.Lake) -> None:
    assert lake.sql("SELECT ?, ?", params=["a", 1], timeout=60).fetchall() == [("a", 1)]


@pytest.mark.parametrize(
    ("text", "values", "told"),
    [
        ("SELECT ?", [], "1 place for a value \\(\\?\\), and 0 values are given"),
        ("SELECT ?, ?", [1], "2 places for values \\(\\?\\), and 1 value is given"),
        ("SELECT ?", [1, 2], "1 place for a value \\(\\?\\), and 2 values are given"),
        ("SELECT 1", [1], "0 places for values \\(\\?\\), and 1 value is given"),
        ("SELECT ?", None, "1 place for a value \\(\\?\\), and 0 values are given"),
    ],
)
def test_too_few_and_too_many_are_counted(lake: cb.Lake, text: str, values: list[object] | None, told: str) -> None:
    with pytest.raises(cb.CounterbalanceError, match=told) as error:
        lake.sql(text, params=values).fetchall()
    assert error.value.code == "E3121"


def test_places_in_errors_are_those_of_the_text(lake: cb.Lake) -> None:
    with pytest.raises(cb.CounterbalanceError, match="no column 'nothing'") as error:
        lake.sql("SELECT ?, nothing FROM images", params=[1]).fetchall()
    assert getattr(error.value, "column", None) == 11
