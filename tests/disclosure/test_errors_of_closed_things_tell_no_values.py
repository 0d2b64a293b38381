"""Errors of closed views and columns tell their kind and the row's key, and never a value: they are kept where all can read."""

from __future__ import annotations

import json
from importlib import import_module

import pyarrow as pa
import pytest

from counterbalance.__main__ import main
from counterbalance.engine.errors import CounterbalanceError, FunctionError

CREATE_VIEW = import_module("counterbalance.engine.catalog.ddl.create_view")  # its package has a function of that name


def everything_told(lake, capsys):
    """What status, history and errors print, and all of ``meta`` but what is declared."""
    told = []
    for command in ("status", "history", "errors"):
        main([command, lake.uri, "--format", "json"])
        told.append(capsys.readouterr().out)
    relations = ("runs", "errors", "tables", "columns", "lineage")
    told += [str(lake.sql(f"FROM meta.{relation}").to_arrow().to_pylist()) for relation in relations]
    return " ".join(told)


@pytest.mark.parametrize(
    "select",
    [
        "SELECT label_id, CAST(value AS INTEGER) AS n FROM labels",
        "SELECT label_id, error('no ' || value) AS n FROM labels",
        "SELECT image_id % 2 AS image_id, value FROM labels",
        "SELECT value AS image_id, label_id FROM labels",
        "SELECT label_id AS image_id, value[100]::INTEGER + value::INTEGER AS n FROM labels",
    ],
)
def test_a_view_that_fails(marked, why, capsys, monkeypatch, select):
    monkeypatch.setattr(CREATE_VIEW, "_refuse_repeated_keys", lambda *_: None)
    key = "image_id" if "image_id" in select else "label_id"
    marked.create_materialized_view("bad", select, key, purpose=why)
    report = marked.refresh(executor="inline")
    assert report.mode == "failed"
    assert report.stages[0].target == "bad"
    assert "MARK" not in json.dumps(report.to_dict())
    told = everything_told(marked, capsys)
    assert "bad" in told
    assert "MARK" not in told
    with pytest.raises(CounterbalanceError) as caught:
        marked.sql("REFRESH bad")
    assert "MARK" not in str(caught.value)


def test_an_open_view_tells_as_before(marked):
    marked.create_materialized_view("v", "SELECT caption_id, text FROM captions", "caption_id")
    marked.create_materialized_view(
        "bad", "SELECT caption_id, CAST(text AS INTEGER) AS n FROM v", "caption_id", replace=False
    )
    report = marked.refresh(executor="inline")
    assert "OPEN caption" in report.stages[1].message


def test_a_key_that_is_not_unique_is_not_told(marked, why, monkeypatch):
    monkeypatch.setattr(CREATE_VIEW, "_refuse_repeated_keys", lambda *_: None)
    text = "SELECT image_id % 2 AS image_id, value FROM labels"
    marked.create_materialized_view("bad", text, ("image_id", "value"), purpose=why)
    message = marked.refresh(executor="inline").stages[0].message
    assert message.endswith("of bad is not unique")


def test_a_row_that_fails(closed, why, capsys):
    failed = closed.sql("SELECT key, code, message, attempts FROM meta.errors").fetchall()
    assert failed == [("7", "ValueError", "ValueError (its text is hidden: it may hold closed values)", 1)]
    assert "MARK" not in everything_told(closed, capsys)
    status = {row["target"]: row["errors"] for row in closed.status(sensitive=why).to_pylist()}
    assert status["captions.perceived_gender"] == 1


def test_it_is_tried_again_and_forgotten(closed, build):
    closed.refresh("captions.perceived_gender", executor="inline", retry_errors=True)
    assert closed.sql("SELECT attempts FROM meta.errors").fetchall() == [(2,)]
    closed.ingest({"captions": build.captions(caption_id=[7], image_id=[7], text=["OPEN whole"])})
    closed.refresh("captions.perceived_gender", executor="inline")
    assert closed.sql("SELECT count(*) FROM meta.errors").fetchall() == [(0,)]


def test_keys_that_are_labels_need_a_purpose(marked, why):
    marked.create_materialized_view(
        "counts", "SELECT value, count(*) AS n FROM labels GROUP BY 1", "value", purpose=why
    )
    marked.add_column("counts", "mark", "perceived_mark(value || ' is broken')", purpose=why)
    with pytest.raises(FunctionError):
        marked.sql("REFRESH counts.mark WITH (executor = 'inline')")
    marked.drop_column("counts", "mark")
    marked.add_column("counts", "mark", "perceived_mark(if(value = 'MARKlabel1', 'broken', value))", purpose=why)
    marked.refresh(executor="inline", batch_size=1)
    assert marked.sql("SELECT key, code FROM meta.errors").fetchall() == [(None, "ValueError")]
    assert marked.sql("SELECT key FROM meta.errors", sensitive=why).fetchall() == [("MARKlabel1",)]


def test_which_rows_of_a_closed_view_failed_needs_a_purpose(marked, why):
    marked.create_materialized_view("v", "SELECT label_id AS image_id, value FROM labels", "image_id", purpose=why)
    marked.add_column("v", "mark", "perceived_mark(if(image_id % 2 = 0, 'broken', value))", purpose=why)
    marked.refresh(executor="inline", batch_size=1)
    told = "SELECT error_id, key, attempts, code FROM meta.errors WHERE table_name = 'v'"
    assert marked.sql(told).fetchall() == [(0, None, None, "ValueError")]
    assert len(marked.sql(told, sensitive=why).fetchall()) > 1


def test_a_function_that_breaks(marked, break_later, capsys, monkeypatch):
    monkeypatch.setattr("counterbalance.engine.refresh.compute._SUSPICIOUS", 5)
    break_later(0)
    marked.add_column("captions", "perceived_race", "breaks_later(text)")
    with pytest.raises(FunctionError) as caught:
        marked.sql("REFRESH captions.perceived_race WITH (executor = 'inline')")
    assert "RuntimeError" in str(caught.value)
    assert "MARK" not in str(caught.value)
    assert "MARK" not in everything_told(marked, capsys)


def test_a_commit_that_arrow_refuses(closed, why, monkeypatch):
    import pyarrow as pa

    def fail(*_):
        raise pa.ArrowInvalid("Failed to parse string: 'MARKlabel1'")

    closed.create_materialized_view("other", "SELECT label_id, value FROM labels", "label_id", purpose=why)
    monkeypatch.setattr("counterbalance.engine.refresh.views._Difference.run", fail)
    assert "MARK" not in json.dumps(closed.refresh("other", executor="inline").to_dict())


def test_worker_processes_tell_none_either(marked, why, spawn_cli, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import counterbalance as cb, pyarrow as pa\n"
        "from counterbalance.engine.errors import FunctionError\n"
        "@cb.udf(returns=pa.string(), parameters={'text': pa.string()}, version='1')\n"
        "def perceived_mine(text):\n"
        "    if any('7' in one for one in text.to_pylist()):\n"
        "        raise FunctionError(f'MARKtold of {text[0]}')\n"
        "    return text\n"
    )
    declared = spawn_cli(
        "sql", marked.uri, "--udfs", file, "ALTER TABLE captions ADD COLUMN perceived_race AS (perceived_mine(text))"
    )
    assert declared.returncode == 0, declared.stderr
    done = spawn_cli("refresh", marked.uri, "--udfs", file, "--workers", 1, "--batch-size", 1)
    assert "MARK" not in done.stdout + done.stderr
    assert "FunctionError (its text is hidden" in done.stderr


class _Odd(BaseException):
    """As what Rust raises where it gives up, no ``Exception``."""


def test_a_function_that_raises_what_is_no_exception(closed, row_function, why, capfd):
    def odd(text):
        raise _Odd(f"cannot take {text}")

    row_function("odd", odd, returns=pa.float64())
    closed.create_materialized_view("said", "SELECT label_id, value FROM labels", "label_id", purpose=why)
    closed.add_column("said", "odd", "odd(value)", purpose=why)
    report = closed.refresh("said", executor="inline")
    assert [stage.target for stage in report.stages] == ["said", "said.odd"]
    assert report.mode == "failed"
    assert "MARK" not in json.dumps(report.to_dict()) + "".join(capfd.readouterr())
