"""Queries that try to read, write or call anything but the lake: each is refused or harmless, and changes nothing.

The list goes back to attacks that run on an unhardened DuckDB: files, extensions, the network, settings, statements that write
inside ones that read, names of Python variables, catalog functions, and text that two parsers could read in two ways.
"""

from __future__ import annotations

import contextlib

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError

MARKER = "CANARY-5318008"

FILES = """
SELECT * FROM '{canary}'
SELECT * FROM "{canary}"
FROM '{canary}'
SELECT * FROM 'file://{canary}'
SELECT * FROM '{folder}/*.csv'
SELECT * FROM images JOIN '{canary}' ON true
SELECT * FROM images, '{canary}'
SELECT (SELECT a FROM '{canary}')
SELECT * FROM images WHERE key IN (SELECT marker FROM '{canary}')
SELECT * FROM read_csv('{canary}')
SELECT * FROM read_csv_auto('{canary}')
SELECT * FROM "read_csv"('{canary}')
SELECT * FROM READ_CSV(['{canary}'])
SELECT * FROM main.read_csv('{canary}')
SELECT * FROM system.main.read_csv('{canary}')
SELECT * FROM read_text('{canary}')
SELECT * FROM read_blob('{canary}')
SELECT content FROM read_text('{folder}/*')
SELECT * FROM read_json('{canary}')
SELECT * FROM read_json_objects('{canary}')
SELECT * FROM read_ndjson_objects('{canary}')
SELECT * FROM read_parquet('{canary}')
SELECT * FROM parquet_scan('{canary}')
SELECT * FROM parquet_metadata('{canary}')
SELECT * FROM parquet_schema('{canary}')
SELECT * FROM parquet_kv_metadata('{canary}')
SELECT * FROM parquet_bloom_probe('{canary}', 'a', 1)
SELECT * FROM read_duckdb('{canary}')
SELECT * FROM sniff_csv('{canary}')
SELECT * FROM glob('{folder}/*')
SELECT * FROM images, LATERAL read_text('{canary}')
SELECT * FROM images, LATERAL glob('{folder}/*')
SELECT * FROM images CROSS JOIN LATERAL parquet_metadata('{canary}')
SELECT * FROM images LEFT JOIN LATERAL read_duckdb('{canary}') ON true
SELECT * FROM ROWS FROM (read_text('{canary}'))
SELECT * FROM range(1) AS t(i), read_text('{canary}')
WITH RECURSIVE r AS (SELECT 'x' AS c UNION ALL SELECT content FROM read_text('{canary}')) SELECT * FROM r
SELECT * FROM unnest((SELECT list(content) FROM read_text('{canary}')))
SUMMARIZE '{canary}'
DESCRIBE '{canary}'
DESCRIBE SELECT * FROM '{canary}'
SELECT * FROM (DESCRIBE '{canary}')
EXPLAIN SELECT * FROM '{canary}'
EXPLAIN ANALYZE SELECT * FROM read_csv('{canary}')
SELECT * FROM read_csv('{spill}/canary.csv')
SELECT * FROM '{spill}/canary.csv'
SELECT * FROM glob('{spill}/*')
SELECT * FROM caption_gender(words := '{canary}')
SELECT * FROM caption_gender(words := read_csv('{canary}'))
SELECT * FROM caption_gender(words := (SELECT * FROM read_csv('{canary}')))
SELECT * FROM top_k((SELECT 1 AS id, content AS text FROM read_text('{canary}')), captions)
SELECT getenv('HOME')
SELECT * FROM captions.lance
SELECT * FROM 'sensitive/labels.lance'
"""

WRITES = """
COPY images TO '{out}'
COPY (SELECT 1) TO '{out}' (FORMAT csv)
COPY (SELECT 1) TO '/dev/stdout'
COPY (SELECT 1) TO '{spill}/out.csv'
COPY images FROM '{canary}'
EXPORT DATABASE '{folder}'
IMPORT DATABASE '{folder}'
ATTACH '{out}' AS x
ATTACH ':memory:' AS x
DETACH memory
USE memory
WITH x AS (COPY images TO '{out}') SELECT 1
WITH x AS (DELETE FROM images RETURNING *) SELECT * FROM x
WITH x AS (INSERT INTO images VALUES (1) RETURNING *) SELECT * FROM x
WITH x AS (UPDATE images SET key = 'x' RETURNING *) SELECT * FROM x
WITH x AS (TRUNCATE images) SELECT 1
WITH x AS (MERGE INTO images USING captions ON true WHEN MATCHED THEN DELETE RETURNING *) SELECT * FROM x
SELECT * FROM (WITH x AS (DELETE FROM images RETURNING *) SELECT * FROM x)
SELECT * FROM (DELETE FROM images RETURNING *)
DELETE FROM images
INSERT INTO images SELECT * FROM images
UPDATE images SET key = 'x'
TRUNCATE images
MERGE INTO images USING captions ON true WHEN MATCHED THEN DELETE
EXPLAIN ANALYZE DELETE FROM images
EXPLAIN ANALYZE COPY images TO '{out}'
EXPLAIN DELETE FROM images
explain  analyze  copy images to '{out}'
CREATE TABLE t AS SELECT 1
CREATE TEMP TABLE images AS SELECT 1
CREATE VIEW images AS SELECT 99 AS image_id
CREATE OR REPLACE TEMP VIEW images AS SELECT 99 AS image_id
CREATE MACRO lower(x) AS 'pwned'
CREATE TEMP MACRO lower(x) AS 'pwned'
CREATE TYPE t AS ENUM ('a')
CREATE SEQUENCE s
CREATE SECRET s (TYPE s3)
CREATE PERSISTENT SECRET s (TYPE http)
DROP TABLE images
DROP VIEW images
ALTER TABLE images ADD COLUMN x INT
COMMENT ON TABLE images IS 'x'
SELECT * INTO t FROM images
SELECT * FROM images FOR UPDATE
CHECKPOINT
VACUUM
ANALYZE
SELECT * FROM checkpoint()
SELECT * FROM force_checkpoint()
SELECT nextval('s')
SELECT setval('s', 1)
SELECT write_log('x')
"""

SETTINGS = """
SET memory_limit = '1TB'
SET enable_external_access = true
SET GLOBAL threads = 1
SET VARIABLE x = 1
SET temp_directory = '{folder}'
SET SESSION search_path = 'x'
RESET memory_limit
PRAGMA memory_limit = '1TB'
PRAGMA database_list
PRAGMA enable_profiling
PRAGMA profiling_output = '{out}'
SELECT * FROM pragma_table_info('images')
CALL pragma_version()
CALL duckdb_settings()
SELECT current_setting('temp_directory')
SELECT * FROM duckdb_settings()
SELECT * FROM enable_logging(storage := 'file', storage_path := '{out}')
SELECT * FROM images, LATERAL enable_logging('QueryLog')
SELECT * FROM enable_profiling()
INSTALL httpfs
INSTALL httpfs FROM community
LOAD httpfs
LOAD '{canary}'
FORCE INSTALL lance
UPDATE EXTENSIONS
SELECT * FROM 'https://example.invalid/x.csv'
SELECT * FROM read_csv('https://example.invalid/x.csv')
SELECT * FROM read_parquet('s3://bucket/x.parquet')
ATTACH 'https://example.invalid/x.duckdb'
BEGIN
COMMIT
ROLLBACK
PREPARE p AS SELECT 1
EXECUTE p
DEALLOCATE p
KILL 1
"""

CATALOG = """
SELECT * FROM duckdb_views()
SELECT * FROM duckdb_tables()
SELECT * FROM duckdb_columns()
SELECT * FROM duckdb_secrets()
SELECT * FROM duckdb_temporary_files()
SELECT * FROM duckdb_logs
SELECT * FROM duckdb_databases
FROM duckdb_views()
SELECT 1 WHERE EXISTS (FROM duckdb_views())
SELECT * FROM (SELECT 1) AS t, LATERAL duckdb_settings()
SELECT * FROM (SELECT 1) AS t CROSS JOIN LATERAL duckdb_views()
SELECT * FROM ROWS FROM (duckdb_views())
TABLE duckdb_views
SELECT * FROM information_schema.tables
SELECT * FROM system.information_schema.columns
SELECT * FROM pg_catalog.pg_class
SELECT * FROM pg_catalog.pg_views
SELECT * FROM sqlite_master
SELECT * FROM query('SELECT 1')
SELECT * FROM query_table('images')
SELECT * FROM query_table(['images'])
SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
SELECT json_serialize_plan('SELECT * FROM duckdb_views()')
SELECT * FROM seq_scan('images')
SELECT * FROM arrow_scan(1, 2, 3)
SELECT * FROM pandas_scan(1)
SELECT * FROM python_map_function(1)
SELECT * FROM test_all_types()
SELECT * FROM which_secret('x', 'y')
SELECT * FROM secret_frame
SELECT * FROM lake
SELECT * FROM session
SELECT * FROM images__codes
SELECT split__code FROM images
SELECT * FROM temp.images
SELECT * FROM nobody.images
"""

TRICKS = """
SELECT 1; SELECT 2
SELECT 1; DROP TABLE images
SELECT 1 ; ; DELETE FROM images
SELECT 1\u2028; SELECT 2
SELECT 1 /* ; */ ; COPY images TO '{out}'
SELECT 1 --\r; COPY images TO '{out}'
SELECT ` -- `, (SELECT count(*) FROM duckdb_settings()) FROM (SELECT 1 AS ` -- `)
SELECT `, '` , (SELECT count(*) FROM duckdb_settings()) , `', `
SELECT 1 AS ` /* `, (SELECT count(*) FROM duckdb_views()) -- */
SELECT $\u00b2$ ' $\u00b2$, (SELECT count(*) FROM duckdb_settings()), $\u00b2$ ' $\u00b2$
SELECT a$b FROM (SELECT 1 AS a$b)
WITH images AS (SELECT * FROM nothing_here) SELECT * FROM images
WITH x AS (SELECT * FROM y), y AS (SELECT 1) SELECT * FROM x
WITH RECURSIVE x AS (SELECT * FROM y), y AS (SELECT 1) SELECT * FROM x
SELECT * FROM (WITH z AS (SELECT 1) SELECT 1), z
SELECT * FROM captions AT (VERSION => 1)
PIVOT images ON split USING count(*)
UNPIVOT images ON width, height
SHOW TABLES; DROP TABLE images
"""

HARMLESS = """
SELECT E'a\\'; COPY images TO ''{out}''; --'
SELECT $$; DROP TABLE images$$
SELECT $q$ '{canary}' $q$
SELECT '; DROP TABLE images --'
SELECT 1 /* /* */ ; DROP TABLE images --*/
SELECT 1 {{# #}} , 2
SELECT "image_id" AS "; DROP TABLE images" FROM images
SELECT current_query()
SELECT current_database(), current_schema(), version()
SELECT getvariable('x')
SELECT json_serialize_sql('DROP TABLE images')
SELECT json_deserialize_sql(json_serialize_sql('SELECT 1'))
SELECT txid_current()
SELECT setseed(0.5)
SHOW ALL
SHOW DATABASES
SHOW TABLES
SELECT * FROM other.main.images
WITH images AS (SELECT 1 AS image_id) SELECT * FROM images
WITH RECURSIVE images AS (SELECT 1 AS image_id) SELECT * FROM images
SELECT pg_get_viewdef(0)
SELECT array_agg(i) FROM range(3) AS t(i)
"""


def lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


@pytest.fixture(scope="module")
def battlefield(tmp_path_factory, build, spill_of):
    """A lake on disk, a session on it, and the places an attack could read from or write to."""
    folder = tmp_path_factory.mktemp("attacks")
    home = folder / "home"
    home.mkdir()
    (folder / "canary.csv").write_text(f"marker,a\n{MARKER},1\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.chdir(folder)
        lake = cb.connect(folder / "test.lake")
        lake.ingest(
            {
                "images": build.images(image_id=[1, 2], key=["a", "b"], split=["s", "t"]),
                "captions": build.captions(caption_id=[1], image_id=[1], text=["a man"]),
                "labels": build.labels(label_id=[1], image_id=[1], attribute=["race"], value=[MARKER]),
            }
        )
        with lake.session(timeout=10) as session:
            canary = spill_of(session) / "canary.csv"
            canary.write_text(f"marker\n{MARKER}\n")
            yield session, folder, canary.parent
            canary.unlink()


def everything(folder, spill):
    roots = (folder, spill)
    return {
        str(p): (p.stat().st_size, p.stat().st_mtime_ns) for root in roots for p in root.rglob("*") if p.name != ".lock"
    }


def attack(battlefield, text):
    session, folder, spill = battlefield
    secret_frame = pa.table({"secret": [MARKER]})
    places = {"canary": folder / "canary.csv", "folder": folder, "out": folder / "out.csv", "spill": spill}
    rows = session.sql(text.format(**places)).fetchall()
    assert MARKER not in str(rows)
    return rows, secret_frame


@pytest.fixture
def unchanged(battlefield):
    """Nothing is written, read into the session, shadowed or forgotten."""
    session, *places = battlefield
    before = everything(*places)
    yield
    assert everything(*places) == before
    assert session.sql("SELECT image_id, lower(key), split FROM images ORDER BY 1").fetchall() == [
        (1, "a", "s"),
        (2, "b", "t"),
    ]
    with cb.connect(places[0] / "test.lake").session() as again:
        assert again.versions == session.versions


@pytest.mark.parametrize("text", [*lines(FILES), *lines(WRITES), *lines(SETTINGS), *lines(CATALOG), *lines(TRICKS)])
@pytest.mark.usefixtures("unchanged")
def test_refused(battlefield, text, record_property):
    record_property("statements", 1)
    with pytest.raises(CounterbalanceError) as caught:
        attack(battlefield, text)
    assert MARKER not in str(caught.value)
    assert caught.value.code.startswith(("E1", "E3"))


@pytest.mark.parametrize("text", lines(HARMLESS))
@pytest.mark.usefixtures("unchanged")
def test_harmless(battlefield, text, record_property):
    record_property("statements", 1)
    with contextlib.suppress(CounterbalanceError):
        attack(battlefield, text)


def test_there_are_enough_of_them():
    assert sum(len(lines(t)) for t in (FILES, WRITES, SETTINGS, CATALOG, TRICKS)) >= 190


@pytest.mark.parametrize(
    "value", ["x'; DROP TABLE images; --", "`", "$$", "\x00", "'||(SELECT 1)||'", "{canary}", "é\u2028"]
)
@pytest.mark.usefixtures("unchanged")
def test_values_stay_values(battlefield, value):
    session, *_ = battlefield
    assert session.sql("SELECT $v AS v", v=value).fetchall() == [(value,)]
    assert session.sql("SELECT key FROM images WHERE key = $v", v=value).fetchall() == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"attribute": "scene'; DROP TABLE images; --"},
        {"attribute": "x' OR 1 = 1 --", "annotator": "' OR true --"},
    ],
)
@pytest.mark.usefixtures("unchanged")
def test_arguments_stay_values(battlefield, arguments):
    session, *_ = battlefield
    text = ", ".join(f"{name} := ${name}" for name in arguments)
    labels = session.sql(f"SELECT DISTINCT label FROM image_labels({text})", **arguments).fetchall()
    assert set(labels) <= {("unclear",)}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SELECT $q$ a 'b' $q$ AS x", " a 'b' "),
        ("SELECT E'a\\'b' AS x", "a'b"),
        ("SELECT /* a /* nested */ one */ 'c' AS x", "c"),
    ],
)
def test_text_that_could_be_cut_in_two_ways_is_not_run_as_written(battlefield, text, shown):
    """Then DuckDB runs what the gate has read, and not the text."""
    session, *_ = battlefield
    result = session.sql(text)
    assert result.fetchall() == [(shown,)]
    assert result.sql != text


def test_what_duckdb_alone_would_do(tmp_path):
    """The walls behind the gate hold by themselves: no files, no settings, whatever text reaches DuckDB."""
    import duckdb

    from counterbalance.engine.backends.duckdb.connection import connect

    (tmp_path / "spill").mkdir()
    (tmp_path / "canary.csv").write_text(MARKER)
    connection = connect(str(tmp_path / "spill"), "1GB", 1)
    outside = [
        f"SELECT * FROM read_text('{tmp_path}/canary.csv')",
        f"SELECT * FROM '{tmp_path}/canary.csv'",
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/x.duckdb'",
        f"SELECT * FROM glob('{tmp_path}/*')",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CREATE PERSISTENT SECRET s (TYPE http)",
    ]
    for text in outside:
        with pytest.raises(duckdb.Error):
            connection.execute(text).fetchall()
    secret_frame = pa.table({"secret": [MARKER]})
    with pytest.raises(duckdb.CatalogException):
        connection.sql("SELECT * FROM secret_frame")
    assert secret_frame.num_rows == 1
    connection.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["canary.csv", "spill"]
