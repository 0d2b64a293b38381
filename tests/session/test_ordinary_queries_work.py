"""What an analyst writes in DuckDB's SQL works in a closed session, and gives what DuckDB gives on the same rows."""

from __future__ import annotations

import pytest
from beside_duckdb import beside_duckdb

TABLES = ("images", "captions", "detections", "labels")
QUERIES = [
    "FROM images",
    "FROM images SELECT key, width ORDER BY ALL LIMIT 2",
    "TABLE images",
    "VALUES (1, 'a'), (2, 'b')",
    "SELECT 42 AS answer, 'it''s' AS text",
    "SELECT * FROM images ORDER BY image_id DESC NULLS LAST LIMIT 3 OFFSET 1",
    "SELECT * EXCLUDE (sha256, uri) REPLACE (width / 2 AS width) FROM images ORDER BY 1",
    "SELECT * RENAME (key AS name) FROM images ORDER BY 1",
    "SELECT COLUMNS('^w|^h') FROM images ORDER BY ALL",
    "SELECT min(COLUMNS(* EXCLUDE key)) FROM images",
    "SELECT DISTINCT ON (split) split, key FROM images ORDER BY split, image_id",
    "SELECT split, count(*) AS n, avg(width) AS mean FROM images GROUP BY ALL HAVING n > 0 ORDER BY ALL",
    "SELECT split, license, count(*) FROM images GROUP BY ROLLUP (split, license) ORDER BY ALL",
    "SELECT split, count(*) FILTER (WHERE width > 300) FROM images GROUP BY 1 ORDER BY 1",
    "SELECT key, row_number() OVER (PARTITION BY split ORDER BY image_id) AS r FROM images ORDER BY image_id",
    "SELECT key FROM images QUALIFY rank() OVER (PARTITION BY split ORDER BY width DESC NULLS LAST) = 1 ORDER BY key",
    "SELECT key, lag(width, 1, 0) OVER w, sum(width) OVER w FROM images WINDOW w AS (ORDER BY image_id) ORDER BY 1",
    "SELECT i.key, c.text FROM images i JOIN captions c USING (image_id) WHERE c.text LIKE '%horse%' ORDER BY ALL",
    "SELECT key FROM images SEMI JOIN detections USING (image_id) ORDER BY key",
    "SELECT key FROM images ANTI JOIN captions USING (image_id) ORDER BY key",
    "SELECT a.key, b.key FROM images a ASOF JOIN images b ON a.image_id > b.image_id ORDER BY ALL",
    "SELECT a.key, d.category FROM images a LEFT JOIN detections d ON d.image_id = a.image_id AND d.score > 0.5 ORDER BY ALL",
    "SELECT count(*) FROM images a POSITIONAL JOIN captions b",
    "SELECT key, (SELECT count(*) FROM captions c WHERE c.image_id = i.image_id) AS n FROM images i ORDER BY key",
    "SELECT key FROM images WHERE image_id IN (SELECT image_id FROM detections WHERE category = 'person') ORDER BY 1",
    "SELECT key FROM images i WHERE EXISTS (FROM captions c WHERE c.image_id = i.image_id AND c.origin = 'human') ORDER BY 1",
    "SELECT key, n FROM images i, LATERAL (SELECT count(*) AS n FROM captions c WHERE c.image_id = i.image_id) ORDER BY 1",
    "SELECT caption_id, unnest(string_split(text, ' ')) AS word FROM captions ORDER BY ALL",
    "SELECT word, count(*) FROM (SELECT unnest(string_split(text, ' ')) AS word FROM captions) GROUP BY 1 ORDER BY 2 DESC, 1",
    "SELECT * FROM unnest([1, 2, 3]) AS t(x)",
    "SELECT * FROM range(3) AS r(i), unnest(['a', 'b']) AS u(s) ORDER BY ALL",
    "SELECT * FROM generate_series(1, 5, 2) ORDER BY 1",
    "SELECT * FROM (VALUES (1, 'x'), (2, 'y')) AS v(a, b)",
    "WITH a AS (SELECT image_id FROM images), b AS (SELECT * FROM a WHERE image_id < 4) SELECT count(*) FROM a, b",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) FROM t",
    "WITH a AS MATERIALIZED (SELECT max(width) AS w FROM images) SELECT key FROM images, a WHERE width = w ORDER BY 1",
    "SELECT * FROM (SELECT split, width FROM images) PIVOT (count(*) AS n, max(width) AS w FOR split IN ('train', 'val'))",
    "SELECT * FROM (SELECT image_id, width, height FROM images) UNPIVOT (size FOR side IN (width, height)) ORDER BY ALL",
    "SELECT keypoints[1], keypoints[1:2], len(keypoints) FROM detections ORDER BY detection_id",
    "SELECT list_transform(keypoints, lambda x: x + 1) FROM detections ORDER BY detection_id",
    "SELECT [x * 2 for x in keypoints if x > 0] FROM detections ORDER BY detection_id",
    "SELECT list_reduce([1, 2, 3], lambda a, b: a + b), list_filter([1, 2, 3], lambda x: x > 1)",
    "SELECT {'a': 1, 'b': {'c': 'x'}} AS s, struct_pack(k := 1), {'a': {'b': 5}}.a.b, {'a': 1}['a']",
    "SELECT MAP {'a': 1, 'b': 2} AS m, m['a'], map_keys(m)",
    "SELECT list(key ORDER BY image_id), string_agg(split, ',' ORDER BY key), histogram(license) FROM images",
    "SELECT quantile_cont(width, [0.25, 0.5]), median(height), mode(split), entropy(license), stddev_samp(width) FROM images",
    "SELECT arg_max(key, width), max_by(key, height), corr(width, height), bool_and(width > 0) FROM images",
    "SELECT CASE WHEN width > 300 THEN 'wide' ELSE 'small' END AS size, count(*) FROM images GROUP BY 1 ORDER BY 1",
    "SELECT key, width::DOUBLE / height AS ratio, TRY_CAST(key AS INTEGER), coalesce(width, 0) FROM images ORDER BY key",
    "SELECT regexp_extract(text, '(\\w+) on', 1), regexp_matches(text, 'horse|dog'), text SIMILAR TO '.*horse' FROM captions ORDER BY caption_id",
    "SELECT lower(text), upper(text), length(text), text[1:3], reverse(text), text || '!' FROM captions ORDER BY caption_id",
    "SELECT format('{}: {:.2f}', key, width / 3), printf('%d', height), 'a' IN ('a', 'b'), 3 BETWEEN 1 AND 5 FROM images ORDER BY 1",
    "SELECT DATE '2024-02-29' + INTERVAL 1 YEAR, date_trunc('month', TIMESTAMP '2024-02-29 10:00:00'), extract(year FROM DATE '2024-01-01')",
    "SELECT image_id FROM images UNION SELECT image_id FROM captions EXCEPT SELECT 3 INTERSECT SELECT 3 ORDER BY 1",
    "SELECT image_id, key FROM images UNION ALL BY NAME SELECT image_id, text FROM captions ORDER BY ALL",
    "SELECT * FROM images TABLESAMPLE 100 PERCENT ORDER BY 1",
    "SELECT key FROM images WHERE width > ALL (SELECT width FROM images WHERE split = 'val' AND width < 300) ORDER BY 1",
    "SELECT json_extract('{\"a\": [1, 2]}', '$.a[1]'), '{\"b\": 3}'::JSON ->> 'b', to_json({'x': 1})",
    "SELECT e.value FROM json_each('[1, 2]') AS e ORDER BY 1",
    'SELECT 1 AS "select", 2 AS "with space", \'é\' AS ü',
    "SELECT i.image_id AS id, i.* FROM images AS i ORDER BY id LIMIT 1",
    "SELECT images.key, main.images.width FROM images ORDER BY 1",
    "SELECT sum(x ORDER BY x), first(x ORDER BY y DESC) FROM (SELECT width AS x, height AS y FROM images)",
    "SELECT width, height FROM images WHERE (width, height) IN ((640, 480), (1, 2)) ORDER BY ALL",
    "SELECT #1, key FROM images ORDER BY #2",
    "SELECT 5 // 2, 5 % 2, 2 ** 3, 7 / 2, -7 // 2, ~5, 5 & 3, 5 | 3, xor(5, 3), 1 << 3",
    "SELECT try(CAST('x' AS INTEGER)) IS NULL, if(true, 1, 2), ifnull(NULL, 3), nullif(1, 1), greatest(1, 2), least(1, 2)",
    "SELECT 1e3, 1_000, 0x1F, .5, 1.5::DECIMAL(5, 2), 'NaN'::FLOAT, 170141183460469231731687303715884105727",
    "/* a comment */ SELECT 1 -- and another\n, 2 /* inside */",
    "SELECT count(*), count(DISTINCT image_id), count(width), sum(width) FROM images WHERE false",
    "SELECT * FROM images WHERE split IS NOT DISTINCT FROM NULL",
    "SELECT image_id, 1 AS one FROM images GROUP BY image_id ORDER BY image_id",
    "SELECT a.* FROM images a, images b WHERE a.image_id = b.image_id AND a.split = b.split ORDER BY 1",
    "SUMMARIZE SELECT image_id, width FROM images",
    "DESCRIBE SELECT image_id, key FROM images",
]


@pytest.fixture(scope="module")
def both(build, tmp_path_factory):
    import counterbalance as cb

    lake = cb.connect("memory://ordinary")
    lake.ingest(
        {
            "images": build.images(
                image_id=[1, 2, 3, 4, 5, 6],
                key=["one", "two", "three", "four", "five", "six"],
                split=["train", "train", "val", "val", None, "train"],
                width=[640, 320, 200, 640, None, 100],
                height=[480, 240, 200, 480, None, 900],
                license=["CC BY", None, "CC BY", "CC0", "CC0", None],
            ),
            "captions": build.captions(
                caption_id=[11, 12, 13, 14, 15],
                image_id=[1, 1, 2, 3, 4],
                text=["a man rides a horse", "a rider on a horse", "a woman reads", "", None],
                origin=["human", "human", "human", "alt_text", "generated"],
            ),
            "detections": build.detections(
                detection_id=[21, 22, 23, 24],
                image_id=[1, 1, 2, 4],
                category=["person", "horse", "person", "person"],
                score=[0.875, 0.75, None, 0.5],
                keypoints=[[1.0, 2.0, 2.0], None, [], [0.0, 0.0, 0.0]],
            ),
            "labels": build.labels(label_id=[31], image_id=[1], attribute=["scene"], value=["outdoor"]),
        }
    )
    with beside_duckdb(lake, *TABLES) as opened:
        yield opened


@pytest.mark.parametrize("query", QUERIES)
def test_as_duckdb_does(both, query):
    session, connection = both
    result = session.sql(query)
    expected = connection.sql(query)
    assert result.columns == expected.limit(0).to_arrow_table().column_names
    assert sorted(map(str, result.fetchall())) == sorted(map(str, rows(expected)))


def rows(relation):
    table = relation.to_arrow_table()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("query", [q for q in QUERIES if "ORDER BY" in q and "string_agg" not in q][:12])
def test_order_is_kept(both, query):
    session, connection = both
    assert str(session.sql(query).fetchall()) == str(rows(connection.sql(query)))


@pytest.mark.parametrize("query", QUERIES)
def test_the_expanded_text_means_the_same(both, query):
    """A query is also run from the parsed tree, when an audit stands beside it: that text must not mean something else."""
    session, _ = both
    if query.startswith(("SUMMARIZE", "DESCRIBE")):
        assert session.sql(query).fetchall()
        return
    expanded = session.expand(query)
    assert sorted(map(str, session.sql(expanded).fetchall())) == sorted(map(str, session.sql(query).fetchall()))


def test_there_are_enough_of_them():
    assert len(QUERIES) >= 75


def test_statements_about_relations(both):
    session, _ = both
    assert {"images", "captions", "caption_gender", "meta.tables"} <= {
        r[0] for r in session.sql("SHOW ALL TABLES").fetchall()
    }
    described = session.sql("DESCRIBE images").to_arrow().to_pylist()
    assert (described[0]["column_name"], described[0]["column_type"]) == ("image_id", "BIGINT")
    assert session.sql("SUMMARIZE images").to_arrow()["column_name"].to_pylist()[:2] == ["image_id", "key"]
    assert "~6 rows" in str(session.sql("EXPLAIN SELECT * FROM images").fetchall())
    assert "Total Time" in str(session.sql("EXPLAIN ANALYZE SELECT count(*) FROM images").fetchall())
    assert session.sql("DESCRIBE caption_gender").to_arrow()["column_name"].to_pylist() == ["image_id", "label"]
