"""Scripts are cut at the semicolons that are really ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.errors import SqlError
from counterbalance.shell.interpreter import steps_of
from counterbalance.shell.repl import is_done
from counterbalance.shell.scripts import is_complete, split


@pytest.mark.parametrize(
    ("text", "statements", "complete"),
    [
        ("", (), True),
        ("-- nothing\n", (), True),
        ("SELECT 1", ("SELECT 1",), False),
        ("SELECT 1;", ("SELECT 1",), True),
        (";;SELECT 1;;", ("SELECT 1",), True),
        ("SELECT ';'; SELECT 2", ("SELECT ';'", "SELECT 2"), False),
        ('SELECT 1 AS "a;b";', ('SELECT 1 AS "a;b"',), True),
        ("SELECT 'it''s;';", ("SELECT 'it''s;'",), True),
        ("SELECT $$a;b$$;", ("SELECT $$a;b$$",), True),
        ("SELECT 1 /* ; */; -- ; done", ("SELECT 1 /* ; */",), True),
        ("SELECT 1 -- one;\n;", ("SELECT 1 -- one;",), True),
        ("SELECT 1\n;\n\nSELECT\n2;", ("SELECT 1", "SELECT\n2"), True),
    ],
)
def test_split(text, statements, complete):
    found = split(text)
    assert found.statements == statements
    assert found.complete == complete
    assert is_complete(text) == complete


@pytest.mark.parametrize("text", ["SELECT 'a;", 'SELECT "a;', "SELECT 1 /* ;"])
def test_unclosed(text):
    assert not is_complete(text)
    with pytest.raises(SqlError, match="never closed"):
        split(text)


PIECES = st.sampled_from(
    ["SELECT 1", "SELECT ';'", 'SELECT "x;y" FROM t', "SELECT 2 /* a;b */ + 3", "FROM $$ ; $$", "SELECT -- c;\n 4"]
)


@given(st.lists(PIECES, max_size=5), st.sampled_from([";", " ;\n", ";;\n\n"]))
def test_what_is_joined_is_cut_again(pieces, end):
    found = split("".join(piece + end for piece in pieces))
    assert found.statements == tuple(pieces)
    assert found.complete


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (".mode csv\nSELECT 1;\n.tables\n", [".mode csv", "SELECT 1", ".tables"]),
        ("SELECT\n.5;", ["SELECT\n.5"]),
        ("\n\n  .help  \n", [".help"]),
        ("SELECT ';\n.tables\n';", ["SELECT ';\n.tables\n'"]),
        ("SELECT 1; SELECT 2;\nSELECT 3", ["SELECT 1", "SELECT 2", "SELECT 3"]),
    ],
)
def test_steps(text, steps):
    assert list(steps_of(text)) == steps


@pytest.mark.parametrize(
    ("text", "done"),
    [("", True), (".help", True), ("  .mode", True), ("SELECT 1", False), ("SELECT ';", False), ("SELECT 1;", True)],
)
def test_when_enter_runs(text, done):
    assert is_done(text) == done
