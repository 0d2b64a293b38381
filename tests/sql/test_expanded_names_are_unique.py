"""No two common table expressions of an expanded query share a name, and each name means what it meant."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from counterbalance.engine.sql.ctes import own_names


def names(text):
    return [cte.alias.lower() for cte in sqlglot.parse_one(text, dialect="duckdb").find_all(exp.CTE)]


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM caption_labels AS a JOIN caption_labels(rule := 'gensynth') AS b USING (caption_id)",
        "SELECT label, other, count FROM intersections(caption_gender, caption_gender(rule := 'gensynth'), min_count := 0)",
        "SELECT a.label, b.label, a.count, b.count FROM demographics(min_count := 0) AS a, balance(min_count := 0) AS b",
        "SELECT label, n FROM demographics((WITH sizes AS (SELECT 1 AS image_id, 'a' AS label) SELECT * FROM sizes), 0)",
        "WITH marked__2 AS (SELECT 1 AS x) SELECT x, label, count FROM marked__2, balance(min_count := 0)",
    ],
)
def test_views_that_are_used_twice(lake, query):
    with lake.session() as session:
        text = session.expand(query)
        assert max(Counter(names(text)).values()) == 1
        assert Counter(session.sql(text).fetchall()) == Counter(session.sql(query).fetchall())


@pytest.mark.parametrize(
    ("query", "ctes"),
    [
        ("WITH a AS (SELECT 1 AS x) SELECT a.x FROM a", 1),
        ("WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS x FROM a) SELECT a.x, B.x FROM A, b", 2),
        (
            "WITH a AS (SELECT 1 AS x) SELECT * FROM a AS t JOIN (WITH a AS (SELECT 2 AS x) SELECT * FROM a) AS u ON true",
            2,
        ),
        ("WITH a AS (WITH a AS (SELECT 3 AS x) SELECT x + 1 AS x FROM a) SELECT * FROM a", 2),
        ("WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT sum(i) FROM n", 1),
        ("WITH t AS (WITH t AS (SELECT * FROM t) SELECT * FROM t) SELECT * FROM t", 2),
        (
            "WITH a AS (SELECT 1 AS x) SELECT (SELECT max(x) FROM a) + (SELECT a.x FROM a), (SELECT count(*) FROM main.t)",
            1,
        ),
        ("WITH a AS (SELECT 1 AS x, 2 AS y) SELECT p FROM a AS b(p, q)", 1),
    ],
)
def test_renaming_keeps_the_meaning(query, ctes):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 7 AS x")
    tree = sqlglot.parse_one(query, dialect="duckdb")
    own_names(tree, 5)
    text = tree.sql("duckdb")
    assert connection.sql(text).fetchall() == connection.sql(query).fetchall()
    assert len(set(names(text))) == ctes
    assert all(name.partition("__")[2].startswith("5") for name in names(text))


def test_taken_names_are_left_alone():
    tree = sqlglot.parse_one("WITH a AS (SELECT 1) SELECT * FROM a")
    own_names(tree, 5, {"a__5"})
    assert names(tree.sql()) == ["a__5_2"]
