"""What functions say of themselves in SQL is what they give."""

from __future__ import annotations

import os

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterbalance.engine.functions import function
from counterbalance.udfs import lemma, persons, wordlists

CASES = [
    ("gender_words", {"rule": "words"}),
    ("gender_words", {"rule": "gensynth"}),
    ("gender_label", {"rule": "words"}),
    ("gender_label", {"rule": "gensynth_paper"}),
    (
        "matches",
        {"terms": ["looting", "money laundering", "cyber-attack", "robberies", "German", "caf\u00e9", "x_ray"]},
    ),
    ("matches", {"terms": "crime_words"}),
    ("match_terms", {"terms": "crime_words_broad"}),
    ("country_mentions", {"matching": "lemmas", "output": "iso2"}),
    ("country_mentions", {"matching": "cased", "output": "country"}),
]
LISTED = sorted(
    {
        *persons.classes(),
        *persons.context("animal"),
        *persons.context("product"),
        *persons.context("phrase"),
        *wordlists.terms("crime_words"),
        *wordlists.terms("crime_words_broad"),
        *wordlists.terms("countries"),
        *lemma.inflected(w for term in wordlists.terms("crime_words") for w in lemma.lemmas_of(term)),
        *("german", "Germans", "caf\u00e9", "cafe\u0301", "x_ray", "x-ray", "\u212aings", "mo\u017fque", "\u0130ndia"),
    }
)
ENDINGS = [
    "",
    "",
    "",
    "s",
    "d",
    "ed",
    "ing",
    "ies",
    "ized",
    "erves",
    "ists",
    "ments",
    "'s",
    "\u2019s",
    "_",
    "1",
    "\u00e9",
]
WORD = st.tuples(
    st.one_of(st.sampled_from(LISTED), st.text(max_size=6)),
    st.sampled_from(ENDINGS),
    st.sampled_from([str, str.upper, str.title]),
).map(lambda parts: parts[2](parts[0] + parts[1]))
TEXT = st.lists(st.tuples(WORD, st.sampled_from([" ", " ", "-", ". ", "_", "/", "\n", "\u3000"])), max_size=6).map(
    lambda parts: "".join(map("".join, parts))
)


@pytest.mark.parametrize(("name", "constants"), CASES)
@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")), deadline=None)
@given(texts=st.lists(TEXT, min_size=1, max_size=30))
def test_generated_texts(name, constants, texts):
    _same(name, constants, pa.array([*texts, None, ""]))


@pytest.mark.parametrize(("name", "constants"), CASES[5:8])
def test_every_word_of_the_lemmatisers_dictionary(name, constants):
    _same(name, constants, pa.array(sorted(lemma._dictionary())))


def _same(name, constants, texts):
    """Compare the function's results with its SQL, in which they stand for its calls."""
    declared = function(name)
    query = declared.in_sql(**constants).replace(f"{name}(text)", "own")
    with duckdb.connect() as connection:
        connection.register("texts", pa.table({"text": texts, "own": declared.open(constants)([texts])}))
        assert connection.sql(f"SELECT * FROM texts WHERE ({query}) IS DISTINCT FROM own").fetchall() == []
