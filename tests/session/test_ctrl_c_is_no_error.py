"""Ctrl-C is a ``KeyboardInterrupt``, whatever DuckDB makes of it: in a function, in a table that is read, in a query of an ingest."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from counterbalance.__main__ import main
from counterbalance.engine.errors import is_ctrl_c


def pressed(*_):
    raise KeyboardInterrupt


def batches():
    yield pa.record_batch({"x": [1]})
    raise KeyboardInterrupt


@pytest.mark.parametrize("query", ["SELECT f(range) FROM range(10)", "SELECT sum(x) FROM read"])
def test_what_duckdb_makes_of_it_is_known(query):
    with duckdb.connect() as connection:
        connection.create_function("f", pressed, ["BIGINT"], "BIGINT", type="arrow")
        connection.register("read", pa.RecordBatchReader.from_batches(pa.schema([("x", pa.int64())]), batches()))
        with pytest.raises((duckdb.Error, RuntimeError, KeyboardInterrupt)) as caught:
            connection.execute(query).fetchall()
    assert isinstance(caught.value, KeyboardInterrupt) or is_ctrl_c(caught.value), caught.value


def test_a_count_of_a_table_that_was_interrupted_is():
    text = "Invalid Input Error: counting the rows of the object registered as 'detections' failed: KeyboardInterrupt: "
    assert is_ctrl_c(duckdb.InvalidInputException(text))
    assert not is_ctrl_c(duckdb.InvalidInputException("no column KeyboardInterrupt"))


def test_in_a_function_of_a_query(lake, row_function):
    row_function("stops", pressed, returns=pa.int64())
    with pytest.raises(KeyboardInterrupt):
        lake.sql("SELECT stops(text) FROM captions").fetchall()


def test_in_an_ingest(lake, build, monkeypatch):
    def connect(*_, **__):
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(duckdb, "connect", connect)
    with pytest.raises(KeyboardInterrupt):
        lake.ingest({"images": build.images(image_id=[1], key=["another"], license=["y"])})


def test_of_a_command(tmp_path, monkeypatch, capsys):
    def ingest(*_, **__):
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr("counterbalance.engine.write.ingest.ingest", ingest)
    table = tmp_path / "c.csv"
    table.write_text("image_id,text\n1,a man\n")
    assert main(["ingest", str(tmp_path / "a.lake"), str(table)]) == 130
    assert capsys.readouterr().err.endswith("interrupted\n")
