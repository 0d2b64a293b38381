"""Lists of names stay within the width of the screen and break between words."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.shell import describe


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_fit(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    audits = cb.audits()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for line in describe.audits(audits).splitlines():
        assert len(line) <= max(width, 50)
    for text in (describe.audit(audits, name) for name in audits):
        for line in text.splitlines():
            assert len(line) <= min(width, 100) or line.startswith(("counterbalance ", " " * 7))


def test_last_column_hangs(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = describe.columns([("name", "a text that is too long for one line of the screen"), ("n", "short")])
    assert text == "name  a text that is too long for one\n      line of the screen\nn     short"


def test_a_narrow_screen_breaks_nothing(monkeypatch):
    monkeypatch.setenv("COLUMNS", "10")
    assert describe.columns([("name", "some words")]) == "name  some words"


def test_no_rows():
    assert describe.columns([]) == ""
