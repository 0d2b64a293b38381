"""VADER's functions give the same results from many threads at once, also when DuckDB calls them."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pyarrow as pa
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from counterbalance.udfs import vader_words
from counterbalance.udfs.vader import vader, vader_scores, vader_tokens

WORDS = "a man with his dog on the street GOOD bad happy not very no but never so kind of least 💋 © great! awful?"


def texts(count):
    draw = random.Random(count)
    return [
        " ".join(draw.choices([*WORDS.split(), f"w{draw.randrange(count)}"], k=draw.randrange(12)))
        for _ in range(count)
    ]


def test_threads_that_start_together_agree():
    given = texts(6_000)
    analyzer = SentimentIntensityAnalyzer()
    wanted = [analyzer.polarity_scores(text)["compound"] for text in given]
    vader_words.load.cache_clear()
    vader_words.reference.cache_clear()
    start = threading.Barrier(8)

    def work(number):
        start.wait()
        size = 500 + 97 * number
        parts = [vader(pa.array(given[at : at + size])).to_pylist() for at in range(0, len(given), size)]
        return [value for part in parts for value in part]

    with ThreadPoolExecutor(8) as pool:
        assert all(result == wanted for result in pool.map(work, range(8)))


def test_duckdb_calls_them_with_small_batches_from_its_threads():
    given = texts(10_000) * 26  # more than two row groups
    wanted = vader(pa.array(given)).to_pylist()
    assert len(set(wanted)) > 100
    sizes = set()

    def watched(text):
        sizes.add(len(text))
        return vader(text)

    with duckdb.connect(config={"threads": 4}) as connection:
        text, tokens = duckdb.sqltype("VARCHAR"), duckdb.sqltype("VARCHAR[]")
        scores = duckdb.sqltype("STRUCT(neg DOUBLE, neu DOUBLE, pos DOUBLE, compound DOUBLE)")
        connection.create_function("vader", watched, [text], duckdb.sqltype("DOUBLE"), type="arrow")
        connection.create_function(
            "vader_scores", lambda text: vader_scores(text, "vader"), [text], scores, type="arrow"
        )
        connection.create_function(
            "vader_tokens",
            lambda tokens: vader_tokens(tokens, "vader"),
            [tokens],
            duckdb.sqltype("DOUBLE"),
            type="arrow",
        )
        given_table = pa.table({"id": range(len(given)), "text": given})
        connection.register("given", given_table)
        connection.execute("CREATE TABLE captions AS SELECT * FROM given")
        rows = connection.execute("""
            SELECT vader(text), vader_scores(text).compound, vader_tokens(string_split(text, ' '))
            FROM captions ORDER BY id
        """).fetchall()

    assert [row[0] for row in rows] == wanted
    assert [row[1] for row in rows] == wanted
    assert [row[2] for row in rows] == wanted
    assert max(sizes) <= 2048
