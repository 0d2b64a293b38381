"""No function or view of one's own takes the name of one of DuckDB's, which audits of closed labels call."""

from __future__ import annotations

import pytest
from sqlglot import exp

import counterbalance as cb
from counterbalance.engine import functions
from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.sql import queries
from counterbalance.engine.sql.scope import parsed

FRONT = '/*--- toml\nanswers = "x"\n---*/\n'


@pytest.fixture(autouse=True)
def afresh():
    """Files that a test adds are known in no other one."""
    yield
    queries.queries.cache_clear()
    queries.sql_functions.cache_clear()


def called():
    """Functions that files of ours call and that are written in no file of ours."""
    names = {
        str(call.name).lower()
        for query in (*queries.sound(), *queries.sql_functions().values())
        for call in parsed(query).find_all(exp.Anonymous)
        if not isinstance(call.parent, exp.Table)
    }
    return names - {*queries.sql_functions(), *functions.functions(), *queries.queries(), *SIGNATURES}


def test_what_audits_call_is_ours_or_duckdbs():
    assert "list_slice" in called()
    assert called() <= functions.built_in()


@pytest.mark.parametrize("folder", ["functions", "views", "audits"])
def test_a_file_is_left_out(tmp_path, folder):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "list_slice.sql").write_text(f"{FRONT}SELECT 1 AS r")
    assert queries.load(tmp_path) == []
    [(file, error)] = queries.broken().items()
    assert (file.rpartition("/")[2], error.code) == ("list_slice.sql", "E3031")


@pytest.mark.parametrize("name", ["list_slice", "Lower"])
def test_a_function_in_python_is_refused(name):
    def own(text: str) -> int:
        return len(text)

    with pytest.raises(CounterbalanceError) as caught:
        cb.udf(name=name)(own)
    assert caught.value.code == "E3004"


def test_functions_in_sql_hold_no_query(tmp_path, lake):
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "peek.sql").write_text(f"{FRONT}SELECT EXISTS (SELECT 1 FROM labels) AS r")
    queries.load(tmp_path)
    with pytest.raises(CounterbalanceError) as caught:
        lake.sql("SELECT peek() FROM images").fetchall()
    assert caught.value.code == "E3030"
