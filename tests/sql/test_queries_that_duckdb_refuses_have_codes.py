"""What DuckDB refuses, and what no statement can be, is an error of the SQL with a code of its own."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import CounterbalanceError

REFUSED = {
    "SELECT list_sort([1], 'x')": "E3100",
    "SELECT 'x'::INTEGER": "E3105",
    "SELECT 127::TINYINT + 1::TINYINT": "E3106",
    "SELECT regexp_matches(text, '(') FROM captions": "E3107",
    "SELECT 1 AS a\x00b": "E3206",
    "SELECT * FROM top_k((SELECT caption_id AS query_id, text FROM captions), "
    "(SELECT caption_id AS item_id, text FROM captions), k := 1, among := (SELECT 'a' AS word))": "E3129",
    "ALTER TABLE captions ADD COLUMN c AS (text, origin)": "E3140",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(lake, text):
    with pytest.raises(CounterbalanceError) as caught:
        lake.sql(text).fetchall()
    assert caught.value.code == REFUSED[text]
