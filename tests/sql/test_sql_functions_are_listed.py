"""Functions that are written in SQL are found where functions are found, and their names are theirs alone."""

from __future__ import annotations

import json
from importlib.resources import files

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from sqlglot import exp

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.errors import RequestError, SqlError
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.sql import macros, queries, query_files
from counterbalance.engine.sql.expression import duckdb_name
from counterbalance.shell.complete import SqlCompleter

SHIPPED = sorted(queries.sql_functions().items())


@pytest.mark.parametrize(("name", "function"), SHIPPED)
def test_a_shipped_file_is_complete(name, function):
    text = (files("counterbalance.queries") / "functions" / f"{name}.sql").read_text(encoding="utf-8")
    assert query_files.parse(text, "function", name) == function
    assert function.doc.endswith(".")
    assert len(function.doc) < 140
    assert function.source
    assert function.parameters
    assert all(p.doc and not p.is_relation for p in function.parameters)
    assert {p.name for p in macros.formula(function).find_all(exp.Parameter, exp.Placeholder)} == {
        p.name for p in function.parameters
    }


@pytest.mark.parametrize(("name", "function"), SHIPPED)
def test_what_it_returns_is_what_it_says(session, name, function):
    nulls = ", ".join("NULL" for _ in function.parameters)
    (row,) = duckdb.sql(f"DESCRIBE {session.expand(f'SELECT {name}({nulls})')}").fetchall()
    assert row[1].lower() == function.returns


@pytest.mark.parametrize(("name", "function"), SHIPPED)
def test_a_name_is_of_one_function(name, function):
    known = duckdb.sql("SELECT DISTINCT lower(function_name) FROM duckdb_functions()").fetchall()
    assert (name,) not in known
    assert name == name.lower()
    assert name not in {*cb.functions(), *queries.queries(), *BASE_TABLES}
    (call,) = sqlglot.parse_one(f"SELECT {name}(1)", dialect="duckdb").expressions
    assert isinstance(call, exp.Anonymous), f"the parser takes it for {duckdb_name(call)}"


def test_a_python_function_of_the_same_name_is_refused(session, monkeypatch):
    from counterbalance.engine import functions

    monkeypatch.setattr(functions, "_registry", dict(functions.functions()))

    @cb.udf(returns=pa.float64(), parameters={"x": pa.float64()}, version="1")
    def wilson_low(x):
        return x

    with pytest.raises(RequestError, match="two functions are called 'wilson_low'") as e:
        session.sql("SELECT wilson_low(1)").fetchall()
    assert (e.value.code, e.value.hint) == ("E3032", "give yours another name")


def test_a_view_cannot_take_the_name(lake):
    with pytest.raises(SqlError, match="'wilson_low' is a function already"):
        lake.sql("CREATE MATERIALIZED VIEW wilson_low WITH (key = 'image_id') AS SELECT image_id FROM images")


def test_listings(capsys, session):
    assert main(["functions", "--json"]) == 0
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert {n for n, row in found.items() if row["kind"] == "SQL function"} == {n for n, _ in SHIPPED}
    row = found["wilson_low"]
    assert (row["signature"], row["returns"]) == ("wilson_low(count, n)", "double")
    assert row["doc"].startswith("Lower end of Wilson's")
    assert main(["functions"]) == 0
    assert "wilson_low(count, n)  Lower end of Wilson's" in " ".join(capsys.readouterr().out.split()).replace(
        ") L", ")  L"
    )
    text = "SELECT signature FROM meta.functions WHERE name = 'wilson_high' AND kind = 'SQL function'"
    assert session.sql(text).fetchall() == [("wilson_high(count, n)",)]


def test_described_in_the_shell(session):
    from counterbalance.shell import describe

    text = describe.schema(session, "wilson_low")
    assert text.startswith("wilson_low(count, n)  -- Lower end of Wilson's 95 % interval")


def test_completed(session):
    document = Document("select wils")
    found = [c.text for c in SqlCompleter(session).get_completions(document, CompleteEvent())]
    assert found == ["wilson_high", "wilson_low"]
