"""matches and match_terms: NULLs, empty and named term lists, terms that can never occur."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.udfs import wordlists
from counterbalance.udfs.words import match_terms, matches

TEXTS = pa.array(["a murder", None, "a dog", ""])


def test_null_text():
    assert matches(TEXTS, ["murder"]).to_pylist() == [True, None, False, False]
    assert match_terms(TEXTS, ["murder"]).to_pylist() == [["murder"], None, [], []]


def test_no_terms():
    assert matches(TEXTS, []).to_pylist() == [False, None, False, False]
    assert match_terms(TEXTS, []).to_pylist() == [[], None, [], []]


def test_null_terms():
    assert matches(TEXTS, None).to_pylist() == [None] * 4
    assert match_terms(TEXTS, None).to_pylist() == [None] * 4
    assert matches(TEXTS, [None, "murder"]).to_pylist() == [True, None, False, False]


def test_no_rows():
    assert matches(pa.array([], pa.string()), ["x"]).to_pylist() == []
    assert match_terms(pa.chunked_array([], pa.string()), ["x"]).to_pylist() == []


def test_a_list_by_name():
    terms = wordlists.terms("crime_words")
    assert matches(TEXTS, "crime_words").equals(matches(TEXTS, terms))
    assert match_terms(TEXTS, "crime_words").equals(match_terms(TEXTS, terms))


def test_unknown_list():
    with pytest.raises(NotFoundError, match="did you mean 'crime_words'") as error:
        matches(TEXTS, "crime_word")
    assert error.value.code == "E1011"


@pytest.mark.parametrize("term", ["the", "of the", "", " ", "--", "\U0001f600"])
def test_a_term_that_can_never_occur(term):
    with pytest.raises(RequestError, match="can never occur") as error:
        matches(TEXTS, ["murder", term])
    assert error.value.code == "E3050"


def test_chunks_and_slices():
    chunked = pa.chunked_array([TEXTS.slice(2), TEXTS.slice(0, 2)])
    assert matches(chunked, ["murder"]).to_pylist() == [False, False, True, None]
    many = pa.array(["murder", "dog", None] * 20_000)
    assert matches(many, ["murder"]).to_pylist() == [True, False, None] * 20_000
