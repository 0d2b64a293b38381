"""Statements give the same rows in the same types, whether Spark or DuckDB runs them; each engine says what it cannot do."""

from __future__ import annotations

import pyarrow as pa
import pytest
from spark_marks import ON_SPARK

import counterbalance as cb
from counterbalance.engine.errors import LimitError, RequestError, SqlError

pytestmark = ON_SPARK
TEXTS = [
    "a dog",
    "a man\\",
    "${env:HOME}",
    'it\'s "a" `b`',
    "\\' OR 1=1 --",
    "tab\tand\nline",
    None,
    "ünï 🦊",
    "\\p{L}+\\n",
]


@pytest.fixture(scope="module")
def both(tmp_path_factory, build):
    lake = cb.connect(tmp_path_factory.mktemp("spark") / "a.lake")
    ids = list(range(1, 10))
    images = build.images(image_id=ids, key=[f"k{i}" for i in ids], width=[100 + i % 3 for i in ids], height=[100] * 9)
    lake.ingest({"images": images})
    for at in range(3):  # a fragment each
        part = ids[3 * at : 3 * at + 3]
        lake.ingest({"captions": build.captions(caption_id=part, image_id=part, text=TEXTS[3 * at : 3 * at + 3])})
    other = cb.connect(tmp_path_factory.mktemp("spark") / "b.lake")
    other.ingest({"images": build.images(image_id=[1, 77], key=["a", "b"], width=[1, 2], height=[3, 4])})
    with (
        lake.session(attach={"other": other}) as duckdb,
        lake.session(attach={"other": other}, engine="spark") as spark,
    ):
        yield duckdb, spark


STATEMENTS = [
    "FROM images SELECT * EXCLUDE (height) ORDER BY image_id LIMIT 2",
    "SELECT avg(CASE WHEN width = 101 THEN 1.0 ELSE 0.0 END) AS share FROM images",
    "SELECT lower(concat(text, 'İ ΑΣ ß')) AS l, regexp_extract_all(lower(concat(text, 'İstanbul')), '[a-z]+') AS w FROM captions ORDER BY caption_id",
    "SELECT list_transform([image_id, 20], lambda x, i: x * 10 + i) AS l, list_filter([10, 20, image_id], lambda x, i: i > 1) AS f FROM images ORDER BY image_id",
    "SELECT unnest([image_id, 2]) AS a, unnest([5, 6, 7]) AS b, height FROM images ORDER BY ALL",
    "SELECT CAST(CAST('0.49999999999999999' AS DECIMAL(18, 17)) AS INTEGER) AS r, count(*) AS n FROM images",
    "WITH A AS (SELECT width FROM images) SELECT count(*) AS n FROM a AS x JOIN A AS y ON x.width = y.width",
    "SELECT count(*) AS n FROM captions WHERE similarity > 0.5 OR similarity IS NULL",
    "SELECT count(*) AS n FROM images WHERE width IN (101, 99999999999999999999999)",
    "SELECT count(*) FROM captions",
    "SELECT * FROM captions ORDER BY caption_id",
    "SELECT width, count(*) AS n, sum(height) AS s, avg(image_id) AS a FROM images GROUP BY ALL ORDER BY ALL",
    "SELECT count(*) FILTER (WHERE width > 100) AS n FROM images",
    "SELECT image_id FROM images WHERE image_id IN (SELECT image_id FROM captions WHERE text LIKE '%dog%')",
    "SELECT list(image_id ORDER BY width DESC, image_id) AS l FROM images",
    "SELECT list(text ORDER BY text DESC) AS l FROM captions",
    "SELECT list(DISTINCT width ORDER BY width) AS l FROM images",
    "SELECT list(width ORDER BY image_id) FILTER (WHERE image_id > 4) AS l FROM images",
    "SELECT image_id, unnest([1, 2, 3]) AS a, unnest(['x']) AS b FROM images ORDER BY ALL",
    "SELECT i.image_id, o.width FROM images AS i LEFT JOIN other.images AS o USING (image_id) ORDER BY 1",
    "SELECT image_id FROM other.images ORDER BY 1",
    "WITH a AS (SELECT width, image_id FROM images WHERE width = 101) SELECT count(*) FROM a AS x JOIN a AS y ON x.image_id < y.image_id",
    "SELECT x.image_id FROM images AS x JOIN images AS y ON y.image_id = x.image_id + 1 WHERE x.width = 100 AND y.width = 101 ORDER BY 1",
    "SELECT x.image_id, y.width FROM images AS x LEFT JOIN images AS y ON y.image_id = x.image_id + 1 WHERE y.width IN (101) ORDER BY 1",
    "SELECT term FROM lists.stop_words ORDER BY term LIMIT 3",
    "SELECT image_id FROM given ORDER BY 1",
    "SELECT i.image_id FROM images AS i JOIN given AS g USING (image_id) ORDER BY 1",
    "SELECT vader(text) AS c, gender_label(text) AS g FROM captions ORDER BY caption_id",
    "SELECT text, regexp_extract_all(text, '[\\p{L}]+') AS words FROM captions ORDER BY caption_id",
    "SELECT name FROM meta.tables ORDER BY name",
    "SELECT 1 + 1 AS two",
    "DESCRIBE SELECT * FROM captions",
    "SUMMARIZE SELECT width FROM images",
    "SELECT (image_id - 3) / (width - 100) AS q, image_id / nullif(width - 100, 0) AS n, (image_id / 2) / (image_id - 4) AS r FROM images ORDER BY image_id",
    "SELECT CAST(image_id / 2 AS INTEGER) AS a, CAST(CAST(image_id / 2 AS DECIMAL(9, 3)) AS BIGINT) AS b, CAST(-image_id / 4e0 AS BIGINT) AS c, CAST(CAST(image_id AS VARCHAR) AS INTEGER) AS d, CAST(width > 100 AS INTEGER) AS e, CAST(sqrt(image_id) * 2.5 AS SMALLINT) AS f FROM images ORDER BY image_id",
    "SELECT CAST(avg(image_id) * 1.3 AS INTEGER) AS a, CAST(sum(image_id) AS INTEGER) AS b, CAST((SELECT max(height) / 3 FROM images) AS INTEGER) AS c FROM images",
    "SELECT CAST(image_id * 1.5 + width * 2 AS INTEGER) % 4 AS k, (image_id + 1.0) / (width - 100 + image_id) > 1 AS q, count(*) AS n FROM images GROUP BY CAST(image_id * 1.5 + width * 2 AS INTEGER) % 4, (image_id + 1.0) / (width - 100 + image_id) > 1 ORDER BY 1, 2",
    "SELECT quantile_cont(image_id, 0.3) AS q, median(width) AS m FROM images",
    "SELECT sum(image_id - 5) / sum(width - width) AS q, 1 / count(*) AS n FROM images",
    "SHOW TABLES",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_rows_are_the_same(both, statement):
    given = {"given": pa.table({"image_id": [3, 99]})} if "given" in statement else {}
    ours, theirs = (session.sql(statement, **given).to_arrow() for session in both)
    assert theirs.schema == ours.schema
    assert str(theirs.to_pylist()) == str(ours.to_pylist())  # NaN is as NaN
    assert ours.num_rows


REFUSED = [
    "SELECT count(*) AS n FROM images NATURAL JOIN captions",
    "SELECT * FROM captions JOIN images USING (image_id)",
    "SELECT c.*, i.* FROM captions AS c JOIN images AS i USING (image_id)",
    "SELECT * REPLACE (0 AS width), image_id, height FROM images",
    "SELECT image_id FROM captions AS c(image_id, caption_id) WHERE caption_id = 5",
    "SELECT unnest([image_id, 2]) AS a, height, unnest([5, 6, 7]) AS b FROM images",
    "SELECT image_id, rank() OVER (ORDER BY width) AS width FROM images QUALIFY width = 1",
    "SELECT -image_id AS image_id FROM images ORDER BY image_id + 1",
    "SELECT sum(width) OVER (ORDER BY image_id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) AS s FROM images",
    "SELECT split IN (SELECT split FROM images) AS e FROM images",
    "SELECT count(*) AS n FROM captions WHERE similarity > 0.1",
    "SELECT similarity + 0.1 AS s FROM captions",
    "SELECT round(width / 3, 2) AS r FROM images",
    r"SELECT count(*) AS n FROM captions WHERE text LIKE '%\%'",
    "SELECT count(*) AS n FROM captions AS c JOIN captions AS d ON c.text LIKE d.text",
    "SELECT regexp_matches(text, 'B', 'i') AS r FROM captions",
    "SELECT regexp_matches(text, 'line$') AS r FROM captions",
    r"SELECT regexp_replace(text, '(b)', '[\1]', 'g') AS r FROM captions",
    "SELECT generate_series(image_id, 3) AS g FROM images",
    "SELECT list_slice([1, 2, 3], -2, -1) AS l FROM images",
    "SELECT TRY_CAST(text AS INTEGER) AS i FROM captions",
    "SELECT CAST(text AS DATE) AS d FROM captions",
    "SELECT DISTINCT ON (width) width, image_id FROM images ORDER BY width",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_what_spark_answers_otherwise_is_refused(both, statement):
    with pytest.raises(SqlError) as caught:
        both[1].sql(statement).fetchall()
    assert caught.value.code == "E3479"


@pytest.mark.parametrize("value", [0.1, 2.5, float("inf"), float("nan")])
def test_floats_are_doubles(both, value):
    query = "SELECT $p + $p + $p = 0.3 AS e, CAST(CASE WHEN isnan($p) OR $p > 9 THEN 0 ELSE $p END AS INTEGER) AS i, count(*) FILTER (WHERE $p >= 0.05) AS n FROM images"
    ours, theirs = (session.sql(query, p=value).fetchall() for session in both)
    assert ours == theirs


@pytest.mark.parametrize("text", [text for text in TEXTS if text is not None])
def test_constants_are_as_written(both, text):
    _, spark = both
    quoted = text.replace("'", "''")
    query = f"SELECT $given AS given, '{quoted}' AS written, count(*) AS n FROM captions WHERE text = '{quoted}'"
    assert spark.sql(query, given=text).fetchall() == [(text, text, 1)]


def test_a_plan_is_sparks(both):
    _, spark = both
    assert "BatchScan counterbalance_" in spark.explain("SELECT sum(width) FROM images")


def test_functions_of_duckdb_alone_are_the_only_ones(both):
    _, spark = both
    with pytest.raises(SqlError, match="no function 'reflect'"):
        spark.sql("SELECT reflect('java.lang.System', 'getProperty', 'user.home') FROM images").fetchall()


def test_errors_of_rows_are_told(both):
    _, spark = both
    with pytest.raises(SqlError, match=r"Spark: .*cannot be cast") as caught:
        spark.sql("SELECT CAST(text AS INTEGER) FROM captions").fetchall()
    assert caught.value.code == "E3472"


def test_errors_of_functions_are_told(both):
    _, spark = both
    with pytest.raises(SqlError, match="a function failed on a worker of Spark") as caught:
        spark.sql("SELECT projections([1e0], [1e0], [], [[image_id, 1e0]]) FROM images").fetchall()
    assert caught.value.code == "E3477"


def test_limits_of_duckdb_are_refused(both):
    lake = both[0]
    for limit in ({"memory": "1GB"}, {"threads": 2}, {"isolated": True}):
        with pytest.raises(RequestError, match="is DuckDB's") as caught:
            cb.connect(lake.location.uri).session(engine="spark", **limit)
        assert caught.value.code == "E3474"


def test_analysing_is_duckdbs(both):
    with pytest.raises(RequestError) as caught:
        both[1].sql("EXPLAIN ANALYZE SELECT count(*) FROM images").fetchall()
    assert caught.value.code == "E3475"


def test_pictures_are_duckdbs(both):
    with pytest.raises(RequestError, match="pictures are read by DuckDB only") as caught:
        both[1].sql("SELECT crop(image, 0, 0, 5, 5) AS b FROM images").fetchall()
    assert caught.value.code == "E3478"


def test_other_engines_are_refused(lake):
    with pytest.raises(RequestError, match=r"no engine 'sparc'; did you mean 'spark'") as caught:
        lake.session(engine="sparc")
    assert caught.value.code == "E3473"


def test_a_query_ends_with_its_time(lake, build):
    ids = list(range(3000))
    lake.ingest({"images": build.images(image_id=ids, key=[f"k{i}" for i in ids], width=ids, height=ids)})
    triples = "SELECT count(*) FROM images AS a, images AS b, images AS c WHERE (a.width + b.width) % 7 = c.width % 3"
    with lake.session(engine="spark", timeout=3) as session, pytest.raises(LimitError) as caught:
        session.sql(triples).fetchall()
    assert caught.value.code == "E5001"
