"""Whatever stands in an argument of an audit reads no more than the caller may: labels never come out through a word list."""

from __future__ import annotations

import pytest
from repeats import again

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.sql import queries

ROWS = (
    "(SELECT 'man' AS term, string_agg(label_id || ':' || image_id || ':' || attribute || '=' || value, ';') AS class, "
    "'man' AS word FROM labels WHERE attribute LIKE 'perceived%')"
)
CROSSED = f"crossed_words(words := {ROWS}, other_words := (SELECT 'man' AS term, 'y' AS class, 'man' AS word))"
LISTS = (
    "crime_words",
    "compare_crime_words",
    "harmful_zero_shot",
    "leakage",
    "lic",
    "ratio",
    "ratio_shift",
    "spurious_probe",
)
"""Audits with a parameter whose default is a word list."""


@pytest.fixture(scope="module")
def lake(build):
    ids = list(range(1, 41))
    lake = cb.connect("memory://callers-rights")
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=["a man and a murder"] * 40),
            "labels": build.labels(
                label_id=ids,
                image_id=ids,
                attribute=["perceived_gender"] * 40,
                value=[("planted-secret-a", "planted-secret-b")[i % 2] for i in ids],
            ),
        }
    )
    return lake


def told(lake, text):
    """All that a caller gets to see of a query: rows, notes, and the text of its error."""
    try:
        result = lake.sql(text)
        return repr(result.fetchall()) + repr(result.notes)
    except CounterbalanceError as error:
        return f"{error} {error.hint}"


def test_every_audit_with_a_word_list_is_tried():
    with_lists = {
        q.name
        for q in queries.audits().values()
        if any(p.is_relation and (p.default or "").startswith("lists.") for p in q.parameters)
    }
    assert with_lists == set(LISTS)


ARGUMENTS = [
    CROSSED,
    ROWS,
    f"crossed_words({ROWS}, {ROWS})",
    f"'{CROSSED}'".replace("'man'", "''man''")
    .replace("':'", "'':''")
    .replace("'='", "''=''")
    .replace("';'", "'';''")
    .replace("'perceived%'", "''perceived%''")
    .replace("'y'", "''y''"),
]


@pytest.mark.parametrize(
    ("audit", "argument"),
    [
        *((audit, ARGUMENTS[0]) for audit in LISTS),
        *(("crime_words", argument) for argument in ARGUMENTS[1:]),
        *again(*((audit, argument) for audit in LISTS[1:] for argument in ARGUMENTS[1:])),
    ],
)
def test_no_label_comes_out(lake, audit, argument):
    query = queries.audits()[audit]
    name = next(p.name for p in query.parameters if p.is_relation and (p.default or "").startswith("lists."))
    needed = {
        "others": "caption_gender",
        "other_texts": "captions",
        "images": "(SELECT image_id, [1.0] AS embedding FROM images)",
    }
    more = "".join(
        f", {p.name} := {needed.get(p.name, 'captions')}"
        for p in query.parameters
        if p.default is None and p.name != name
    )
    assert "planted-secret" not in told(lake, f"SELECT * FROM {audit}({name} := {argument}{more})")


def test_the_way_of_the_first_attack_is_closed(lake):
    text = f"SELECT DISTINCT class FROM crime_words(terms := {CROSSED}) WHERE class IS NOT NULL"
    assert "planted-secret" not in told(lake, text)


@pytest.mark.parametrize(
    "groups",
    [
        "(SELECT image_id, value AS label FROM labels)",
        "clear_labels((SELECT image_id, value AS label FROM labels))",
        "balanced_subset(clear_labels((SELECT image_id, value AS label FROM labels)))",
    ],
)
def test_a_query_inside_of_a_view_inside_of_an_audit_reads_open_labels_only(lake, groups):
    assert "planted-secret" not in told(lake, f"SELECT * FROM demographics(groups := {groups})")


def test_a_closed_relation_that_is_named_is_counted(lake):
    rows = lake.sql("SELECT label, count FROM demographics(groups := image_labels('perceived_gender'))").fetchall()
    assert rows == [("planted-secret-a", 20), ("planted-secret-b", 20)]
