"""A function of one's own that crashes costs its query, and not the shell."""

from __future__ import annotations

import sys

import pytest
from crashing import CRASH

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")


def test_the_next_query_is_answered(start, tmp_path):
    (tmp_path / "mine.py").write_text(CRASH)
    terminal = start("sql", "--udfs", "mine.py")
    terminal.until("sql>")
    terminal.send("SELECT max(breaks(text)) FROM captions;\r")
    terminal.until("error[E8012]")
    assert terminal.answers_and_ends()
