"""How one error looks."""

from __future__ import annotations

import io
import json

import pytest

from counterbalance.engine.errors import BusyError, LimitError, NotFoundError, SqlError
from counterbalance.engine.sql.diagnostics.engine_errors import located
from counterbalance.shell import errors


@pytest.fixture(autouse=True)
def style(monkeypatch):
    monkeypatch.setattr(errors, "style", errors.Style())
    return errors.style


def test_text():
    error = SqlError("no such thing", code="E3103", hint="try another", sql="SELECT\n  x", line=2, column=3)
    assert errors.text_of(error) == "error[E3103]: no such thing\nLINE 2:   x\n          ^\nhint: try another\n"


def test_lines_break_between_words_and_not_inside_of_what_is_copied():
    path = "/a/very/long/path/of-a/lake-that/does-not/fit-into-one/line/at-all"
    error = NotFoundError(
        f"no lake at {path}; did you mean 'my other lake'?", code="E1005", hint="x " * 12 + "cbal audit --list, or"
    )
    assert errors.text_of(error, width=40).splitlines() == [
        "error[E1005]: no lake at",
        f"  {path};",
        "  did you mean 'my other lake'?",
        "hint: x x x x x x x x x x x x",
        "      cbal audit --list, or",
    ]


@pytest.mark.parametrize("column", [1, 8, 50, 99, 120])
def test_a_long_line_of_sql_is_cut_around_the_caret(column):
    sql = "".join(chr(33 + i % 90) for i in range(120))
    shown, caret = errors.text_of(SqlError("m", sql=sql, line=1, column=column), width=60).splitlines()[1:]
    assert len(shown) <= 60
    assert shown[len(caret) - 1] == sql[column - 1]


def test_tabs_do_not_move_the_caret():
    error = SqlError("m", code="E3103", sql="SELECT\t\tx", line=1, column=9)
    assert errors.text_of(error) == "error[E3103]: m\nLINE 1: SELECT  x\n                ^\n"


def test_colour_is_only_the_code():
    assert errors.text_of(BusyError("m", code="E7001"), colour=True) == "\x1b[1;31merror[E7001]\x1b[0m: m\n"


@pytest.mark.parametrize(
    ("terminal", "variables", "wanted"),
    [(True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False)],
)
def test_when_there_is_colour(terminal, variables, wanted, monkeypatch):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    assert errors.colours(stream) is wanted


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (MemoryError(), "E5002", 1),
        (ValueError("x"), "E9000", 1),
        (BusyError("x", code="E7001"), "E7001", 75),
        (LimitError("x"), "E9000", 1),
    ],
)
def test_codes(error, code, exit_code, capsys):
    assert errors.show(error) == exit_code
    assert capsys.readouterr().err.startswith(f"error[{code}]: ")


def test_json(style, capsys):
    style.as_json = True
    errors.show(NotFoundError.table("captoins\x1b", ["captions"]))
    text = capsys.readouterr().err
    assert "\x1b" not in text
    assert json.loads(text) == {
        "error": {
            "code": "E1001",
            "message": "no table 'captoins\\x1b'; did you mean 'captions'?",
            "hint": "tables and views: captions",
            "retryable": False,
        }
    }


def test_a_name_that_is_missing_is_pointed_at():
    error = located(NotFoundError.table("x", []), "SELECT xx\nFROM a JOIN x ON 1")
    assert errors.text_of(error) == "error[E1001]: no table 'x'\nLINE 2: FROM a JOIN x ON 1\n                    ^\n"


def test_a_name_that_does_not_occur_is_not_pointed_at():
    assert "LINE" not in errors.text_of(located(NotFoundError.lake("x.lake"), "SELECT 1"))
