"""The ``params`` of an audit say what was given so that a reader understands it; rows in memory are described."""

from __future__ import annotations

import hashlib
import json

import pyarrow as pa
import pytest

GROUPS = pa.table({"image_id": [1, 2, 3], "label": ["a", "b", "b"], "more": [1, 1, 1]})


TABLE = "<table of 3 columns, 3 rows, sha256 {}>"


def digest(rows):
    text = json.dumps([rows.column_names, rows.to_pylist()])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def shown(result):
    return json.loads(result.to_arrow()["params"][0].as_py())


def test_a_table_of_the_caller(lake):
    assert shown(lake.audit("demographics", groups=GROUPS, min_count=1)) == {
        "groups": TABLE.format(digest(GROUPS)),
        "min_count": 1,
    }


def test_two_tables(lake):
    others = GROUPS.slice(1).select(["image_id", "label"])
    params = shown(lake.audit("intersections", groups=GROUPS, others=others, min_count=1))
    assert params["groups"] == TABLE.format(digest(GROUPS))
    assert params["others"] == f"<table of 2 columns, 2 rows, sha256 {digest(others)}>"


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("{}", TABLE),
        ("'{}'", TABLE),
        ("(SELECT image_id, label FROM {})", f"(SELECT image_id, label FROM {TABLE})"),
        ("balanced_subset({}, min_count := 1)", f"balanced_subset({TABLE}, min_count := 1)"),
        ("caption_gender", "caption_gender"),
        ("caption_gender(rule := 'gensynth')", "caption_gender(rule := 'gensynth')"),
    ],
)
def test_names_that_a_session_made_up(lake, argument, text):
    with lake.session() as session:
        for _ in range(10):
            session.bind("g", pa.table({"x": [1]}))  # g__bound_1 begins g__bound_11
        name = session.bind("g", GROUPS)
        params = shown(session.sql(f"SELECT * FROM demographics({argument.format(name)}, 1)"))
        assert params["groups"] == text.format(digest(GROUPS))


def test_no_parameter_shows_an_inner_name(lake, tmp_path):
    words = tmp_path / "words.csv"
    words.write_text("term,class\nman,male\nhorse,animal\n")
    params = shown(lake.audit("crime_words", terms=str(words), min_count=1))
    listed = pa.table({"term": ["man", "horse"], "class": ["male", "animal"]})
    assert params["terms"] == f"<{words} of 2 columns, 2 rows, sha256 {digest(listed)}>"
    assert params["texts"] == "captions"
