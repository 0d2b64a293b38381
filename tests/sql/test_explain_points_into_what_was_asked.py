"""EXPLAIN is the engine's word, not the user's: errors of a plan point into the query that was given."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import SqlError


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT nope FROM captions", "LINE 1: SELECT nope FROM captions\n               ^"),
        ("SELECT 1\nFROM captions\nWHERE nope", "LINE 3: WHERE nope\n              ^"),
        ("SELECT (1", "LINE 1: SELECT (1\n"),
    ],
)
def test_place(lake, text, place):
    with lake.session() as session, pytest.raises(SqlError) as caught:
        session.explain(text)
    assert caught.value.excerpt().startswith(place)
