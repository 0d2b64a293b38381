"""Every audit and view file has a header with source and parameters; every audit's rows carry n, parameters and what is hidden."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.sql.queries import queries

AUDITS = sorted(cb.audits())
REQUIRED = {
    "agreement": {"attribute": "'scene'"},
    "compare_crime_words": {"others": "caption_gender", "other_texts": "captions"},
    "compare_demographics": {"others": "caption_gender"},
    "compare_intersections": {
        "others": "caption_gender",
        "crossed": "image_labels('scene')",
        "others_crossed": "image_labels('scene')",
    },
    "compare_sentiment": {"others": "caption_gender", "other_texts": "captions"},
    "detection_recall": {"predicted": "detections"},
    "intersections": {"others": "image_labels('scene')"},
    "min_size_study": {"labels": "person_labels('scene')", "reference": "person_labels('scene')"},
    "label_validation": {"attribute": "'scene'", "model": "image_labels('scene', annotator := 'ann')"},
}
LISTS = {"cooccurrence", "concept_ratio", "keyword_profile"}
PER_QUERY = {"retrieval_bias_queries"}
INTERVALS = {"low": "high", "share_low": "share_high", "mean_low": "mean_high", "negative_low": "negative_high"}


def columns(lake, name):
    given = ", ".join(f"{k} := {v}" for k, v in REQUIRED.get(name, {}).items())
    return set(lake.sql(f"SELECT * FROM {name}({given})").columns)


def test_the_audits_of_the_issue_are_there():
    wanted = "demographics intersections crime_words sentiment hate_content_rate cooccurrence concept_ratio geography "
    wanted += "keyword_profile balance agreement retrieval_bias"
    assert set(wanted.split()) <= set(AUDITS)


@pytest.mark.parametrize("name", sorted(queries()))
def test_headers(name):
    query = queries()[name]
    assert query.source
    assert query.doc[0].isupper()
    assert query.doc.endswith((".", "?", "(VADER)."))
    assert all(p.doc for p in query.parameters)


@pytest.mark.parametrize("name", AUDITS)
def test_rows_carry_n_and_parameters(lake, name):
    found = columns(lake, name)
    assert "params" in found
    assert "n" in found or {"n_a", "n_b"} <= found


@pytest.mark.parametrize("name", sorted(set(AUDITS) - PER_QUERY))
def test_rows_have_intervals_and_say_what_is_hidden(lake, name):
    found = columns(lake, name)
    assert any(low in found and high in found for low, high in INTERVALS.items())
    assert ("n_suppressed" if name in LISTS else "suppressed") in found
    assert "min_count" in {p.name for p in cb.audits()[name].parameters}


@pytest.mark.parametrize("name", AUDITS)
def test_headers_say_that_labels_are_perceived(name):
    query = cb.audits()[name]
    text = f"{query.doc} {query.text}".lower()
    assert "perceived" in text or name in PER_QUERY | {"hate_content_rate"}


@pytest.mark.parametrize("name", AUDITS)
def test_choices_are_named(name):
    """A parameter with a fixed set of values says so: "one of 'a', 'b'", the default being one of them."""
    for parameter in cb.audits()[name].parameters:
        if parameter.doc.startswith("one of "):
            choices = parameter.doc.removeprefix("one of ").split(";")[0].split(", ")
            assert parameter.default in choices
