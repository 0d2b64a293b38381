"""A parameter whose text lists its values (``one of 'a', 'b'``) takes these and no others."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import SqlError
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import queries

LISTED = [(q.name, p) for q in queries.queries().values() for p in q.parameters if "one of" in p.doc]
LISTED += [(name, p) for name, signature in SIGNATURES.items() for p in signature if "one of" in p.doc]


def parameter(line):
    return queries.parse(f"-- n: Counts.\n-- param {line}\nSELECT 1 AS x", "view", "n.sql").parameters[0]


@pytest.mark.parametrize(
    ("line", "choices"),
    [
        ("x varchar = 'a' : one of 'a', 'b'", ("a", "b")),
        ("x varchar = 'a' : one of 'a'; the rest 'b', 'c' is prose", ("a",)),
        ("x varchar = NULL : one of 'two words', 'b c': a colon", ("two words", "b c")),
        ("x varchar = 'a' : such as 'a', one of many", ()),
        ("x varchar = 'a'", ()),
    ],
)
def test_choices_are_read_from_the_header(line, choices):
    assert parameter(line).choices == choices


@pytest.mark.parametrize(("name", "listed"), LISTED, ids=lambda v: getattr(v, "name", v))
def test_every_list_is_read_and_holds_the_default(name, listed):
    assert len(listed.choices) >= 2, name
    assert listed.default in {None, "NULL"} or listed.default.strip("'") in listed.choices


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


def test_null_is_no_value(lake):
    assert lake.sql("SELECT count(*) FROM caption_labels(rule := NULL)").fetchall() == [(0,)]
