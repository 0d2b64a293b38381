"""In the shell on a terminal, a result longer than the screen is shown in ``$PAGER``; a short one, and any elsewhere, is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
LONG, SHORT = "SELECT caption_id, text FROM captions;\r", "SELECT 40 + 2 AS answer;\r"


def ask(terminal, text, end):
    """What the shell shows of a statement up to a text, once it asks for one."""
    terminal.until("sql>")
    terminal.send(text)
    return terminal.until(end)


def leave(terminal):
    terminal.until("sql>")
    terminal.send("\x04")
    assert terminal.end() == 0


@pytest.fixture
def paged(tmp_path, monkeypatch):
    """A pager that notes what it is given, and says so on the terminal; its file."""
    script = tmp_path / "pager.sh"
    script.write_text('#!/bin/sh\ncat > "$0.seen"\necho was paged\n')
    script.chmod(0o755)
    monkeypatch.setenv("PAGER", str(script))
    return script.with_suffix(".sh.seen")


def test_what_is_longer_than_the_screen(start, paged):
    """The pager has it, until it is turned off and on again."""
    terminal = start("sql")
    assert "42" in ask(terminal, SHORT, "1 row in ")
    assert not paged.exists()
    assert "was paged" in ask(terminal, LONG, "59 rows in ")
    assert "image number 59" in paged.read_text()
    paged.unlink()
    ask(terminal, ".pager off\r", "off")
    assert "first 40 rows shown" in ask(terminal, LONG, "40+ rows in ")
    assert not paged.exists()
    ask(terminal, ".pager on\r", "on")
    assert "was paged" in ask(terminal, LONG, "59 rows in ")
    leave(terminal)


@pytest.mark.cases(1)
@pytest.mark.parametrize("word", ["--no-pager", "--quiet"])
def test_it_is_left_out_of_a_shell(start, paged, word):
    terminal = start("sql", word)
    ask(terminal, LONG, "image number 40")
    leave(terminal)
    assert not paged.exists()


@pytest.mark.thorough
def test_one_query_has_none(start, paged):
    assert start("sql", "FROM captions").end() == 0
    assert not paged.exists()


def test_files_and_pipes_have_none(start, paged, disk_lake, tmp_path):
    terminal = start("sql")
    ask(terminal, ".once all.csv\r", "csv")
    ask(terminal, LONG, "59 rows written to")
    leave(terminal)
    command = [sys.executable, "-m", "counterbalance", "sql", disk_lake.uri]
    done = subprocess.run(
        command, input=LONG.strip(), capture_output=True, text=True, cwd=tmp_path, timeout=300, check=True
    )
    assert done.stdout.count("image number") == 58
    assert not paged.exists()


ENDLESS = "SELECT a.range AS number FROM range(10000000) a, range(10000000) b;\r"


@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")
def test_what_nobody_reads_is_not_computed(start, monkeypatch):
    monkeypatch.delenv("PAGER", raising=False)
    monkeypatch.delenv("LESS", raising=False)
    terminal = start("sql", "--csv")
    ask(terminal, ENDLESS, "\n17\n:")
    terminal.send("q")
    terminal.until("+ rows in ")
    leave(terminal)


def test_ctrl_c_is_the_pagers(start, monkeypatch, tmp_path):
    script = tmp_path / "pager.sh"
    script.write_text(
        "#!/bin/sh\ntrap 'echo was interrupted; exit' INT\nread -r _\necho is open\nwhile :; do sleep 1; done\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PAGER", str(script))
    terminal = start("sql", "--csv")
    ask(terminal, ENDLESS, "is open")
    terminal.send("\x03")
    terminal.until("was interrupted")
    assert "cancelled" not in terminal.until("+ rows in ")
    assert "42" in ask(terminal, SHORT, "1 row in ")
    leave(terminal)


@pytest.mark.thorough
def test_a_pager_that_does_not_start_is_told(start, monkeypatch, tmp_path):
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    monkeypatch.setenv("PAGER", str(broken))
    terminal = start("sql")
    assert "note: no pager" in ask(terminal, LONG, "59 rows in ")
    leave(terminal)


@pytest.mark.thorough
def test_where_there_is_none_the_shell_says_so(start, monkeypatch):
    monkeypatch.setenv("PAGER", f"{os.sep}nowhere{os.sep}less")
    terminal = start("sql")
    ask(terminal, ".pager on\r", "error[E3025]: there is no pager here")
    leave(terminal)
