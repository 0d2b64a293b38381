"""A parameter that lists its ``choices`` takes these and no others, and its help names them."""

from __future__ import annotations

import re

import pytest

from counterbalance.engine.errors import SqlError
from counterbalance.engine.recipes import files
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import queries

LISTED = [(q.name, p) for q in queries.queries().values() for p in q.parameters if p.choices]
LISTED += [(name, p) for name, signature in SIGNATURES.items() for p in signature if p.choices]


@pytest.mark.parametrize(("name", "listed"), LISTED, ids=lambda v: getattr(v, "name", v))
def test_every_list_holds_the_default_and_is_told(name, listed):
    assert len(listed.choices) >= 1 + (listed.name != "preset"), name
    assert listed.default in {None, "NULL"} or listed.default.strip("'") in listed.choices
    assert listed.doc.startswith("one of " + ", ".join(f"'{c}'" for c in listed.choices))


def test_no_text_lists_values_that_are_not_checked():
    known = {**queries.queries(), **files.recipes()}
    texts = [(name, p.about) for name, made in known.items() for p in made.parameters]
    texts += [(name, p.about) for name, signature in SIGNATURES.items() for p in signature]
    assert len(texts) > 600
    assert [
        (name, about) for name, about in texts if re.match(r"one of|at least|at most|above \d|between|from \d", about)
    ] == []


def fails(lake, text):
    with pytest.raises(SqlError) as caught:
        lake.sql(text)
    assert caught.value.code == "E3130"
    return caught.value


def test_the_error_names_the_parameter_what_was_meant_and_all_choices(lake):
    error = fails(lake, "SELECT * FROM concept_ratio(definition := 'diference')")
    assert error.message == "'definition' of concept_ratio() cannot be 'diference'; did you mean 'difference'?"
    assert error.hint == "one of 'share', 'difference', 'rate_difference'"


@pytest.mark.parametrize(
    "call",
    [
        "top_k(captions, captions, ranker := 'tf-idf')",
        "top_k(captions, captions, metric := 'cos')",
        "knn(images, images, metric := 'euclidean')",
        "retrieval_bias(neutral := 'remove')",
        "caption_gender(rule := 'Words')",
        "caption_gender(rule := '')",
        "caption_gender(rule := 7)",
    ],
)
def test_calls_with_other_values_are_refused(lake, call):
    fails(lake, f"SELECT * FROM {call}")


def test_a_value_from_outside_the_text_is_checked_too(lake):
    with pytest.raises(SqlError, match=r"'rule' of caption_gender\(\) cannot be 'x'"):
        lake.sql("SELECT * FROM caption_gender(rule := $rule)", rule="x")
    with lake.session() as session, pytest.raises(SqlError, match="'definition' cannot be 'x'"):
        session.audit("concept_ratio", definition="x")


def test_null_is_no_value(session):
    with pytest.raises(SqlError, match="cannot be NULL"):
        session.sql("FROM caption_labels(rule := NULL)").fetchall()


@pytest.mark.parametrize("call", ["embed_sentence('a', model := NULL)", "vader('a', rules := NULL)"])
def test_nor_is_it_a_constant_of_a_function(lake, call):
    with pytest.raises(SqlError, match=r"of \w+\(\) cannot be NULL") as error:
        lake.sql(f"SELECT {call}").fetchall()
    assert error.value.code == "E3134"
