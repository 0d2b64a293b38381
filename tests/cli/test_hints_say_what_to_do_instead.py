"""A refused statement names the option that does its work; quotes that went wrong are explained."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.__main__ import main
from counterbalance.engine.errors import RefusedError, RequestError, SqlError


def fails(lake, text):
    with pytest.raises((SqlError, RefusedError)) as caught:
        lake.sql(text).fetchall()
    return caught.value


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SET memory_limit = '1GB'", "--memory"),
        ("set max_memory='1GB'", "--memory"),
        ("PRAGMA memory_limit='1GB'", "--memory"),
        ("SET threads = 4", "--threads"),
        ("-- faster\nSET threads TO 4;", "--threads"),
        ("RESET threads", "--threads"),
        ("SET timezone = 'UTC'", "settings are locked"),
        ("SET VARIABLE x = 1", "-p NAME=VALUE"),
        ("PRAGMA show_tables", "SHOW TABLES"),
        ("ATTACH 'other.db' AS o", "--attach NAME=LAKE"),
        ("DETACH o", "--attach NAME=LAKE"),
        ("USE o", "--attach NAME=LAKE"),
        ("COPY images TO 'x.csv'", "--output"),
        ("INSTALL httpfs", "counterbalance ingest"),
        ("LOAD httpfs", "counterbalance ingest"),
        ("SELECT * FROM read_csv('x.csv')", "counterbalance ingest"),
        ("DELETE FROM images", "counterbalance ingest"),
        ("SHOW audits", "counterbalance audit --list"),
        ("PIVOT images ON split USING count(*)", "SELECT * FROM t PIVOT"),
        ("PIVOT images ON split", "SELECT * FROM t PIVOT"),
        ("UNPIVOT images ON width, height INTO NAME d VALUE v", "SELECT * FROM t UNPIVOT"),
        ("CALL train_classifier(labels := l)", "counterbalance train classifier LAKE --labels"),
        ("call Train_Classifier()", "counterbalance train classifier LAKE --labels"),
        ("CALL train_sae(vectors := v)", "counterbalance recipe LAKE FILE.sql"),
    ],
)
def test_what_to_do_instead(lake, text, hint):
    error = fails(lake, text)
    assert error.code == "E3202"
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("images", "FROM images reads"),
        ("query.sql", "-f query.sql"),
        ("./my/query.sql", "-f ./my/query.sql"),
        ("1 + 1", "SELECT"),
        (".tables", "SHOW TABLES"),
        ("\\d images", "SHOW TABLES"),
    ],
)
def test_what_is_no_statement(lake, text, hint):
    error = fails(lake, text)
    assert error.code == "E3102"
    assert hint in error.hint


def test_a_text_without_quotes(lake):
    error = fails(lake, "FROM full_text_search(captions, text, 'dog')")
    assert (error.code, error.hint) == ("E3115", "write text in single quotes: 'text'")


@pytest.mark.parametrize("text", ["SELECT 1 WHERE key =", "DESCRIBE", "SELECT * FROM", "SELECT CASE WHEN 1 THEN"])
def test_the_parsers_insides_stay_inside(lake, text):
    assert not set("<>") & set(fails(lake, text).message)


def test_the_hint_on_pivot_works(lake):
    rows = lake.sql("SELECT * FROM (SELECT split FROM images) PIVOT (count(*) FOR split IN ('train', 'val'))")
    assert rows.fetchall() == [(3, 2)]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('SELECT * FROM images WHERE split = "train"', "'train'"),
        ('SELECT * FROM images AS i WHERE i.split = "Train"', "'Train'"),
        ("SELECT count(*) FROM images WHERE split IN (\"it's\", 'val')", "'it''s'"),
        ('SELECT * FROM caption_gender WHERE label = "male"', "'male'"),
    ],
)
def test_a_text_in_double_quotes(lake, text, hint):
    error = fails(lake, text)
    assert error.code == "E3103"
    assert error.hint == f"double quotes are for names; a text is written {hint}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT splitt FROM images", "no column 'splitt'; did you mean 'split'?"),
        ("SELECT images.splitt FROM images", "no column 'splitt' in images; did you mean 'split'?"),
        ("SELECT i.txt FROM captions JOIN images AS i USING (image_id)", "no column 'txt' in i"),
        ("SELECT c.txt FROM captions c", "no column 'txt' in c; did you mean 'text'?"),
        ("SELECT * EXCLUDE (splitt) FROM images", "no column 'splitt'; did you mean 'split'?"),
        ("SELECT 1 FROM images JOIN images AS b USING (kye)", "no column 'kye'; did you mean 'key'?"),
        ("WITH a AS (SELECT 1 AS one) SELECT on_e FROM a", "no column 'on_e'; did you mean 'one'?"),
    ],
)
def test_an_unknown_column(lake, text, told):
    assert fails(lake, text).message == told


@pytest.mark.parametrize(
    "text", ["SELECT trian FROM images", 'SELECT trian FROM images WHERE split = \'a "trian" b\' -- "trian"']
)
def test_other_names_get_no_hint_on_quotes(lake, text):
    assert "double quotes" not in str(fails(lake, text).hint)


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("SELECT * FROM images WHERE key = 'one", "a text begins with ' and does not end", 1, 34),
        ('SELECT "key FROM images', 'a name begins with " and does not end', 1, 8),
        ("SELECT 'a' -- it's\n, 'b", "a text begins with ' and does not end", 2, 3),
    ],
)
def test_a_quote_that_does_not_end(lake, text, message, line, column):
    error = fails(lake, text)
    assert (error.message, error.code, error.line, error.column) == (message, "E3102", line, column)


def test_an_unknown_function(lake):
    near, unknown = fails(lake, "SELECT uper(key) FROM images"), fails(lake, "SELECT my_own(key) FROM images")
    assert (near.message, near.code) == ("no function 'uper'; did you mean 'upper'?", "E3104")
    assert unknown.message == "no function 'my_own'"
    assert "--udfs FILE" in unknown.hint


def test_no_star_stands_for_bytes(empty_lake, build):
    stored = build.images(image_id=[1], key=["a"]).append_column("image", pa.array([b"abc"], pa.binary()))
    empty_lake.ingest({"images": stored})
    error = fails(empty_lake, "SELECT image FROM (FROM images)")
    assert error.hint == "image holds bytes, which no star stands for: name it in the SELECT whose FROM names its table"
    assert empty_lake.sql("SELECT octet_length(image) FROM images").fetchall() == [(3,)]


def test_a_parameter_without_a_value(lake):
    with pytest.raises(SqlError) as caught:
        lake.sql("SELECT $word, $wrd", wrd=1).fetchall()
    assert caught.value.code == "E3119"
    assert "-p word=… or sql(…, word=…); given: wrd" in caught.value.hint


def test_a_value_that_the_query_does_not_name(lake):
    with pytest.raises(RequestError, match="no \\$wrd; did you mean 'word'"):
        lake.sql("SELECT $word", wrd=1)


def test_threads_are_an_option(disk_lake, build, capsys):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    assert main(["sql", disk_lake.uri, "SELECT count(*) AS n FROM images", "--threads", "1", "--csv"]) == 0
    assert capsys.readouterr().out.split() == ["n", "1"]
    assert main(["sql", disk_lake.uri, "SELECT 1", "--threads", "0"]) == 2
    assert "--threads" in capsys.readouterr().err


def test_a_statement_that_no_parser_reads_has_its_hint_too(lake):
    error = fails(lake, "PIVOT images ON split USING count(*) GROUP BY width ORDER BY width")
    assert (error.code, "SELECT * FROM t PIVOT" in error.hint) == ("E3102", True)
