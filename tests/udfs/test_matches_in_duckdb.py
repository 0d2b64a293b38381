"""The text functions give the same from DuckDB's threads, 2,048 rows at a time, as on whole columns."""

from __future__ import annotations

import threading

import duckdb
import pyarrow as pa
import pytest

from counterbalance.engine.backends.duckdb.register import register_function
from counterbalance.engine.functions import functions
from counterbalance.udfs import gender, words

CALLS = {
    "gender_words": {"rule": "words"},
    "gender_label": {"rule": "gensynth"},
    "neutralize": {"mode": "published_delete"},
    "swap_gender": {"to": "female"},
    "lemmas": {},
    "matches": {"terms": ["money laundering", "looting"]},
    "match_terms": {"terms": "crime_words"},
    "country_mentions": {"matching": "cased", "output": "iso3"},
}


@pytest.fixture(scope="module")
def texts():
    own = [
        "A man looted his shop .",
        "money from laundering in Germany",
        None,
        "",
        "her caf\u00e9\u2019s murder",
        "a dog",
    ]
    return pa.array([f"{text} {i}" if text else text for i in range(4_000) for text in own])


@pytest.mark.parametrize("name", CALLS)
def test_same_from_sql(texts, name):
    function = functions()[name]
    whole = getattr(gender if hasattr(gender, name) else words, name)(texts, **CALLS[name])
    with duckdb.connect(config={"threads": 4}) as connection:
        called = register_function(connection, function, CALLS[name], {}, [], threading.Event())
        connection.register("source", pa.table({"i": range(len(texts)), "text": texts}))
        connection.sql("CREATE TABLE t AS FROM source")
        result = connection.sql(f"SELECT {called}(text) AS r FROM t ORDER BY i").to_arrow_table()
    assert result["r"].to_pylist() == whole.to_pylist()


def test_signatures():
    known = functions()
    assert {n: known[n].signature for n in CALLS} == {
        "gender_words": "gender_words(text[, rule])",
        "gender_label": "gender_label(text[, rule])",
        "neutralize": "neutralize(text[, mode])",
        "swap_gender": "swap_gender(text, to)",
        "lemmas": "lemmas(text)",
        "matches": "matches(text, terms)",
        "match_terms": "match_terms(text, terms)",
        "country_mentions": "country_mentions(text[, matching, output])",
    }
    assert all(known[n].doc for n in CALLS)
