"""An audit of one's own is a file: made from a template, checked, run by its path, or found in a folder."""

from __future__ import annotations

from importlib.resources import files

import pytest

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine import functions
from counterbalance.engine.sql import queries


@pytest.fixture
def lake(tmp_path, build, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lake = cb.connect(tmp_path / "a.lake")
    ids = list(range(1, 41))
    texts = ["a man with an umbrella" if i <= 15 else "a man" if i <= 30 else "a woman" for i in ids]
    lake.ingest(
        {"images": build.images(image_id=ids), "captions": build.captions(caption_id=ids, image_id=ids, text=texts)}
    )
    return lake


def test_the_template_is_sound_and_runs(lake, capsys):
    assert main(["audit", "--new", "mine"]) == 0
    assert main(["audit", "--check", "mine.sql"]) == 0
    capsys.readouterr()
    assert main(["audit", lake.uri, "./mine.sql", "word=umbrella", "--csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("label,count,n,share,low,high,suppressed,reason,params")
    assert [line.split(",")[:3] for line in lines[1:]] == [["female", "0", "10"], ["male", "15", "30"]]


def test_a_template_is_never_written_over_a_file(lake, capsys):
    assert main(["audit", "--new", "mine"]) == 0
    assert main(["audit", "--new", "mine"]) != 0
    assert "error[E3034]: mine.sql is there already" in capsys.readouterr().err


def test_a_file_runs_from_python(lake, tmp_path):
    main(["audit", "--new", "mine"])
    assert lake.audit(str(tmp_path / "mine.sql"), word="umbrella").fetchall()[1][:3] == ("male", 15, 30)


def test_every_problem_has_a_file_and_a_line(lake, tmp_path, capsys):
    (tmp_path / "bad.sql").write_text(
        '/*--- toml\nanswers = 3\nsubjct = "x"\n[params.a]\ntype = "integr"\n[[cells]]\ncont = "n"\n---*/\nSELECT $a AS n\n'
    )
    (tmp_path / "worse.sql").write_text('/*--- toml\nanswers = "x"\n---*/\n\nSELECT 1 AS n\nFORM captions\nWHERE (\n')
    (tmp_path / "lost.sql").write_text('/*--- toml\nanswers = "x"\n---*/\nSELECT nope AS n FROM captions\n')
    (tmp_path / "cells.sql").write_text(
        '/*--- toml\nanswers = "x"\n[[cells]]\ncount = "m"\n---*/\nSELECT count(*) AS n FROM images\n'
    )
    files = ("bad", "worse", "lost", "cells")
    assert main(["audit", *(word for name in files for word in ("--check", f"{name}.sql"))]) == 1
    out, _ = capsys.readouterr()
    places = [line.split(": ")[0] for line in out.splitlines()]
    assert places == [
        "bad.sql:2",
        "bad.sql:3",
        "bad.sql:5",
        "bad.sql:6",
        "bad.sql:7",
        "worse.sql:6",
        "lost.sql:4",
        "cells.sql:4",
    ]
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("header", "sql", "lines"),
    [
        ("bogus = 1", "SELECT 1 FROM images WHERE WHERE x", ["3: no key 'bogus'", "5: no SQL at 'WHERE'"]),
        ("", "DROP TABLE images", ["5: this is not a query"]),
        ("", "SELECT 1; SELECT 2", ["5: this is not a query"]),
        (
            "",
            "SELECT nofun(key)\nFROM images JOIN nosuch USING (image_id)\nWHERE $one AND $other",
            [
                "5: no function 'nofun'",
                "6: no table 'nosuch'",
                "7: no parameter declares $one",
                "7: no parameter declares $other",
            ],
        ),
        (
            '[params.a]\ntype = "intger"',
            "WITH own AS (SELECT image_id FROM images) SELECT wilson_low(count(*), $a) FROM own, image_label()",
            ["4: 'intger' is not a type", "6: no function 'image_label'"],
        ),
        (
            '[params.a]\ntyp = "integer"\nminn = 1\n[[cells]]\ncuont = "n"\nby = "label"',
            "SELECT nosuch(1) AS x, 'nosuch' -- nosuch\nFROM imagez\nJOIN imagez AS i USING (image_id)",
            [
                "4: no key 'typ'",
                "5: no key 'minn'",
                "6: 'count' is missing",
                "7: no key 'cuont'",
                "8: 'by' must be",
                "10: no function 'nosuch'",
                "11: no table 'imagez'",
                "12: no table 'imagez'",
            ],
        ),
        (
            "",
            "SELECT one,\n  two, text + 1 FROM captions\nWHERE three = 1 AND two > 'two'",
            ["5: no column 'one'", "6: no column 'two'", "7: no column 'three'", "7: no column 'two'"],
        ),
        (
            '[[cells]]\ncount = "m"\nof = "n"\nwithin = ["lable"]\n[[cells]]\ncount = "n"\nby = ["lable", "key"]',
            "SELECT key, count(*) AS n FROM images GROUP BY key",
            [
                "4: the SQL gives no column 'm'",
                "6: the SQL gives no column 'lable'",
                "9: the SQL gives no column 'lable'",
            ],
        ),
        (
            '[params.a]\ntype = "integer"\ndefault = 4\nchoices = ["x"]\nmin = 5\nmax = 3\nvalues = "odd"\n'
            '[params.b]\ntype = "integer"\ndefault = "x"\nmax = 3\ngrid = [1, 4, "y"]',
            "SELECT $a, $b",
            [
                "3: 'a' can be no number: from 5 to 3",
                "6: 'a' is not a varchar",
                "9: 'values' cannot be 'odd'",
                "12: a value of 'b' must be integer, not 'x'",
                "14: 'b' cannot be 4",
                "14: a value of 'b' must be integer, not 'y'",
            ],
        ),
    ],
)
def test_a_check_finds_all_that_is_wrong(tmp_path, monkeypatch, capsys, header, sql, lines):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.sql").write_text(f'/*--- toml\nanswers = "x"\n{header}\n---*/\n{sql}\n')
    assert main(["audit", "--check", "mine.sql"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert [line.startswith(f"mine.sql:{start}") for line, start in zip(told, lines, strict=True)] == [True] * len(
        lines
    )
    assert "<class" not in str(told)


@pytest.mark.parametrize("name", ["power", "agg"])
def test_a_function_of_sql_names_no_audit(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    assert main(["audit", "--new", name]) == 1
    (tmp_path / f"{name}.sql").write_text('/*--- toml\nanswers = "x"\n---*/\nSELECT 1 AS n\n')
    assert main(["audit", "--check", f"{name}.sql"]) == 1
    (told,) = capsys.readouterr().out.splitlines()
    assert told.startswith(f"{name}.sql:1: ")
    assert repr(name) in told


@pytest.mark.parametrize("name", ["crime_words", "leakage"])
def test_a_check_knows_what_there_is(name, tmp_path, capsys):
    """Nothing is wrong with a file of ours, and a copy of it is that audit; one that differs takes its name."""
    file = files("counterbalance.queries").joinpath(f"audits/{name}.sql")
    assert main(["audit", "--check", str(file)]) == 0
    copy = tmp_path / f"{name}.sql"
    copy.write_bytes(file.read_bytes())
    assert main(["audit", "--check", str(copy)]) == 0
    copy.write_bytes(file.read_bytes() + b"\n")
    capsys.readouterr()
    assert main(["audit", "--check", str(copy)]) == 1
    assert capsys.readouterr().out.split(": ", 1)[1] == f"two queries are called '{name}'\n"


def test_an_audit_with_errors_names_the_check(lake, tmp_path, capsys):
    (tmp_path / "mine.sql").write_text("SELECT 1 AS n")
    assert main(["audit", lake.uri, "./mine.sql"]) == 1
    assert "counterbalance audit --check ./mine.sql tells all that is wrong" in capsys.readouterr().err


def test_a_check_says_where_nothing_is_hidden_and_knows_functions_of_ones_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = '/*--- toml\nanswers = "Texts by their size."\nsource = "us"\n---*/\nSELECT my_size(text) AS n FROM captions'
    (tmp_path / "sizes.sql").write_text(text)
    (tmp_path / "my_udfs.py").write_text(
        "import counterbalance as cb\n\n\n@cb.udf\ndef my_size(text: str) -> int:\n    return len(text)\n"
    )
    assert main(["audit", "--check", "sizes.sql"]) == 1
    assert "my_size" in capsys.readouterr().out
    assert main(["audit", "--check", "sizes.sql", "--udfs", "my_udfs.py"]) == 0
    assert "has no [[cells]]: no count of its rows is hidden" in capsys.readouterr().err
    functions._registry.pop("my_size")


def test_a_broken_file_of_a_folder_is_left_out_with_a_note(lake, tmp_path, capsys):
    main(["audit", "--new", "mine"])
    (tmp_path / "q" / "audits").mkdir(parents=True)
    (tmp_path / "mine.sql").rename(tmp_path / "q" / "audits" / "sound.sql")
    (tmp_path / "q" / "audits" / "broken.sql").write_text("-- no front matter\nSELECT 1")
    (tmp_path / "q" / "audits" / "demographics.sql").write_text('/*--- toml\nanswers = "x"\n---*/\nSELECT 1 AS x')
    capsys.readouterr()
    assert main(["audit", "--list", "--queries", "q"]) == 0
    assert capsys.readouterr().err.count("broken.sql was left out") == 1
    assert main(["sql", lake.uri, "SELECT count(*) AS n FROM sound(), demographics()", "--queries", "q", "--csv"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "n"
    assert "broken.sql was left out: broken.sql:1" in err
    assert "demographics.sql was left out: two queries are called 'demographics'" in err


def test_a_broken_package_breaks_no_other_audit(lake, monkeypatch, tmp_path, capsys):
    package = tmp_path / "brokenplugin" / "audits"
    package.mkdir(parents=True)
    (tmp_path / "brokenplugin" / "__init__.py").touch()
    (package / "odd.sql").write_text("SELECT 1")
    monkeypatch.syspath_prepend(tmp_path)
    from importlib.metadata import EntryPoint, entry_points

    mine = [EntryPoint("a", "brokenplugin", queries.GROUP), EntryPoint("b", "not_installed_at_all", queries.GROUP)]
    monkeypatch.setattr(queries, "entry_points", lambda group: [*entry_points(group=group), *mine])
    queries.queries.cache_clear()
    assert main(["audit", "--list"]) == 0
    out, err = capsys.readouterr()
    assert "demographics" in out
    assert "odd.sql was left out: odd.sql:1" in err
    assert "not_installed_at_all was left out" in err
    assert lake.audit("demographics").fetchall()


@pytest.mark.parametrize("how", [{}, {"timeout": 60.0}])
def test_a_folder_is_named_in_python(lake, tmp_path, how):
    folder = tmp_path / "mine"
    (folder / "views").mkdir(parents=True)
    main(["audit", "--new", "counted"])
    (tmp_path / "counted.sql").rename(folder / "counted.sql")
    (folder / "broken.sql").write_text("SELECT 1")
    (folder / "views" / "few.sql").write_text("""/*--- toml
answers = "Which images come first?"
---*/
SELECT image_id FROM captions WHERE image_id < 4
""")
    for _ in range(2):  # a folder may be named again
        found = lake.sql("SELECT n FROM counted(word := 'umbrella') ORDER BY n", queries=folder, **how)
        assert found.fetchall() == [(10,), (30,)]
        assert any("broken.sql was left out" in note for note in found.notes)
    assert lake.sql("SELECT count(*) FROM few", queries=str(folder), **how).fetchall() == [(3,)]
    assert len(queries.added()) == 3


def test_a_folder_of_ones_own_has_the_callers_rights(empty_lake, build, tmp_path):
    ids = list(range(1, 41))
    names = {"attribute": ["perceived_gender"] * 40, "value": ["a", "b"] * 20, "annotator": ["x"] * 40}
    labels = build.labels(label_id=ids, image_id=ids, **names)
    empty_lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "sly.sql").write_text("""/*--- toml
answers = "Which labels are there?"
---*/
SELECT value FROM labels
""")
    assert empty_lake.sql("SELECT * FROM sly", queries=tmp_path).fetchall() == []


def test_parameters_of_a_file_are_shown(lake, capsys):
    main(["audit", "--new", "mine"])
    capsys.readouterr()
    assert main(["audit", "--list", "./mine.sql"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("mine: ")
    assert "Parameters:" in told
    assert main(["audit", lake.uri, "./mine.sql", "--help"]) == 0
    assert capsys.readouterr().out == told
