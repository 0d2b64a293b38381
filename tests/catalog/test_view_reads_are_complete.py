"""What a query is said to read is all it reads: changing every other column of its tables never changes its result."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from sqlglot import parse_one

from counterbalance.engine.catalog.dependencies import columns_read, origins

ROWS = 6
TABLES = {
    "images": {
        "image_id": [1, 2, 3, 4, 5, 6],
        "width": [10, 20, 30, 40, 50, 60],
        "height": [7, 6, 5, 4, 3, 2],
        "box": [{"x": i, "y": 2 * i} for i in range(ROWS)],
    },
    "captions": {
        "caption_id": [11, 12, 13, 14, 15, 16],
        "image_id": [1, 1, 2, 3, 4, 9],
        "text": ["a b", "c", "d e f", "g", "h", "i j"],
        "origin": ["x", "y", "x", "y", "x", "z"],
        "similarity": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
    },
}
SCHEMA = {name: list(columns) for name, columns in TABLES.items()}
QUERIES = [
    "SELECT count(*) FROM images",
    "SELECT width FROM images WHERE height > 3",
    "SELECT * FROM images",
    "SELECT * EXCLUDE (width) FROM images",
    "SELECT * REPLACE (width + height AS width) FROM images",
    "SELECT COLUMNS('.*t.*') FROM captions",
    "SELECT max(COLUMNS(*)) FROM captions",
    "SELECT images FROM images",
    "SELECT i.box.x FROM images AS i",
    "SELECT box.x AS x FROM images",
    "SELECT (box).y FROM images",
    "SELECT a, d FROM images AS t(a, b, c, d)",
    "SELECT caption_id FROM captions NATURAL JOIN images",
    "SELECT caption_id, width FROM captions JOIN images USING (image_id)",
    "SELECT caption_id, width FROM captions ASOF JOIN images ON captions.image_id >= images.width",
    "SELECT caption_id, width FROM captions POSITIONAL JOIN images",
    "SELECT caption_id FROM captions SEMI JOIN images USING (image_id)",
    "SELECT caption_id FROM captions ANTI JOIN images ON captions.image_id = images.image_id AND images.width > 15",
    "SELECT i.width, c.caption_id FROM images i, LATERAL (SELECT caption_id FROM captions c WHERE c.image_id = i.image_id) c",
    "SELECT width, (SELECT max(text) FROM captions c WHERE c.image_id = i.image_id) AS m FROM images i",
    "SELECT width FROM images i WHERE EXISTS (SELECT 1 FROM captions c WHERE c.image_id = i.image_id AND origin = 'x')",
    "SELECT width FROM images WHERE image_id IN (SELECT image_id FROM captions WHERE similarity > 0.2)",
    "SELECT caption_id, w FROM captions, unnest(string_split(text, ' ')) AS t(w)",
    "SELECT caption_id, unnest(string_split(text, ' ')) AS w FROM captions",
    "SELECT width, unnest(box) FROM images",
    "SELECT * FROM captions PIVOT (count(*) FOR origin IN ('x', 'y'))",
    "SELECT * FROM (SELECT image_id, origin FROM captions) PIVOT (count(*) FOR origin IN ('x', 'y'))",
    "SELECT n, v FROM (SELECT image_id, width, height FROM images) UNPIVOT (v FOR n IN (width, height))",
    "SELECT origin, count(*) FROM captions GROUP BY ALL",
    "SELECT origin FROM captions GROUP BY origin HAVING max(similarity) > 0.45",
    "SELECT DISTINCT ON (origin) caption_id FROM captions ORDER BY origin, similarity DESC",
    "SELECT caption_id FROM captions QUALIFY row_number() OVER (PARTITION BY origin ORDER BY similarity) = 1",
    "SELECT caption_id, sum(similarity) OVER w AS s FROM captions WINDOW w AS (PARTITION BY origin ORDER BY text)",
    "SELECT caption_id FROM captions ORDER BY similarity DESC, text LIMIT 2",
    "SELECT list(text ORDER BY similarity) FROM captions",
    "SELECT count(*) FILTER (WHERE origin = 'x') FROM captions",
    "SELECT list_transform([width], lambda v: v + height) FROM images",
    "SELECT image_id AS a, a + 1 AS b FROM images WHERE b > 3",
    "WITH q AS (SELECT image_id AS i, text FROM captions WHERE origin = 'x') SELECT i FROM q JOIN images ON i = width / 10",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r JOIN images ON image_id = n) SELECT * FROM r",
    "SELECT caption_id FROM captions UNION ALL SELECT image_id FROM images EXCEPT SELECT width FROM images",
    "SELECT CASE WHEN origin = 'x' THEN text ELSE similarity::VARCHAR END FROM captions",
    "FROM captions SELECT text",
    "FROM images",
    "VALUES (1)",
    "SELECT s.a FROM (SELECT {'a': width} AS s FROM images)",
    "SELECT x.width FROM images AS y JOIN images AS x ON x.image_id = y.height",
    "SELECT IMAGES.Width FROM images",
]  # fmt: skip


def changed(table, column):
    """Other values of the same type, NULL among them."""
    values = TABLES[table][column]
    if isinstance(values[0], dict):
        return [{"x": -5 - i, "y": 100 + i} for i in range(ROWS)]
    other = {int: lambda i: 100 - 3 * i, float: lambda i: 9.0 - i, str: lambda i: f"zz {i}"}[type(values[0])]
    return [None if i == 2 else other(i) for i in range(ROWS)]


def result(query, tables):
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        for name, columns in tables.items():
            connection.register(name, pa.table(columns))
        return connection.sql(query).fetchall()


def pairs(query):
    found = set(columns_read(parse_one(query, dialect="duckdb"), SCHEMA))
    return {(t, c) for t, name in found for c in (SCHEMA[t] if name == "*" else [name])}


@pytest.mark.parametrize("query", QUERIES)
def test_no_other_column_matters(query):
    read = pairs(query)
    expected = result(query, TABLES)
    others = {
        t: {c: v if (t, c) in read else changed(t, c) for c, v in columns.items()} for t, columns in TABLES.items()
    }
    assert result(query, others) == expected


def test_not_everything_is_said_to_be_read():
    assert sum(pairs(q) == {(t, c) for t, columns in SCHEMA.items() for c in columns} for q in QUERIES) <= 4
    assert pairs("SELECT width FROM images WHERE height > 3") == {("images", "width"), ("images", "height")}


@pytest.mark.parametrize("query", QUERIES)
def test_origins_are_among_what_is_read(query):
    read = pairs(query)
    for sources in origins(parse_one(query, dialect="duckdb"), SCHEMA).values():
        assert {(t, c) for t, c in sources if c != "*"} <= read
