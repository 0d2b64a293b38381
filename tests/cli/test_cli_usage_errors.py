"""A wrong command line exits with 2 and shows usage, examples and what is wrong, on stderr."""

from __future__ import annotations

import json

import pytest

from counterbalance.__main__ import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sql"], "Missing argument 'LAKE'"),
        (["tables", "x.lake", "--nope"], "No such option"),
        (["sql", "x.lake", "SELECT 1", "-f", "q.sql"], "one of them"),
        (["recipe", "x.lake", "prepare", "--param", "a"], "'a' is not of the form NAME=VALUE"),
        (["sql", "x.lake", "SELECT $a", "-p", "a=1", "-p", "a=2"], "'a' is given twice"),
        (["sql", "x.lake", "SELECT 1", "--attach", "other.lake"], "is not of the form NAME=LAKE"),
        (["sql", "x.lake", "SELECT 1", "--memory", "lots"], "'lots' is not a size"),
        (["sql", "x.lake", "SELECT 1", "--timeout", "-1"], "--timeout"),
        (["sql", "x.lake", "SELECT 1", "-o", "out.xyz"], "no format is known for 'out.xyz'"),
        (["sql", "x.lake", "SELECT 1", "--format", "xml"], "'xml' is not one of"),
        (["audit", "x.lake"], "give a LAKE and the NAME of an audit, or --list"),
        (["audit", "x.lake", "crime_words", "groups"], "is not of the form KEY=VALUE"),
    ],
)
def test_usage_error(words, said, capsys):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith(f"Usage: counterbalance {words[0]}")
    assert f"\nExamples:\n  counterbalance {words[0]} " in err
    assert "\nerror[E2000]: " in err
    assert said in err
    assert err.rstrip().endswith(f"hint: see: counterbalance {words[0]} --help")


def test_unknown_command_suggests(capsys):
    assert main(["tabels"]) == 2
    assert "'tables'" in capsys.readouterr().err


def test_no_command_shows_the_help(capsys):
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert "Commands:" in err


@pytest.mark.parametrize("flag", [["--json"], ["--format", "json"], ["--format=jsonl"]])
def test_as_json(flag, capsys):
    assert main(["sql", *flag]) == 2
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "E2000"
    assert "LAKE" in error["message"]
