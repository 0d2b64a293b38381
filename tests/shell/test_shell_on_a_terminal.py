"""The command on a real (pseudo) terminal."""

from __future__ import annotations

import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
ENDLESS = "SELECT sum(t_begun(range)) FROM range(100000000000)"


def test_a_shell_from_beginning_to_end(start):
    terminal = start("sql", "--udfs", "begun.py")
    terminal.until("sql>")
    terminal.send("SELECT count(*) AS n\r")
    terminal.until("...>")
    terminal.send("FROM captions;\r")
    assert "59" in terminal.until("1 row in ")
    terminal.until("sql>")
    terminal.send(f"{ENDLESS};\r")
    terminal.until_begun()
    terminal.send("\x03")
    terminal.until("cancelled")
    assert terminal.answers_and_ends()


def test_a_table_fits_and_says_what_is_missing(start):
    terminal = start("sql", "SELECT caption_id, text, text AS again FROM captions")
    assert terminal.end() == 0
    rows = terminal.plain.splitlines()
    table = rows[: next(i for i, line in enumerate(rows) if line.startswith("note:"))]
    assert all(len(line) <= 60 for line in table)
    assert "\\x1b[31ma hostile" in terminal.plain
    assert "\x1b[31m" not in terminal.seen
    notes = "".join(rows[len(table) :])
    assert "first 40 rows shown" in notes
    assert "long cells are cut" in notes


@pytest.mark.thorough
def test_binary_formats_are_refused(start):
    terminal = start("sql", "SELECT 1", "--format", "arrow")
    assert terminal.end() == 1
    assert "error[E3021]: arrow is not for a terminal" in terminal.plain


def test_csv_on_a_terminal_is_escaped(start):
    terminal = start("sql", "SELECT text FROM captions WHERE caption_id = 1", "--csv")
    assert terminal.end() == 0
    assert "\\x1b[31ma hostile caption" in terminal.plain
    assert "\x1b[31m" not in terminal.seen


def test_errors_are_coloured(start):
    terminal = start("sql", "SELECT * FROM nowhere")
    assert terminal.end() == 1
    assert "\x1b[1;31merror[E1001]\x1b[0m: " in terminal.seen


def test_ctrl_c_in_one_query(start):
    terminal = start("sql", ENDLESS, "--udfs", "begun.py")
    terminal.until_begun()
    terminal.send("\x03")
    assert terminal.end() == 130, terminal.plain
    assert "interrupted" in terminal.plain


def test_what_there_is_is_listed_to_the_end(start):
    terminal = start("tables", "--all")
    assert terminal.end() == 0
    assert "meta.runs" in terminal.plain
    assert "first 40 rows" not in " ".join(terminal.plain.split())
