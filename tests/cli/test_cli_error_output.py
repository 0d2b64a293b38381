"""Errors of the engine: code, place in the SQL, hint; on stderr; as JSON when asked; with a traceback when asked."""

from __future__ import annotations

import json

import pytest

import counterbalance
from counterbalance.__main__ import main
from counterbalance.engine.errors import BusyError, StorageError


def test_missing_table_points_into_the_sql(lake, capsys):
    assert main(["sql", lake.uri, "SELECT *\nFROM captoins"]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert err.splitlines()[:3] == [
        "error[E1001]: no table 'captoins'; did you mean 'captions'?",
        "LINE 2: FROM captoins",
        "             ^",
    ]
    assert err.splitlines()[3].startswith("hint: ")


def test_missing_column_points_into_the_sql(lake, capsys):
    assert main(["sql", lake.uri, "SELECT txt FROM captions"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("error[E31")
    assert lines[1:3] == ["LINE 1: SELECT txt FROM captions", "               ^"]


@pytest.mark.parametrize("flag", [["--json"], ["--format", "jsonl"]])
def test_json_errors(flag, lake, capsys):
    assert main(["sql", lake.uri, "SELECT txt FROM captions", *flag]) == 1
    out, err = capsys.readouterr()
    assert not out
    error = json.loads(err)["error"]
    assert error["line"] == 1
    assert error["column"] == 8
    assert error["code"].startswith("E31")
    assert error["retryable"] is False


def test_no_lake(tmp_path, capsys):
    assert main(["tables", str(tmp_path / "none.lake")]) == 1
    assert capsys.readouterr().err.startswith(
        f"error[E1005]: no lake at {tmp_path}/none.lake\nhint: make one with: counterbalance ingest LAKE SOURCE, "
    )


def test_a_file_is_no_lake(tmp_path, capsys):
    (tmp_path / "labels.csv").write_text("a")
    for words in (["sql", str(tmp_path / "labels.csv"), "SELECT 1"], ["tag", str(tmp_path / "labels.csv"), "x"]):
        assert main(words) == 1
        assert "labels.csv is a file, and a lake is a folder" in capsys.readouterr().err


def test_a_lake_beside_it_is_suggested(disk_lake, build, capsys):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    folder, _, name = disk_lake.uri.rpartition("/")
    wrong = f"{folder}/{name[:-1]}"
    assert main(["tables", wrong]) == 1
    assert f"no lake at {wrong}; did you mean '{name}'?" in capsys.readouterr().err


@pytest.mark.parametrize(("error", "code"), [(BusyError("somebody writes"), 75), (StorageError("disk full"), 1)])
def test_exit_code_is_the_errors_own(error, code, monkeypatch, capsys):
    def connect(_uri, **_options):
        raise error

    monkeypatch.setattr(counterbalance, "connect", connect, raising=False)
    assert main(["tag", "x.lake", "v1"]) == code
    assert capsys.readouterr().err == f"error[{error.code}]: {error.message}\n"


def unforeseen(_uri, **_options):
    raise ZeroDivisionError("one\nby nothing")


def test_unforeseen_errors_are_one_line(monkeypatch, capsys):
    monkeypatch.setattr(counterbalance, "connect", unforeseen, raising=False)
    assert main(["tag", "x.lake", "v1"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error[E9000]: ZeroDivisionError: one by nothing\nhint: ")
    assert "--debug" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [["--debug", "tag", "x.lake", "v1"], ["tag", "x.lake", "v1", "--debug"]])
def test_debug_shows_the_traceback(words, monkeypatch, capsys):
    monkeypatch.setattr(counterbalance, "connect", unforeseen, raising=False)
    assert main(words) == 1
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert "in unforeseen" in err


def test_debug_from_the_environment(monkeypatch, capsys):
    monkeypatch.setenv("COUNTERBALANCE_DEBUG", "1")
    monkeypatch.setattr(counterbalance, "connect", unforeseen, raising=False)
    assert main(["tag", "x.lake", "v1"]) == 1
    assert "in unforeseen" in capsys.readouterr().err


def test_debug_ends_with_its_command(monkeypatch, capsys):
    monkeypatch.setattr(counterbalance, "connect", unforeseen, raising=False)
    main(["tag", "x.lake", "v1", "--debug"])
    capsys.readouterr()
    main(["tag", "x.lake", "v1"])
    assert "Traceback" not in capsys.readouterr().err


def test_a_hostile_name_cannot_drive_the_terminal(lake, capsys):
    assert main(["sql", lake.uri, 'SELECT "\x1b[2J\u202e" FROM captions']) == 1
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "\u202e" not in err
    assert "\\x1b[2J\\u202e" in err
