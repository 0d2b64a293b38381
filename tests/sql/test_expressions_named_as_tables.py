"""A common table expression may have the name of the table that it reads, as in any SQL."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from counterbalance.engine.errors import LimitError, NotFoundError, SqlError


@pytest.fixture
def filled(disk_lake, build):
    disk_lake.ingest(
        {
            "images": build.images(image_id=[1, 2, 3]),
            "captions": build.captions(
                caption_id=[1, 2, 3], image_id=[1, 2, 3], text=["a man", "a woman", "a woman robs"]
            ),
        }
    )
    return disk_lake


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("WITH images AS (SELECT * FROM images WHERE image_id > 1) SELECT count(*) FROM images", [(2,)]),
        ("WITH Images AS (SELECT * FROM IMAGES WHERE image_id > 1) SELECT count(*) FROM iMages", [(2,)]),
        ("WITH a AS (SELECT count(*) AS n FROM images), images AS (SELECT 7) SELECT n FROM a", [(3,)]),
        ("WITH images AS (SELECT 7 AS b), a AS (SELECT * FROM images) SELECT b FROM a", [(7,)]),
        ("WITH images AS (SELECT image_id FROM main.images LIMIT 1) SELECT count(*) FROM images", [(1,)]),
        (
            "WITH captions AS (SELECT c.* FROM captions c JOIN images USING (image_id) WHERE image_id > 2) "
            "SELECT image_id FROM captions",
            [(3,)],
        ),
        (
            "WITH caption_gender AS (SELECT * FROM caption_gender WHERE label = 'female') "
            "SELECT image_id FROM caption_gender ORDER BY 1",
            [(2,), (3,)],
        ),
        (
            "WITH captions AS (SELECT * FROM captions WHERE image_id = 3) "
            "SELECT gender_words(text).female FROM captions",
            [(1,)],
        ),
        (
            "WITH images AS (SELECT image_id, 'x' AS label FROM images) "
            "SELECT label, count FROM demographics(groups := images, min_count := 0)",
            [("x", 3)],
        ),
        ("SELECT (WITH images AS (SELECT * FROM images LIMIT 2) SELECT count(*) FROM images)", [(2,)]),
        (
            "WITH captions AS (WITH captions AS (SELECT * FROM captions LIMIT 2) SELECT * FROM captions LIMIT 1) "
            "SELECT count(*) FROM captions",
            [(1,)],
        ),
    ],
)
def test_it_reads_the_table(filled, query, rows):
    assert filled.sql(query).fetchall() == rows


def test_an_audit_does_not_read_it_instead(filled):
    query = "WITH captions AS (SELECT * FROM captions LIMIT 1) SELECT count(*), (SELECT count(*) FROM captions) FROM caption_gender"
    assert filled.sql(query).fetchall() == [(3, 1)]


G = "(SELECT image_id, 'x' AS label FROM {})"
COUNT = "(SELECT sum(count) FROM demographics(groups := {}, min_count := 0))"


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        # an expression that comes later, beside what a view or an argument reads
        (
            "WITH a AS (SELECT count(*) AS n FROM captions), captions AS (SELECT * FROM captions LIMIT 1) "
            "SELECT n, (SELECT count(*) FROM captions), (SELECT count(*) FROM caption_gender) FROM a",
            [(3, 1, 3)],
        ),
        (
            f"WITH a AS (SELECT {COUNT.format(G.format('captions'))} AS n), captions AS (SELECT * FROM captions LIMIT 1) "
            "SELECT n, (SELECT count(*) FROM captions) FROM a",
            [(3, 1)],
        ),
        (
            f"WITH a AS (SELECT {COUNT.format('caption_gender')} AS n), "
            "caption_gender AS (SELECT image_id, 'y' AS label FROM images LIMIT 1) SELECT n FROM a",
            [(3,)],
        ),
        # a WITH inside of an argument, over the query's own
        (
            "WITH caption_gender AS (SELECT image_id, 'x' AS label FROM images LIMIT 2) "
            f"SELECT {COUNT.format('(WITH y AS (SELECT * FROM caption_gender) SELECT * FROM y)')}",
            [(2,)],
        ),
        (
            f"WITH m AS {G.format('images')} SELECT {COUNT.format('(WITH y AS (SELECT * FROM m LIMIT 1) SELECT * FROM y)')}",
            [(1,)],
        ),
        (
            f"WITH a AS {G.format('images')} SELECT "
            f"{COUNT.format('(WITH a AS (SELECT * FROM a LIMIT 2), b AS (SELECT * FROM a) SELECT * FROM b)')}, count(*) FROM a",
            [(2, 3)],
        ),
        # a WITH of a subquery, over the argument
        (
            f"SELECT n FROM (WITH captions AS (SELECT image_id FROM images LIMIT 2) SELECT {COUNT.format(G.format('captions'))} AS n)",
            [(2,)],
        ),
        (
            f"WITH a AS (SELECT * FROM images LIMIT 1) SELECT n, (SELECT count(*) FROM a) FROM "
            f"(WITH a AS (SELECT * FROM images LIMIT 2) SELECT {COUNT.format(G.format('a'))} AS n)",
            [(2, 1)],
        ),
        (f"SELECT n FROM (WITH mine AS {G.format('images')} SELECT {COUNT.format('mine')} AS n)", [(3,)]),
        (
            f"SELECT n FROM (WITH RECURSIVE r AS (SELECT 1 AS image_id, 'x' AS label UNION ALL "
            f"SELECT image_id + 1, label FROM r WHERE image_id < 2) SELECT {COUNT.format('r')} AS n)",
            [(2,)],
        ),
        # calls within calls, and arguments as texts
        (
            "WITH caption_gender AS (SELECT image_id, 'x' AS label FROM images LIMIT 2) "
            f"SELECT {COUNT.format('clear_labels(caption_gender)')}",
            [(2,)],
        ),
        (
            "WITH caption_gender AS (SELECT image_id, 'x' AS label FROM images LIMIT 2) "
            f"SELECT {COUNT.format(chr(39) + 'caption_gender' + chr(39))}",
            [(2,)],
        ),
        (
            f"WITH x AS (SELECT 1 AS one) SELECT one, "
            f"{COUNT.format(chr(39) + '(WITH x AS (SELECT * FROM images LIMIT 2) SELECT image_id, CAST(1 AS VARCHAR) AS label FROM x)' + chr(39))} FROM x",
            [(1, 2)],
        ),
    ],
)
def test_names_mean_what_they_mean_in_any_sql(filled, query, rows):
    assert filled.sql(query).fetchall() == rows


@pytest.mark.parametrize("given", ['"my g"', "'\"my g\"'", "'(FROM \"my g\")'", '(FROM "my g")'])
def test_names_of_several_words(filled, given):
    mine = pa.table({"image_id": [1, 2, 3], "label": ["x"] * 3})
    query = f'WITH "my g" AS (SELECT * FROM "my g" LIMIT 2) SELECT {COUNT.format(given)}'
    assert filled.sql(query, {"my g": mine}).fetchall() == [(2,)]


@pytest.mark.parametrize("name", ["t", "images", "caption_gender"])
def test_two_of_one_name_are_refused(filled, name):
    with pytest.raises(SqlError, match=f"two expressions of one WITH are called '{name}'") as caught:
        filled.sql(f"WITH {name} AS (SELECT 1 x), {name.upper()} AS (SELECT 2 x) SELECT * FROM {name}").fetchall()
    assert caught.value.code == "E3197"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT * FROM (WITH gg AS {G.format('images')} FROM gg), (SELECT {COUNT.format('gg')})",
        f"SELECT * FROM (WITH gg AS {G.format('images')} FROM gg), (SELECT {COUNT.format('(FROM gg)')})",
        f"WITH a AS (SELECT {COUNT.format('gg')} AS n), gg AS {G.format('images')} SELECT * FROM a, gg",
    ],
)
def test_what_cannot_be_seen_is_not_there(filled, query):
    with pytest.raises(NotFoundError, match="no table 'gg'"):
        filled.sql(query).fetchall()


def test_many_levels(filled):
    query = "SELECT 1 AS x"
    for _ in range(40):
        query = f"WITH images AS ({query}) SELECT x + 1 AS x FROM images"
    assert filled.sql(query).fetchall() == [(41,)]
    for _ in range(400):
        query = f"WITH images AS ({query}) SELECT x + 1 AS x FROM images"
    with pytest.raises((LimitError, SqlError), match="nested too deeply"):
        filled.sql(query).fetchall()


def test_what_is_no_stored_table_is_told_as_it_was_written(filled):
    search = "SELECT * FROM full_text_search(captions, 'text', 'a man', k := 3)"
    with pytest.raises(SqlError, match=r"must be a table of the lake, not captions\n"):
        filled.sql(f"WITH captions AS (SELECT * FROM captions LIMIT 2) {search}").fetchall()


def test_rows_of_the_caller_too(filled):
    mine = pa.table({"image_id": [1, 2, 3], "label": ["x"] * 3})
    query = f"WITH mine AS (SELECT * FROM mine LIMIT 1) SELECT {COUNT.format('mine')}, count(*) FROM mine"
    assert filled.sql(query, mine=mine).fetchall() == [(1, 1)]


def test_parameters_are_shown_as_they_were_written(filled):
    query = "WITH captions AS (SELECT * FROM captions) SELECT params FROM demographics(groups := {}, min_count := 0) LIMIT 1"
    for given in ("caption_gender", "(SELECT image_id, 'x' AS label FROM captions)"):
        ((params,),) = filled.sql(query.format(given)).fetchall()
        assert json.loads(params)["groups"] == given


def test_columns_are_named_as_they_were_written(filled):
    found = filled.sql("WITH captions AS (SELECT * FROM captions LIMIT 1) SELECT (SELECT count(*) FROM captions)")
    assert found.columns == ["(SELECT COUNT(*) FROM captions)"]


def test_errors_tell_names_as_they_were_written(filled):
    query = "WITH RECURSIVE captions AS (SELECT * FROM captions) SELECT * FROM captions"
    with pytest.raises(SqlError, match='Circular reference to CTE "captions"'):
        filled.sql(query).fetchall()


def test_a_recursive_one_reads_itself(filled):
    query = "WITH RECURSIVE images AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM images WHERE n < 5) SELECT max(n) FROM images"
    assert filled.sql(query).fetchall() == [(5,)]
