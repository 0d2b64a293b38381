"""The shell: keys in, results out, alive after errors."""

from __future__ import annotations

import _thread
import stat
import threading

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from counterbalance.shell.interpreter import Interpreter
from counterbalance.shell.output import OutputOptions
from counterbalance.shell.repl import Repl, history_file

ENDLESS = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range, b.range) % 7 = 0"
TAB, CTRL_C, CTRL_D, UP = "\t", "\x03", "\x04", "\x1b[A"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("platformdirs.user_state_dir", lambda name: str(tmp_path / "state" / name))
    return tmp_path / "state"


@pytest.fixture
def type_in(lake, capsys):
    def run(keys, limit=None):
        with lake.session() as session, create_pipe_input() as pipe:
            pipe.send_text(keys)
            interpreter = Interpreter(session, OutputOptions("csv"), limit=limit)
            code = Repl(interpreter, "test.lake", source=pipe, screen=DummyOutput()).run()
        out, err = capsys.readouterr()
        assert code == 0
        before, greeting, after = err.partition("counterbalance 0")
        assert greeting
        return out, before + "".join(after.splitlines(keepends=True)[2:])

    return run


def test_query(type_in):
    out, err = type_in("SELECT 1 AS a;\r" + CTRL_D)
    assert out == "a\n1\n"
    assert err.startswith("1 row in 0.")


def test_enter_ends_a_line_until_a_semicolon_ends_the_statement(type_in):
    out, _ = type_in("SELECT\r1 AS a,\r';' AS b\r;\r" + CTRL_D)
    assert out == "a,b\n1,;\n"


def test_several_statements_on_a_line(type_in):
    out, _ = type_in("SELECT 1 AS a; SELECT 2 AS b;\r.quit\r")
    assert out == "a\n1\nb\n2\n"


def test_dot_commands_need_no_semicolon(type_in):
    out, _ = type_in(".mode json\rSELECT 1 AS a;\r.quit\r")
    assert out == '[{"a":1}]\n'


def test_an_empty_line_does_nothing(type_in):
    out, err = type_in("\r\r" + CTRL_D)
    assert (out, err) == ("", "")


def test_errors_are_shown_and_end_only_their_line(type_in):
    out, err = type_in("SELECT * FROM captoins; SELECT 1 AS a;\rSELECT 2 AS b;\r" + CTRL_D)
    assert out == "b\n2\n"
    assert "error[E1001]: no table 'captoins'; did you mean 'captions'?\nLINE 1: SELECT * FROM captoins\n" in err


def test_unclosed_quotes_are_shown_when_a_dot_command_reads_them(type_in, tmp_path):
    (tmp_path / "q.sql").write_text("SELECT 'a")
    _, err = type_in(f".read {tmp_path}/q.sql\r" + CTRL_D)
    assert "never closed" in err


def test_ctrl_c_at_the_prompt_clears_the_line(type_in):
    out, err = type_in("SELECT nonsense" + CTRL_C + "SELECT 1 AS a;\r" + CTRL_D)
    assert out == "a\n1\n"
    assert "nonsense" not in err


def test_ctrl_c_cancels_the_query_and_keeps_the_session(type_in):
    threading.Timer(1.5, _thread.interrupt_main).start()
    out, err = type_in(f"{ENDLESS};\rSELECT 1 AS a;\r" + CTRL_D)
    assert out == "a\n1\n"
    assert err.startswith("cancelled\n")


def test_the_time_limit_keeps_the_session(type_in):
    """Asked again and again: where the machine is busy, the quick query meets the limit as well now and then."""
    out, err = type_in(f"{ENDLESS};\r" + "SELECT 1 AS a;\r" * 20 + CTRL_D, limit=0.3)
    assert "a\n1\n" in out
    assert err.startswith("error[E5001]: ")


def test_history_is_kept_for_the_next_shell_and_for_nobody_else(type_in):
    type_in("SELECT 1 AS first;\r" + CTRL_D)
    path = history_file()
    assert "SELECT 1 AS first;" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_without_a_place_for_history_there_is_a_note(type_in, state):
    state.write_text("a file where the folder should be")
    out, err = type_in("SELECT 1 AS a;\r" + CTRL_D)
    assert out == "a\n1\n"
    assert err.startswith("note: no history is kept, ")


def test_settings_of_the_command_line_hold(lake, capsys):
    with lake.session() as session, create_pipe_input() as pipe:
        pipe.send_text("SELECT range AS i FROM range(9);\r" + CTRL_D)
        interpreter = Interpreter(session, OutputOptions("csv"), max_rows=2)
        Repl(interpreter, "test.lake", source=pipe, screen=DummyOutput()).run()
    assert capsys.readouterr().out == "i\n0\n1\n"


@pytest.mark.parametrize("word", ["quit", "exit", "EXIT;", "\\q"])
def test_words_of_other_shells_that_leave(type_in, word):
    out, err = type_in(f"{word}\rSELECT 1 AS a;\r" + CTRL_D)
    assert (out, err) == ("", "")


def test_words_of_other_shells_that_tell(type_in):
    out, _ = type_in("help\r\\d\r" + CTRL_D)
    assert ".once FILE" in out
    assert "\n  captions  " in out
