"""Rows without the columns that a relation parameter needs: the error names the parameter, the column and the shape."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from counterbalance.engine.errors import NotFoundError, SqlError
from counterbalance.engine.sql import queries


def fails(run):
    with pytest.raises(SqlError) as caught:
        run().fetchall()
    return caught.value


@pytest.mark.parametrize(
    ("call", "start"),
    [
        ("demographics(groups := images)", "'groups' of demographics() needs a column 'label'; images has none"),
        ("demographics(captions)", "'groups' of demographics() needs a column 'label'; captions has none"),
        ("geography(texts := images)", "'texts' of geography() needs a column 'text'; images has none"),
        (
            "retrieval_bias(groups := images)",
            "'groups' of retrieval_bias() needs a column 'label'; images has none",
        ),
        (
            "over_representation(concepts := (SELECT image_id, key AS concpt FROM images))",
            "'concepts' of over_representation() needs a column 'concept'; (SELECT",
        ),
        (
            "cooccurrence(concepts := caption_gender)",
            "'concepts' of cooccurrence() needs a column 'concept'; caption_gender has none",
        ),
        ("crime_words(terms := (SELECT 'x' AS word))", "'terms' of crime_words() needs a column 'term'; (SELECT"),
    ],
)
def test_a_column_that_is_not_there(lake, call, start):
    error = fails(lambda: lake.sql(f"SELECT * FROM {call}"))
    assert error.code == "E3131"
    assert error.message.startswith(start)


def test_a_file_that_is_not_there(lake, tmp_path):
    missing = str(tmp_path / "words.csv")
    with lake.session() as session, pytest.raises(NotFoundError) as caught:
        session.audit("demographics", groups=missing)
    assert caught.value.message == f"'groups' is not a relation: there is no file {missing}"
    assert caught.value.hint == (
        "a table, a view, a call, (SELECT …), or a word list that is there (.txt, .csv, .tsv, .jsonl, .parquet)"
    )


def test_the_hint_says_the_shape_and_what_was_given(lake):
    error = fails(lambda: lake.sql("SELECT * FROM demographics(groups := images)"))
    assert error.hint.startswith("it takes (image_id BIGINT, label VARCHAR); images has image_id, key, ")
    error = fails(lambda: lake.audit("demographics", groups="(SELECT image_id, key AS lable FROM images)"))
    assert error.message.endswith("; did you mean 'lable'?")


def test_a_call_is_named_as_it_was_written(lake):
    error = fails(lambda: lake.audit("subject_alterations", pairs="caption_pairs()"))
    assert "needs a column 'pair_id'; caption_pairs() has none" in error.message
    assert "; caption_pairs() has pair, " in error.hint


def test_rows_of_the_caller(lake):
    error = fails(lambda: lake.audit("demographics", groups=pa.table({"image_id": [1], "gender": ["x"]})))
    assert re.fullmatch(
        r"'groups' of demographics\(\) needs a column 'label'; <table of 2 columns, 1 rows, sha256 \w{8}> has none",
        error.message,
    )


def test_a_column_of_another_type(lake):
    rows = pa.table({"image_id": [1, 2], "label": [0, 1]})
    error = fails(lambda: lake.audit("balance", groups=rows))
    assert error.message == "'groups' of balance() needs VARCHAR in column 'label', not int64"


def test_vectors_and_numbers_are_not_called_texts(lake):
    error = fails(lambda: lake.audit("spurious_probe", vectors="images"))
    assert error.hint.startswith("it takes (image_id BIGINT, embedding FLOAT[]); ")
    error = fails(lambda: lake.audit("edit_quality", edits="captions"))
    assert error.hint.startswith(
        "it takes (edit_id BIGINT, image_id BIGINT, label VARCHAR, template VARCHAR, accepted, predicted VARCHAR, "
    )
    error = fails(lambda: lake.audit("image_text_matching", scores="captions"))
    assert error.hint.startswith(
        "it takes (pair_id, rr DOUBLE, r_o DOUBLE, o_r DOUBLE, cc DOUBLE, c_o DOUBLE, o_c DOUBLE); "
    )


def test_a_column_of_the_right_type_is_not_blamed(lake):
    scores = "(SELECT image_id AS pair_id, CAST(error('no score') AS DOUBLE) AS rr, 0.5 AS r_o, 0.5 AS o_r, 1 AS cc, 1 AS c_o, 1 AS o_c FROM images)"
    assert fails(lambda: lake.audit("image_text_matching", scores=scores)).code != "E3131"


def test_an_expression_of_the_user(lake):
    text = "WITH mine AS (SELECT image_id, key FROM images) SELECT * FROM demographics(mine)"
    assert fails(lambda: lake.sql(text)).message == "'groups' of demographics() needs a column 'label'; mine has none"


def test_other_errors_stay_what_they_are(lake):
    """The argument lacks nothing that the error is about."""
    error = fails(lambda: lake.sql("SELECT lable FROM demographics(caption_gender)"))
    assert (error.code, "lable" in error.message) == ("E3103", True)
    extra = "(SELECT image_id, label, 1 AS more FROM caption_gender)"
    assert fails(lambda: lake.sql(f"SELECT nothing FROM demographics({extra})")).code == "E3103"


def test_columns_are_keys_of_the_front_matter():
    known = queries.queries()
    columns = {(n, p.name): p.columns for n, q in known.items() for p in q.parameters if p.is_relation}
    assert columns["demographics", "groups"] == ("image_id", "label")
    assert columns["crime_words", "terms"] == ("term", "class")
    assert columns["term_concepts", "terms"] == ("term",)
    assert columns["retrieval_bias", "hits"] == ("query_id", "item_id", "rank", "score")
    assert columns["retrieval_bias", "queries"] == ()
