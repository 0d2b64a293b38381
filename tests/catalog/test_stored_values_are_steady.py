"""Views and generated columns that would come out otherwise tomorrow, or cannot be stored, are refused when declared."""

from __future__ import annotations

import subprocess
import sys
import time

import pyarrow as pa
import pytest

from counterbalance.engine.catalog import definitions
from counterbalance.engine.errors import CounterbalanceError, FunctionError, RefusedError, SqlError
from counterbalance.engine.sql.expression import Evaluator, Expression
from counterbalance.engine.sql.volatility import VOLATILE

VIEW = "CREATE MATERIALIZED VIEW v WITH (key = 'caption_id') AS "
COLUMN = "ALTER TABLE captions ADD COLUMN u AS "


@pytest.mark.parametrize(
    "select",
    [
        "SELECT caption_id FROM captions LIMIT 3",
        "SELECT caption_id FROM captions OFFSET 3",
        "SELECT caption_id FROM (SELECT caption_id FROM captions LIMIT 3) AS q ORDER BY caption_id",
        "SELECT caption_id FROM captions WHERE image_id IN (SELECT image_id FROM images LIMIT 1)",
        "WITH c AS (SELECT caption_id FROM captions LIMIT 2) SELECT caption_id FROM c",
        "SELECT caption_id FROM captions UNION SELECT image_id FROM images LIMIT 4",
    ],
)
def test_a_limit_needs_an_order(lake, select):
    with pytest.raises(RefusedError) as caught:
        lake.sql(VIEW + select).to_arrow()
    assert caught.value.code == "E3215"
    assert "ORDER BY" in caught.value.hint
    assert not definitions.load(lake.location).views()


def test_a_limit_with_an_order_is_fine(lake):
    lake.sql(VIEW + "SELECT caption_id FROM captions ORDER BY caption_id DESC LIMIT 3 OFFSET 1").to_arrow()
    lake.refresh("v", executor="inline")
    last = sorted(row[0] for row in lake.sql("SELECT caption_id FROM captions").fetchall())
    assert sorted(row[0] for row in lake.sql("SELECT caption_id FROM v").fetchall()) == last[-4:-1]


CALLS = [
    "version()", "getvariable('a')", "current_setting('threads')", "current_database()", "current_schema()",
    "current_catalog", "session_user", "current_query()", "age(TIMESTAMP '2020-01-01')", "now()", "current_localtime()",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_what_depends_on_the_session_is_refused(lake, call):
    for text in (f"{COLUMN}({call})", f"{VIEW}SELECT caption_id, {call} AS x FROM captions"):
        with pytest.raises(CounterbalanceError) as caught:
            lake.sql(text).to_arrow()
        assert caught.value.code in {"E3141", "E3214", "E3203"}
    assert not definitions.load(lake.location).by_target


def test_age_between_two_moments_is_fine(lake):
    declared = lake.sql(f"{COLUMN}(CAST(age(TIMESTAMP '2021-01-01', TIMESTAMP '2020-01-01') AS VARCHAR))")
    assert declared.fetchall() == [("ADD COLUMN", "captions.u", True)]


def test_every_volatile_function_of_duckdb_is_known():
    """But for those of moments, which go by the session's time zone alone; in a process of its own, as others load more."""
    text = """
        SELECT DISTINCT function_name FROM duckdb_functions() AS f
        WHERE function_type = 'scalar' AND stability <> 'CONSISTENT' AND function_name NOT IN (
            SELECT function_name FROM duckdb_functions()
            WHERE parameter_types::VARCHAR LIKE '%TIMESTAMP%' OR function_name = 'make_timestamptz')
    """
    program = f"import duckdb; print(*(n for n, in duckdb.connect().sql({text!r}).fetchall()), sep='\\n')"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names = {*told.stdout.split()}
    assert "random" in names
    assert names - VOLATILE <= {"error"}


def test_moments_are_of_utc_on_every_machine(lake, monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        moment = "TIMESTAMPTZ '2020-01-01 00:30:00+00'"
        lake.sql(f"{COLUMN}(year({moment}))")
        lake.refresh("captions.u", executor="inline")
        assert lake.sql(f"SELECT DISTINCT u, year({moment}) FROM captions").fetchall() == [(2020, 2020)]
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "expression",
    ["unnest([1, 2])", "1 + unnest([1, 2])", "UNLIST([1, 2])", "generate_subscripts([7, 8], 1)", "unnest({'a': 1})"],
)
def test_a_row_has_one_value(lake, expression):
    with pytest.raises(SqlError) as caught:
        lake.sql(f"{COLUMN}({expression})").to_arrow()
    assert caught.value.code == "E3141"
    assert "several rows" in caught.value.message


def test_a_count_of_values_that_is_not_the_count_of_rows_is_an_error():
    rows = pa.record_batch({"a": [1, 2, 3]})
    evaluator = Evaluator(Expression("many(a)", ("a",), (), "unnest([a, a])"), {"a": pa.int64()})
    with pytest.raises(FunctionError, match=r"many\(a\) made 6 values of 3 rows"):
        evaluator(rows)
    evaluator.close()


@pytest.mark.parametrize(
    "expression", ["hash(text)", "[hash(text)]", "{'h': hash(text)}", "image_id::HUGEINT", "list_sum([1])"]
)
def test_integers_that_int64_cannot_hold_are_refused(lake, expression):
    with pytest.raises(SqlError) as caught:
        lake.sql(f"{COLUMN}({expression})").to_arrow()
    assert caught.value.code == "E3146"
    assert "::BIGINT" in caught.value.hint
    assert not definitions.load(lake.location).by_target


def test_a_view_stores_no_hash_either_but_sums(lake):
    with pytest.raises(SqlError) as caught:
        lake.sql(f"{VIEW}SELECT caption_id, hash(text) AS h FROM captions").to_arrow()
    assert caught.value.code == "E3146"
    lake.sql(
        f"{VIEW}SELECT caption_id, sum(image_id) AS s FROM captions GROUP BY 1 ORDER BY hash(caption_id)"
    ).to_arrow()


@pytest.mark.parametrize("expression", ["(hash(text) >> 1)::BIGINT", "(hash(text))::VARCHAR"])
def test_what_the_hint_says_stores_every_value(lake, expression):
    lake.sql(f"{COLUMN}({expression})").to_arrow()
    lake.refresh("captions.u", executor="inline")
    rows = lake.sql(f"SELECT u, {expression} FROM captions WHERE text IS NOT NULL").fetchall()
    assert rows
    assert all(stored == computed and stored is not None for stored, computed in rows)


def test_names_are_of_a_readable_length(lake):
    name = "n" * 64
    lake.sql(f"ALTER TABLE captions ADD COLUMN {name} AS (1)").to_arrow()
    for text in (
        f"ALTER TABLE captions ADD COLUMN {name}n AS (1)",
        f"CREATE MATERIALIZED VIEW {name}n WITH (key = 'a') AS SELECT 1 AS a",
        f"CREATE INDEX {name}n ON captions USING btree (image_id)",
    ):
        with pytest.raises(SqlError) as caught:
            lake.sql(text).to_arrow()
        assert (caught.value.code, caught.value.hint) == ("E3170", "a name has at most 64")


@pytest.mark.parametrize("name", ["sensitive", "meta", "refresh", "lists"])
def test_views_leave_the_engine_its_words(lake, name):
    with pytest.raises(SqlError) as caught:
        lake.sql(f"CREATE MATERIALIZED VIEW {name} WITH (key = 'a') AS SELECT 1 AS a").to_arrow()
    assert caught.value.code == "E3171"


def test_an_unknown_function_may_be_in_a_file_that_was_not_loaded(lake):
    with pytest.raises(CounterbalanceError) as caught:
        lake.sql(f"{COLUMN}(tlen(text))").to_arrow()
    assert caught.value.code == "E1003"
    assert "--udfs FILE" in caught.value.hint


def test_functions_are_listed_with_their_kind(lake):
    rows = lake.sql("SELECT name, kind, signature FROM meta.functions").fetchall()
    kinds = {name: kind for name, kind, _ in rows}
    assert kinds["vader"] == "function"
    assert {n for n, k in kinds.items() if k == "table function"} == {
        "top_k", "knn", "knn_shares", "vector_search", "full_text_search", "hybrid_search",
        "moments", "nearest_counts", "nearest_items",
    }  # fmt: skip
    assert ("full_text_search(table, column, query, k := 10, where := NULL)") in {s for _, _, s in rows}
