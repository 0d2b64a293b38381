"""``docs`` opens the pages that were built or installed, and says how to build them where there are none."""

from __future__ import annotations

import webbrowser
from importlib import metadata

import pytest

from counterbalance.__main__ import main
from counterbalance.cli import docs


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout, as the command finds it, from which no page was installed, and the addresses that a browser was asked for."""
    opened = []
    monkeypatch.setattr(metadata, "files", lambda _: None)
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


def test_pages_that_a_wheel_brought_are_found_by_its_record(checkout, capsys, monkeypatch):
    folder, opened = checkout
    record = folder / "lib" / "counterbalance-1.dist-info" / "RECORD"
    record.parent.mkdir(parents=True)
    record.write_text("counterbalance/__init__.py,,\n../share/doc/counterbalance/index.html,,\n")
    monkeypatch.setattr(metadata, "files", lambda _: metadata.Distribution.at(record.parent).files)
    page = folder / "share" / "doc" / "counterbalance" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("")
    assert main(["docs"]) == 0
    assert capsys.readouterr().out == f"{page.resolve()}\n"
    assert opened == [page.resolve().as_uri()]
