"""Any WHERE clause over a Lance table gives what it gives over the same rows inside DuckDB; none of them is refused."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace

import duckdb
import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.backends.duckdb.scan import register, visible_schema
from counterbalance.engine.sql.plan import StoredTable

TEXTS = ["", "a", "b", "O'Brien", "é", "a%b", "x_y", "`tick`", '"quote"', "\\", "日本", "A"]
CODED = ["human", "alt_text", "O'Brien", "é"]
STAMP = dt.datetime.fromisoformat("2024-02-29T12:30:15.25")
EPOCH = dt.datetime.fromisoformat("1970-01-01")
FLOATS = [0.0, -0.0, 1.5, -2.25, math.inf, -math.inf, math.nan, 1e-30]
ROWS = 64


def picked(values, seed, kind):
    """A column that cycles through the values in no obvious order, a NULL in every five rows."""
    random = np.random.default_rng(seed)
    chosen = [None if random.random() < 0.2 else values[random.integers(len(values))] for _ in range(ROWS)]
    return pa.array(chosen, kind)


def stored() -> pa.Table:
    halves = np.random.default_rng(9).integers(-2, 3, ROWS * 3).astype(np.float16)
    codes = picked(range(len(CODED)), 12, pa.int16())
    points = [None if n % 7 == 0 else {"x": n % 4, "s": TEXTS[n % 12], "n": {"b": n % 3 == 0}} for n in range(ROWS)]
    columns = {
        "id": pa.array(range(ROWS), pa.int64()),
        "i8": picked([-128, 0, 5, 127], 1, pa.int8()),
        "i32": picked([-(2**31), -1, 0, 3, 7, 2**31 - 1], 2, pa.int32()),
        "i64": picked([-(2**63), 0, 3, 2**63 - 1], 3, pa.int64()),
        "u8": picked([0, 3, 200, 255], 4, pa.uint8()),
        "u64": picked([0, 3, 2**64 - 1], 5, pa.uint64()),
        "f32": picked(FLOATS, 6, pa.float32()),
        "f64": picked(FLOATS, 7, pa.float64()),
        "flag": picked([True, False], 8, pa.bool_()),
        "s": picked(TEXTS, 10, pa.string()),
        "ls": picked(TEXTS, 11, pa.large_string()),
        "cat": picked(TEXTS, 13, pa.string()).dictionary_encode(),
        "day": picked([dt.date(1969, 7, 20), dt.date(2024, 2, 29)], 14, pa.date32()),
        "at": picked([STAMP, EPOCH], 15, pa.timestamp("us")),
        "point": pa.array(
            points, pa.struct([("x", pa.int32()), ("s", pa.string()), ("n", pa.struct([("b", pa.bool_())]))])
        ),
        "list": pa.array([None if n % 5 == 0 else list(range(n % 4)) for n in range(ROWS)], pa.list_(pa.int32())),
        "half": pa.FixedSizeListArray.from_arrays(pa.array(halves), 3),
        "odd name": picked(TEXTS, 16, pa.string()),
        "coded": pa.array(CODED).take(codes.cast(pa.int32())),
        "coded__code": codes,
    }
    return pa.table(columns)


class PublicConnection:
    """A connection as it would be without DuckDB's private source protocol."""

    def __init__(self, connection):
        self._connection = connection

    def register(self, name, rows):
        self._connection.register(name, rows)


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    """The same rows four times: ``plain`` in memory; ``coded``, ``uncoded`` and ``public`` read from Lance."""
    place = str(tmp_path_factory.mktemp("filters") / "t.lance")
    rows = stored()
    lance.write_dataset(rows, place, data_storage_version="2.2", max_rows_per_file=20)
    dataset = lance.dataset(place)
    with duckdb.connect() as opened:
        opened.execute("SET TimeZone = 'UTC'")
        seen = visible_schema(dataset)
        visible = pa.table([rows[f.name].cast(f.type) for f in seen], schema=seen)
        opened.register("arrow_rows", visible)
        opened.execute("CREATE TABLE plain AS SELECT * FROM arrow_rows")
        table = StoredTable(None, "t", dataset, {"coded": CODED}, frozenset())
        register(opened, "coded", table)
        register(opened, "uncoded", replace(table, codes={}))
        register(opened, "counted", replace(table, shows="count"))
        register(PublicConnection(opened), "public", replace(table, codes={}))
        yield opened


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


numbers = st.sampled_from(
    ["-129", "-1", "0", "3", "5", "200", "255", "2147483648", "9223372036854775807", "1.5", "3.0", "-2.25"]
)
floats = st.sampled_from(["0", "-0.0", "1.5", "'nan'::DOUBLE", "'inf'::FLOAT", "'-inf'::DOUBLE", "1e-30", "0.1::FLOAT"])
texts = st.sampled_from([quoted(t) for t in [*TEXTS, *CODED, "zzz", "OBrien"]])
days = st.sampled_from(["DATE '2024-02-29'", "DATE '1969-07-20'", "TIMESTAMP '2024-02-29 00:00:00'"])
moments = st.sampled_from(["TIMESTAMP '2024-02-29 12:30:15.25'", "TIMESTAMP '1970-01-01'", "DATE '2024-03-01'"])
flags = st.sampled_from(["true", "false"])
KINDS = {
    numbers: ["id", "i8", "i32", "i64", "u8", "u64", "point.x", "list[1]", "len(list)", "i32 % 5", "half[2]"],
    floats: ["f32", "f64", "half[1]"],
    texts: ["s", "ls", "cat", "coded", "point.s", '"odd name"', "lower(s)", "coded || ''"],
    days: ["day"],
    moments: ["at"],
    flags: ["flag", "point.n.b"],
}
comparisons = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"])
fields = st.one_of([st.tuples(st.sampled_from(columns), st.just(values)) for values, columns in KINDS.items()])
nothing = st.just("NULL")


@st.composite
def predicates(draw):
    column, values = draw(fields)
    value = draw(values | nothing) if draw(st.integers(0, 9)) == 0 else draw(values)
    match draw(st.integers(0, 8)):
        case 0 | 1 | 2:
            return f"{column} {draw(comparisons)} {value}"
        case 3:
            return f"{value} {draw(comparisons)} {column}"
        case 4:
            wanted = draw(st.lists(values | nothing, min_size=1, max_size=4))
            return f"{column} {draw(st.sampled_from(['IN', 'NOT IN']))} ({', '.join(wanted)})"
        case 5:
            return f"{column} {draw(st.sampled_from(['IS NULL', 'IS NOT NULL']))}"
        case 6:
            return f"{column} {draw(st.sampled_from(['BETWEEN', 'NOT BETWEEN']))} {value} AND {draw(values)}"
        case 7:
            pattern = draw(st.sampled_from(["'a%'", "'%''%'", "'_'", "''", "'%`%'", "'x\\_y'"]))
            text = draw(st.sampled_from(KINDS[texts]))
            return f"{text} {draw(st.sampled_from(['LIKE', 'NOT LIKE', 'ILIKE', 'SIMILAR TO']))} {pattern}"
        case _:
            return draw(
                st.sampled_from(
                    [
                        "flag",
                        "NOT flag",
                        "list_contains(list, 2)",
                        "point IS NULL",
                        "list = [0, 1]",
                        "s = cat",
                        "coded = s",
                        "id % 3 = 1",
                        "isnan(f64)",
                        "coded IN (SELECT s FROM plain)",
                        "id IN (SELECT i32 FROM plain)",
                        "i8 = u8",
                        "true",
                        "NULL",
                    ]
                )
            )


clauses = st.recursive(
    predicates(),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda t: f"NOT ({t})"),
        inner.map(lambda t: f"({t}) IS TRUE"),
    ),
    max_leaves=6,
)
projections = st.sampled_from(
    ["id", "id, coded, s", "id, cat, ls, point", "id, half, list", "id, coded", "id, u8, f32, flag, at"]
)


def answer(connection, table, select, clause):
    """The rows, or the kind of error; NaN as text, since it equals nothing."""
    try:
        rows = connection.sql(f"SELECT {select} FROM {table} AS t WHERE {clause} ORDER BY id").fetchall()
    except duckdb.Error as error:
        return type(error).__name__
    return str(rows)


@pytest.mark.parametrize("table", ["coded", "uncoded", "public"])
def test_any_clause(connection, table):
    @given(select=projections, clause=clauses)
    def agree(select, clause):
        assert answer(connection, table, select, clause) == answer(connection, "plain", select, clause)

    agree()


coded_values = st.sampled_from([*(quoted(t) for t in CODED), "'zzz'", "NULL"])
on_codes = st.recursive(
    st.one_of(
        st.tuples(st.sampled_from(["=", "<>", "IS DISTINCT FROM"]), coded_values).map(lambda t: f"coded {t[0]} {t[1]}"),
        st.lists(coded_values, min_size=1, max_size=3).map(lambda v: f"coded IN ({', '.join(v)})"),
        st.lists(coded_values, min_size=1, max_size=3).map(lambda v: f"coded NOT IN ({', '.join(v)})"),
        st.sampled_from(["coded IS NULL", "coded IS NOT NULL"]),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda clause: f"NOT ({clause})"),
    ),
    max_leaves=4,
)


@given(clause=clauses | on_codes)
def test_any_count(connection, clause):
    counts = []
    for table in ("plain", "counted"):
        try:
            counts.append(connection.sql(f"SELECT count(*) FROM {table} AS t WHERE {clause}").fetchall())
        except duckdb.Error as error:
            counts.append(type(error).__name__)
    assert counts[1] == counts[0]


@pytest.mark.parametrize("table", ["coded", "uncoded", "public"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM {t} ORDER BY id",
        "SELECT count(*) FROM {t}",
        "SELECT count(*) FROM {t} WHERE coded = 'nobody'",
        "SELECT 1 FROM {t} WHERE s = 'a'",
        "SELECT coded, count(*), min(id) FROM {t} GROUP BY coded ORDER BY coded NULLS FIRST",
        "SELECT coded, s, count(*) FROM {t} GROUP BY ALL ORDER BY ALL",
        "SELECT DISTINCT coded FROM {t} ORDER BY 1",
        "SELECT a.id, b.id FROM {t} a JOIN {t} b ON a.coded = b.s ORDER BY ALL",
        "SELECT a.id FROM {t} a JOIN {t} b USING (coded) WHERE b.id = 3 ORDER BY 1",
        "SELECT max(coded), min(cat), first(id ORDER BY ls DESC, id) FROM {t}",
        "SELECT id FROM {t} ORDER BY coded DESC NULLS LAST, id LIMIT 7 OFFSET 2",
        "SELECT sum(half[1]), array_length(any_value(half)) FROM {t}",
        "SELECT point.x, sum(i32) FROM {t} GROUP BY 1 ORDER BY 1",
        "SELECT coded, id, row_number() OVER (PARTITION BY coded ORDER BY id) FROM {t} ORDER BY id",
        "SELECT id, coded FROM {t} WHERE id = (SELECT max(id) FROM {t} WHERE coded = 'human')",
        "SELECT upper(coded), length(cat), coded || ls FROM {t} ORDER BY id",
        "SELECT id FROM {t} WHERE coded > 'b' ORDER BY 1",
        "SELECT unnest(list) AS x, coded FROM {t} ORDER BY ALL",
        "SELECT typeof(coded), typeof(cat), typeof(ls), typeof(u8), typeof(half) FROM {t} LIMIT 1",
        "SELECT string_agg(coded, ',' ORDER BY id) FROM {t} WHERE flag",
        "SELECT coded FROM {t} WHERE id BETWEEN 3 AND 9 UNION SELECT s FROM plain ORDER BY 1",
    ],
)
def test_whole_queries(connection, table, query):
    got = connection.sql(query.format(t=table)).fetchall()
    assert str(got) == str(connection.sql(query.format(t="plain")).fetchall())


def test_codes_and_hidden_columns_are_not_columns(connection):
    for table in ("coded", "uncoded", "public"):
        assert connection.sql(f"FROM {table}").columns == connection.sql("FROM plain").columns
        with pytest.raises(duckdb.BinderException):
            connection.sql(f"SELECT coded__code FROM {table}")


def test_a_hidden_column_cannot_be_reached(connection, tmp_path):
    lance.write_dataset(pa.table({"id": [1, 2], "secret": ["x", "y"]}), str(tmp_path / "h.lance"))
    dataset = lance.dataset(str(tmp_path / "h.lance"))
    for number, target in enumerate((connection, PublicConnection(connection))):
        register(target, f"hiding_{number}", StoredTable(None, "t", dataset, {}, frozenset({"secret"})))
        assert connection.sql(f"SELECT * FROM hiding_{number} ORDER BY 1").fetchall() == [(1,), (2,)]
        for query in ("SELECT secret FROM {t}", "SELECT id FROM {t} WHERE secret = 'x'", "SELECT t.secret FROM {t} t"):
            with pytest.raises(duckdb.BinderException):
                connection.sql(query.format(t=f"hiding_{number}"))


def test_row_counts_reach_the_optimiser(connection):
    plan = connection.sql("EXPLAIN SELECT * FROM coded").fetchall()[-1][-1]
    assert f"~{ROWS} rows" in plan


def test_two_scans_of_one_table_in_a_query(connection):
    query = "SELECT count(*) FROM {t} a, {t} b, {t} c WHERE a.id = b.id AND b.id = c.id AND a.coded = 'human'"
    assert connection.sql(query.format(t="coded")).fetchall() == connection.sql(query.format(t="plain")).fetchall()
