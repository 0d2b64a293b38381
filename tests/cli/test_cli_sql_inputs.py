"""Where ``sql`` takes its statements and values from."""

from __future__ import annotations

import io
import json
import sys

import pytest

from counterbalance.__main__ import main


@pytest.fixture
def stdin(monkeypatch):
    def give(text):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))

    return give


def test_query_on_the_command_line_is_one_statement(lake, capsys):
    assert main(["sql", lake.uri, "SELECT 1; SELECT 2"]) == 1
    assert "one statement" in capsys.readouterr().err


def test_the_query_as_an_option(lake, capsys):
    assert main(["sql", lake.uri, "-c", "SELECT 1 AS a", "--csv"]) == 0
    assert capsys.readouterr().out == "a\n1\n"
    for words in (["-c", "SELECT 1", "SELECT 2"], ["--command", "SELECT 1", "-f", "-"], ["SELECT 1", "-f", "-"]):
        assert main(["sql", lake.uri, *words]) == 2
        assert "one of them" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["-"], ["-f", "-"]])
def test_stdin_holds_several(words, lake, stdin, capsys):
    stdin("SELECT 1 AS a; -- first; really\nSELECT ';' AS b;\n")
    assert main(["sql", lake.uri, *words, "--format", "jsonl"]) == 0
    assert capsys.readouterr().out == '{"a":1}\n{"b":";"}\n'


def test_file(lake, tmp_path, capsys):
    path = tmp_path / "q.sql"
    path.write_text("-- a comment\nSELECT 'é' AS a\n", encoding="utf-8")
    assert main(["sql", lake.uri, "-f", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"a": "é"}]


def test_missing_file(lake, capsys):
    assert main(["sql", lake.uri, "-f", "none.sql"]) == 1
    assert capsys.readouterr().err == "error[E1020]: cannot read none.sql: No such file or directory\n"


def test_file_that_is_no_text(lake, tmp_path, capsys):
    path = tmp_path / "q.sql"
    path.write_bytes(b"SELECT '\xff'")
    assert main(["sql", lake.uri, "-f", str(path)]) == 1
    assert capsys.readouterr().err.startswith("error[E3022]: ")


def test_first_error_ends_a_script_with_its_code(lake, stdin, capsys):
    stdin("SELECT 1 AS a;\nSELECT * FROM nowhere;\nSELECT 2 AS b;")
    assert main(["sql", lake.uri, "--csv"]) == 1
    out, err = capsys.readouterr()
    assert out == "a\n1\n"
    assert err.startswith("error[E1001]: no table 'nowhere'\nLINE 1: SELECT * FROM nowhere\n")


def test_dot_commands_work_in_scripts(lake, stdin, capsys):
    stdin(".mode jsonl\nSELECT 1 AS a;\n.mode csv\nSELECT 2 AS b;\n.quit\nSELECT 3 AS c;")
    assert main(["sql", lake.uri]) == 0
    assert capsys.readouterr().out == '{"a":1}\nb\n2\n'


def test_a_script_has_no_prompt_and_no_colour(lake, stdin, capsys):
    stdin("SELECT 1 AS a;")
    assert main(["sql", lake.uri]) == 0
    out, err = capsys.readouterr()
    assert out == "a\n-\n1\n"
    assert err == ""


def test_several_results_do_not_go_into_one_file(lake, stdin, tmp_path, capsys):
    path = tmp_path / "out.csv"
    stdin("SELECT 1; SELECT 2;")
    assert main(["sql", lake.uri, "-o", str(path)]) == 1
    assert capsys.readouterr().err.startswith("error[E3023]: 2 statements")
    assert not path.exists()


def test_unclosed_quote_in_a_script(lake, stdin, capsys):
    stdin("SELECT 'abc;\n")
    assert main(["sql", lake.uri]) == 1
    assert capsys.readouterr().err.startswith("error[E3102]: a quote or comment is never closed\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-0.5", -0.5),
        ("true", True),
        ("null", None),
        ('"3"', "3"),
        ("man", "man"),
        ("a=b c", "a=b c"),
        ("[1,2]", [1, 2]),
        ("NaN", "NaN"),
    ],
)
def test_values_are_json_or_text(text, value, lake, capsys):
    assert main(["sql", lake.uri, "SELECT $v AS v", "-p", f"v={text}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"v": value}]


def test_values_are_bound_and_not_pasted(lake, capsys):
    query = "SELECT count(*) AS n FROM captions WHERE text = $t"
    assert main(["sql", lake.uri, query, "-p", "t=' OR 1=1 --", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"n": 0}]


@pytest.mark.parametrize(
    ("query", "words", "row"),
    [
        ("SELECT ? AS a", ["1"], {"a": 1}),
        ("SELECT ? AS a, ? AS b", ["-2", "man"], {"a": -2, "b": "man"}),
        ("SELECT $b AS b, ? AS a", ["1", "b=x"], {"b": "x", "a": 1}),
        ("SELECT ? AS a", ['"a=b"'], {"a": "a=b"}),
    ],
)
def test_values_without_a_name_are_of_places_in_order(query, words, row, lake, capsys):
    assert main(["sql", lake.uri, query, "--json", *(w for word in words for w in ("-p", word))]) == 0
    assert json.loads(capsys.readouterr().out) == [row]


def test_a_script_has_no_values_by_their_place(lake, stdin, capsys):
    stdin("SELECT ?;")
    assert main(["sql", lake.uri, "-p", "1"]) == 2
    assert "-p VALUE is of a ? of one QUERY" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code"), [([], "E3121"), (["-p", "v=1"], "E3043"), (["-p", "1", "-p", "2"], "E3121")]
)
def test_hints_speak_of_the_option(words, code, lake, capsys):
    assert main(["sql", lake.uri, "SELECT ?", *words]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"error[{code}]")
    assert "-p " in err.partition("hint: ")[2]


def test_a_text_that_looks_like_a_name_is_told_how_to_be_written(lake, capsys):
    assert main(["sql", lake.uri, "SELECT ? AS a", "-p", "size=large"]) == 1
    hint = capsys.readouterr().err.partition("hint: ")[2]
    assert hint.startswith("""a text with = for a ? is written as JSON: -p '"size=large"'; """)
    assert main(["sql", lake.uri, "SELECT ? AS a", "-p", '"size=large"', "--csv"]) == 0
    assert capsys.readouterr().out == "a\nsize=large\n"
