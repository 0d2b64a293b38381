"""A call of a function that is written in SQL becomes plain SQL, whatever engine reads it."""

from __future__ import annotations

import os

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, RequestError, SqlError
from counterbalance.engine.sql import macros, queries, query_files
from counterbalance.engine.sql.query_model import Query, QueryParameter

PUBLISHED = [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611), (1, 29, 0.0061, 0.1718)]
"""Newcombe, Two-sided confidence intervals for the single proportion (1998), table I, method 3."""
DIFFERENCES = [(56, 70, 48, 80, 0.0524, 0.3339), (9, 10, 3, 10, 0.1705, 0.8090)]
"""Newcombe, Interval estimation for the difference between independent proportions (1998), table II, method 10."""


@pytest.fixture(scope="module")
def session(build):
    made = cb.connect(f"memory://sql-functions-{os.getpid()}")
    images = build.images(image_id=[1, 2, 3, 4], split=["a", "a", "b", None], width=[640, 320, 200, None])
    made.ingest(
        {"images": images, "captions": build.captions(caption_id=[7, 8], image_id=[1, 3], text=["a man", "a dog"])}
    )
    with made.session() as opened:
        yield opened


def one_of(source, text, **values):
    ((value,),) = source.sql(text, **values).fetchall()
    return value


@pytest.mark.parametrize(("count", "n", "low", "high"), PUBLISHED)
def test_wilsons_interval_is_the_published_one_of(session, count, n, low, high):
    got = session.sql(
        "SELECT wilson_low($count, $n), wilson_high(n := $n, count := $count)", count=count, n=n
    ).fetchall()
    assert [round(x, 4) for x in got[0]] == [low, high]


@pytest.mark.parametrize(("a", "m", "b", "n", "low", "high"), DIFFERENCES)
def test_the_interval_of_a_difference_is_the_published_one_of(session, a, m, b, n, low, high):
    text = (
        f"SELECT difference_low({a} / {m}, wilson_low({a}, {m}), {b} / {n}, wilson_high({b}, {n})), "
        f"difference_high({a} / {m}, wilson_high({a}, {m}), {b} / {n}, wilson_low({b}, {n}))"
    )
    assert [round(x, 4) for x in session.sql(text).fetchall()[0]] == [low, high]


@pytest.mark.parametrize("cells", [(30, 20, 40, 110), (0, 20, 40, 110), (5, 0, 0, 7), (2, 9, 8, 36)])
def test_the_log_likelihood_ratio_is_that_of_scipy(session, cells):
    contingency = pytest.importorskip("scipy.stats").chi2_contingency
    both, one, other, neither = cells
    wanted = contingency([[both, one], [other, neither]], correction=False, lambda_="log-likelihood").statistic
    given = f"{both}, {both + one}, {both + other}, {sum(cells)}"
    assert one_of(session, f"SELECT log_likelihood_ratio({given})") == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("given", "g2"),
    [("0, 0, 5, 9", 0), ("3, 9, 3, 9", 0), ("NULL, 5, 5, 9", None), ("6, 5, 7, 9", None), ("1, 8, 8, 9", None)],
)
def test_a_table_without_a_row_tells_nothing_and_no_table_has_no_ratio(session, given, g2):
    assert one_of(session, f"SELECT log_likelihood_ratio({given})") == g2


@pytest.mark.parametrize("given", ["NULL, 3", "3, NULL", "0, 0", "4, 3", "-1, 3", "'nan'::DOUBLE, 3"])
def test_no_share_has_no_interval(session, given):
    assert session.sql(f"SELECT wilson_low({given}), wilson_high({given})").fetchall() == [(None, None)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT image_id, wilson_low(image_id, 100 + width) AS low FROM images",
        "SELECT wilson_low(count(*) FILTER (WHERE width > 300), count(*)) AS low FROM images",
        "SELECT sum(wilson_high(1, image_id)) OVER () FROM images WHERE wilson_low(image_id, 50) > 0.01",
        "SELECT wilson_low(sum(image_id) OVER (ORDER BY image_id), 1000) FROM images",
        'SELECT main.wilson_low("main".wilson_high(1, 2), 3)',
        "SELECT split, WILSON_LOW(count(*), 100) FROM images GROUP BY ALL HAVING wilson_low(count(*), 100) > 0 ORDER BY ALL",
        "SELECT label, count, n, low FROM demographics(min_count := 0)",
        "WITH c AS (SELECT wilson_low(1, image_id) AS low FROM images) SELECT max(low) FROM c",
        "SELECT * FROM images AS i JOIN captions AS c ON wilson_low(c.caption_id, 99) > wilson_low(i.image_id, 99)",
    ],
)
def test_what_is_shown_is_plain(session, query):
    text = session.expand(query)
    tree = sqlglot.parse_one(text, dialect="duckdb")
    assert not [c for c in tree.find_all(exp.Anonymous) if c.name.lower() in queries.sql_functions()]
    written, plain = session.sql(query).to_arrow(), session.sql(text).to_arrow()
    assert written.num_rows
    assert plain.column_names == written.column_names
    assert sorted(map(str, plain.to_pylist())) == sorted(map(str, written.to_pylist()))


def test_no_session_is_needed_for_what_is_shown(session):
    rows = duckdb.sql(session.expand("SELECT wilson_low(3, 10)"))
    assert rows.columns == ["wilson_low(3, 10)"]
    assert rows.fetchall() == session.sql("SELECT wilson_low(3, 10)").fetchall()


def test_an_argument_is_of_its_parameters_type(session):
    """Two DECIMALs of 38 digits would not fit into their product."""
    text = "SELECT wilson_low(3::DECIMAL(38, 20), 10::DECIMAL(38, 20)) = wilson_low(3, 10)"
    assert one_of(session, text)
    with pytest.raises(SqlError, match="Could not convert string 'many' to DOUBLE"):
        session.sql("SELECT wilson_low('many', 10)").fetchall()


def test_arguments_keep_together(session):
    text = "SELECT wilson_low(1 + 2, 5 * 2) = wilson_low(3, 10), 1 - wilson_low(-1 + 4, 10) = 1 - wilson_low(3, 10)"
    assert session.sql(text).fetchall() == [(True, True)]


def test_a_python_function_in_an_argument_is_called_once_a_row(session):
    called = []

    @cb.udf(returns=pa.float64(), parameters={"x": pa.float64()}, version="1", name="counted_x")
    def counted(x):
        called.extend(x.to_pylist())
        return x

    got = session.sql("SELECT wilson_low(counted_x(image_id), 50) FROM images ORDER BY image_id").fetchall()
    assert len(called) == len(got) == len(set(called))
    assert got == session.sql("SELECT wilson_low(image_id, 50) FROM images ORDER BY image_id").fetchall()


@pytest.mark.parametrize(
    ("call", "code", "message", "hint"),
    [
        ("wilson_low(1)", "E3116", r"wilson_low\(\) needs 'n'", "wilson_low(count, n)"),
        ("wilson_low()", "E3116", r"wilson_low\(\) needs 'count'", "wilson_low(count, n)"),
        ("wilson_low(1, 2, 3)", "E3110", "takes 2 arguments", "parameters: count, n"),
        ("wilson_low(1, cuont := 3)", "E3111", "no parameter 'cuont'; did you mean 'count'", "parameters: count, n"),
        ("wilson_low(1, count := 3)", "E3112", "'count' twice", None),
        ("wilson_low(random(), 3)", "E3135", r"'count' of wilson_low\(\) is used 4 times", "SELECT wilson_low(…) FROM"),
        ("wilson_low((SELECT 1), 3)", "E3135", r"and \(SELECT 1\) cannot be repeated", "AS count)"),
        ("wilson_lo(1, 3)", "E3104", "no function 'wilson_lo'; did you mean 'wilson_low'", "meta.functions"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_told(session, call, code, message, hint):
    with pytest.raises(SqlError, match=message) as caught:
        session.sql(f"SELECT {call} FROM images").fetchall()
    assert (caught.value.code, caught.value.line) == (code, 1)

    assert (hint or "") in (caught.value.hint or "")


def test_the_advice_of_an_inner_query_works(session):
    text = "SELECT wilson_low(count, 10) FROM (SELECT (SELECT count(*) FROM images) AS count)"
    assert one_of(session, text) == one_of(session, "SELECT wilson_low(4, 10)")


def test_it_is_no_relation(session):
    with pytest.raises(NotFoundError, match="no audit, view or table function 'wilson_low'"):
        session.sql("FROM wilson_low(1, 3)").fetchall()


def test_in_a_generated_column_and_a_view(lake, monkeypatch):
    lake.sql("ALTER TABLE images ADD COLUMN low AS (wilson_low(image_id, width))")
    lake.sql(
        "CREATE MATERIALIZED VIEW ends WITH (key = 'image_id') AS SELECT image_id, wilson_high(image_id, width) AS h FROM images"
    )
    lake.refresh()
    text = "SELECT bool_and(low IS NOT DISTINCT FROM wilson_low(image_id, width)) FROM images"
    assert one_of(lake, text)
    assert one_of(
        lake,
        "SELECT bool_and(h IS NOT DISTINCT FROM wilson_high(image_id, width)) FROM images JOIN ends USING (image_id)",
    )
    assert all(stage.mode == "no_op" for stage in lake.refresh().stages)
    front = '/*--- toml\nanswers = "Other."\nparams.count.type = "double"\nparams.n.type = "double"\n---*/\n'
    changed = {n: query_files.parse(f"{front}SELECT $count / $n", "function", n) for n in ("wilson_low", "wilson_high")}
    monkeypatch.setattr(queries, "sql_functions", lambda: changed)
    assert {stage.target for stage in lake.refresh().stages if stage.mode != "no_op"} == {"images.low", "ends"}


@pytest.mark.parametrize(
    "sql",
    ["SELECT $x FROM images", "SELECT width", "SELECT sum($x)", "SELECT $x, $x", "SELECT $y", "SELECT random() + $x", "$x +",
     "SELECT (SELECT $x)", "SELECT $x LIMIT 1", "DELETE FROM images"],
)  # fmt: skip
def test_a_file_is_one_expression_of_its_parameters(sql):
    function = Query("own", "function", "Own.", sql, (QueryParameter("x", "double"),))
    with pytest.raises(RequestError, match="function own is not one expression") as caught:
        macros.formula(function)
    assert caught.value.code == "E3030"


def own(monkeypatch, **formulas):
    made = {
        name: Query(name, "function", "Own.", f"SELECT {text}", (QueryParameter("x", "double"),))
        for name, text in formulas.items()
    }
    monkeypatch.setattr(queries, "sql_functions", lambda: made)


def test_functions_call_each_other(session, monkeypatch):
    own(monkeypatch, twice="2 * $x", four_times="twice(x := twice($x))", more="four_times($x) + twice($x) + $x")
    assert one_of(session, "SELECT more(width) FROM images WHERE width = 200") == 1400
    assert "twice" not in session.expand("SELECT more(3) AS n")
    own(monkeypatch, twice="3 * $x", four_times="twice(x := twice($x))")
    assert one_of(session, "SELECT four_times(2)") == 18, "what a function is made of is looked up when it is called"


def test_an_argument_that_an_inner_function_repeats_is_refused(session, monkeypatch):
    own(monkeypatch, square="$x * $x", area="3 * square($x)")
    with pytest.raises(SqlError, match=r"'x' of area\(\) is used 2 times, and RANDOM\(\) cannot be repeated"):
        session.sql("SELECT area(random())").fetchall()


@pytest.mark.parametrize(
    ("formulas", "path"),
    [({"a": "a($x)"}, "a -> a"), ({"a": "1 + b($x)", "b": "c($x)", "c": "b($x)"}, "a -> b -> c -> b")],
)
def test_a_function_that_calls_itself_is_refused(session, monkeypatch, formulas, path):
    own(monkeypatch, **formulas)
    with pytest.raises(RequestError, match=f"calls itself: {path}") as caught:
        session.sql("SELECT a(1)").fetchall()
    assert caught.value.code == "E3030"
