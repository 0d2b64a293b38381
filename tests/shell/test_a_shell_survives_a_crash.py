"""A function of one's own that crashes costs its query, and not the shell."""

from __future__ import annotations

import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
CRASH = "import ctypes\n\nimport counterbalance as cb\n\n\n@cb.udf\ndef breaks(text: str) -> int:\n    return ctypes.string_at(0)[0]\n"


def test_the_next_query_is_answered(start, tmp_path):
    (tmp_path / "mine.py").write_text(CRASH)
    terminal = start("sql", "--udfs", "mine.py")
    terminal.until("sql>")
    terminal.send("SELECT max(breaks(text)) FROM captions;\r")
    terminal.until("error[E8012]")
    terminal.until("sql>")
    terminal.send("SELECT 40 + 2 AS answer;\r")
    assert "42" in terminal.until("1 row in ")
    terminal.until("sql>")
    terminal.send("\x04")
    assert terminal.end() == 0
