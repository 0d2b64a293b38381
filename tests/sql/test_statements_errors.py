"""A statement that begins as one of the engine's own and goes on wrongly is refused at its place, with the right form."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import RefusedError, SqlError
from counterbalance.engine.sql.parse import parse
from counterbalance.engine.sql.statements import read

WRONG = {  # the mark | stands before the place
    "ALTER TABLE t |RENAME TO u": ("E3155", "ADD is expected, not 'RENAME'"),
    "ALTER TABLE|": ("E3155", "the name of a table is expected, not the end"),
    "ALTER TABLE |'t' ADD COLUMN c AS (1)": ("E3155", "the name of a table is expected, not \"'t'\""),
    "ALTER TABLE t ADD COLUMN c AS |(f(x)": ("E3155", "this parenthesis is not closed"),
    "ALTER TABLE t ADD COLUMN c AS (|)": ("E3155", "the expression is empty"),
    "ALTER TABLE t ADD COLUMN c |NONSENSE THING AS (x)": ("E3142", "no type 'NONSENSE THING'"),
    "ALTER TABLE t ADD COLUMN c |INTEGER": ("E3155", "AS is expected"),
    "ALTER TABLE t ADD COLUMN c AS (\n  x y |z)": ("E3102", "syntax error near 'z'"),
    "ALTER TABLE t ADD COLUMN c AS (x) WITH (|shedule = '@daily')": (
        "E3158",
        "no option 'shedule'; did you mean 'schedule'?",
    ),
    "ALTER TABLE t ADD COLUMN c AS (x) WITH (schedule = |1)": ("E3159", "schedule must be text in quotes"),
    "ALTER TABLE t ADD COLUMN c AS (x) WITH (schedule = 'a', |schedule = 'b')": (
        "E3155",
        "option 'schedule' is given twice",
    ),
    "ALTER TABLE t ADD COLUMN c AS (x); |DROP TABLE t": ("E3155", "one statement at a time"),
    "ALTER TABLE t DROP COLUMN c |PLEASE": ("E3155", "'PLEASE' is not expected here"),
    "CREATE MATERIALIZED VIEW v |AS SELECT 1 AS a": ("E3157", "a materialized view needs a key"),
    "CREATE MATERIALIZED VIEW v WITH (key = |a) AS SELECT 1 AS a": ("E3155", "a value is expected, not 'a'"),
    "CREATE MATERIALIZED VIEW v WITH (key = 'a')\nAS\n  SELECT 1 + |FROM t": ("E3102", "syntax error near 'FROM'"),
    "CREATE MATERIALIZED VIEW v WITH (key = 'a') AS|": ("E3155", "the statement ends too early"),
    "CREATE MATERIALIZED VIEW v WITH (key = 'a') AS SELECT 1 AS a; |SELECT 2": ("E3155", "one statement at a time"),
    "CREATE OR REPLACE MATERIALIZED VIEW IF NOT |EXISTS v WITH (key = 'a') AS SELECT 1": (
        "E3155",
        "contradict each other",
    ),
    "CREATE INDEX i |t (x)": ("E3155", "ON is expected, not 't'"),
    "CREATE INDEX ON t (|)": ("E3155", "the name of a column is expected"),
    "DROP INDEX i|, j": ("E3155", "',' is not expected here"),
    "REFRESH a, |'b'": ("E3155", "the name of a column, view or index is expected"),
    "REFRESH WITH (workers = |0)": ("E3159", "workers must be a whole number above 0"),
    "REFRESH WITH (full = |1)": ("E3159", "full must be true or false"),
    "REFRESH WITH (device = 'cpu'|": ("E3155", ") is expected, not the end"),
    "REFRESH |'a": ("E3102", "a text begins with ' and does not end"),
}


@pytest.mark.parametrize("marked", WRONG)
def test_place_and_reason(marked):
    before, _, after = marked.partition("|")
    with pytest.raises(SqlError) as caught:
        read(before + after)
    code, message = WRONG[marked]
    assert message in caught.value.message
    assert caught.value.code == code
    assert (caught.value.line, caught.value.column) == (before.count("\n") + 1, len(before) - before.rfind("\n"))
    assert caught.value.sql == before + after


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("ALTER TABLE t ADD COLUMN c", "ALTER TABLE t ADD COLUMN"),
        ("ALTER TABLE t DROP", "DROP COLUMN [IF EXISTS]"),
        ("CREATE MATERIALIZED VIEW v AS SELECT 1", "WITH (key = 'image_id') AS SELECT"),
        ("DROP MATERIALIZED VIEW", "DROP MATERIALIZED VIEW [IF EXISTS] v"),
        ("CREATE INDEX", "CREATE INDEX [IF NOT EXISTS]"),
        ("DROP INDEX", "DROP INDEX [IF EXISTS] name"),
        ("REFRESH 1", "REFRESH [name, t.c, … | ALL]"),
    ],
)
def test_hint_shows_the_form(text, form):
    with pytest.raises(SqlError) as caught:
        read(text)
    assert form in caught.value.hint


def test_the_query_of_a_view_only_reads():
    with pytest.raises(RefusedError, match="DELETE is refused"):
        read("CREATE MATERIALIZED VIEW v WITH (key = 'a') AS DELETE FROM captions")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("CREATE VIEW v AS SELECT 1", "CREATE MATERIALIZED VIEW"),
        ("CREATE TABLE t AS SELECT 1", "CREATE MATERIALIZED VIEW"),
        ("CREATE UNIQUE INDEX i ON t (x)", "CREATE INDEX ON t (column)"),
        ("CREATE MACRO m(a) AS a", "@counterbalance.udf"),
        ("ALTER TABLE t RENAME TO u", "ADD COLUMN c AS (expression)"),
        ("DROP TABLE t", "DROP MATERIALIZED VIEW v"),
        ("DELETE FROM t", "counterbalance ingest"),
    ],
)
def test_other_changes_are_refused_with_what_there_is_instead(text, form):
    with pytest.raises(RefusedError) as caught:
        parse(text)
    assert form in caught.value.hint
