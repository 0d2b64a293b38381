"""``docs`` opens the pages that were built, and says how to build them where there are none."""

from __future__ import annotations

import webbrowser

import pytest

from counterbalance.__main__ import main
from counterbalance.cli import docs


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout, as the command finds it, and the addresses that a browser was asked for."""
    opened = []
    monkeypatch.setattr(docs, "__file__", str(tmp_path / "counterbalance" / "cli" / "docs.py"))
    monkeypatch.setattr(webbrowser, "open", opened.append)
    return tmp_path, opened


def test_without_pages_it_says_how_they_are_built(checkout, capsys):
    assert main(["docs"]) == 1
    told = capsys.readouterr().err
    assert "E1064" in told
    assert "make docs" in told
    assert checkout[1] == []


@pytest.mark.parametrize("words", [[], ["--no-browser"]])
def test_it_prints_where_the_pages_are_and_opens_them(words, checkout, capsys):
    folder, opened = checkout
    page = folder / "build" / "docs" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("")
    assert main(["docs", *words]) == 0
    assert capsys.readouterr().out == f"{page.resolve()}\n"
    assert opened == ([] if words else [page.resolve().as_uri()])
