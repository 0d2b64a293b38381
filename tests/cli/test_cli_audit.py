"""``audit`` lists, describes and runs audits."""

from __future__ import annotations

import json

import pytest

import counterbalance as cb
from counterbalance.__main__ import main


def test_list_names_every_audit_on_a_line_under_its_subject(capsys):
    assert main(["audit", "--list"]) == 0
    out, err = capsys.readouterr()
    found, subject = {}, ""
    for line in filter(None, out.splitlines()):
        if line.startswith("  "):
            name, _, doc = line.strip().partition(" ")
            found[name] = (subject, doc.strip())
        else:
            subject = line
    assert found == {name: (query.subject, query.doc) for name, query in cb.audits().items()}
    assert "--list NAME" in err


def test_list_as_json(capsys):
    assert main(["audit", "--list", "--json"]) == 0
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert found.keys() == cb.audits().keys()
    for name, query in cb.audits().items():
        assert [p["name"] for p in found[name]["parameters"]] == [p.name for p in query.parameters]
        assert [p["default"] for p in found[name]["parameters"]] == [p.default for p in query.parameters]


@pytest.mark.parametrize(
    "words", [["--list", "retrieval_bias"], ["retrieval_bias", "--help"], ["x.lake", "retrieval_bias", "--help"]]
)
def test_describe_needs_no_lake(words, capsys):
    assert main(["audit", *words]) == 0
    text = capsys.readouterr().out
    query = cb.audits()["retrieval_bias"]
    assert text.startswith("retrieval_bias: ")
    words = " ".join(text.split())
    assert query.doc in words
    assert " ".join(query.source.split()) in words
    for p in query.parameters:
        assert f"\n  {p.name} " in text
        assert " ".join(p.doc.split()) in words


def test_describe_an_unknown_one(capsys):
    assert main(["audit", "--list", "retrieval_bais"]) == 1
    assert "did you mean 'retrieval_bias'?" in capsys.readouterr().err


@pytest.fixture
def audits(monkeypatch):
    """One audit whose rows say what it was given."""
    from counterbalance.engine.sql import queries, query_files

    text = """/*--- toml
answers = "Says what it was given."
params.rows = { relation = [], default = "captions", about = "any rows" }
params.word = { type = "varchar", default = "none" }
params.k = { type = "integer[]", default = [5, 10], about = "numbers" }
params.min_count = { type = "integer", default = 10, about = "a number" }
---*/
SELECT count(*) AS n, $word AS word, $k AS k, $min_count AS min_count FROM rows"""
    known = {**queries.queries(), "echo": query_files.parse(text, "audit", "echo.sql")}
    monkeypatch.setattr(queries, "queries", lambda: known)


@pytest.mark.parametrize(
    ("words", "row"),
    [
        ([], {"n": 8, "word": "none", "k": [5, 10], "min_count": 10}),
        (["k=1,2,3", "word=a=b"], {"n": 8, "word": "a=b", "k": [1, 2, 3], "min_count": 10}),
        (["k=[7]", "--min-count", "3", "rows=images"], {"n": 6, "word": "none", "k": [7], "min_count": 3}),
        (["rows=(SELECT 1 AS one)"], {"n": 1, "word": "none", "k": [5, 10], "min_count": 10}),
    ],
)
def test_parameters(words, row, audits, lake, capsys):
    assert main(["audit", lake.uri, "echo", *words, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    params = json.loads(found.pop("params"))
    assert found == row
    assert params.keys() == {"rows", "word", "k", "min_count"}


@pytest.mark.parametrize(("word", "said"), [("nope=1", "no parameter 'nope'"), ("k=x", "must be integer")])
def test_wrong_parameters(word, said, audits, lake, capsys):
    assert main(["audit", lake.uri, "echo", word]) == 1
    assert said in capsys.readouterr().err


def test_output_options(audits, lake, tmp_path, capsys):
    path = tmp_path / "out.csv"
    assert main(["audit", lake.uri, "echo", "-o", str(path)]) == 0
    assert path.read_text().splitlines()[0] == "n,word,k,min_count,params"


def test_unknown_audit_suggests(audits, lake, capsys):
    assert main(["audit", lake.uri, "ecco"]) == 1
    assert capsys.readouterr().err.startswith("error[E1004]: no audit 'ecco'; did you mean 'echo'?")


@pytest.mark.parametrize(
    ("more", "told"), [([], "fewer than 100, which are"), (["--min-count", "7"], "fewer than 7, which are")]
)
def test_no_rows_may_be_small_cells(more, told, lake, capsys):
    assert main(["audit", lake.uri, "concept_ratio", *more]) == 0
    assert told in capsys.readouterr().err


def test_no_rows_although_all_cells_are_shown(lake, capsys):
    assert main(["audit", lake.uri, "crime_words", "--min-count", "0"]) == 0
    assert "left out" not in capsys.readouterr().err


@pytest.fixture
def place(disk_lake, build):
    images = {"images": build.images(image_id=[1, 2])}
    disk_lake.ingest(images | {"captions": build.captions(caption_id=[1, 2], image_id=[1, 2], text=["a man", "a dog"])})
    return disk_lake.uri


def test_names_of_audits_and_parameters_in_any_case(place, capsys):
    assert main(["audit", place, "Demographics", "GROUPS=caption_gender", "--json"]) == 0
    again = ["audit", place, "demographics", "groups=caption_gender", "--json"]
    first = capsys.readouterr().out
    assert main(again) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["agreement"], "hint: attribute=… (attribute of labels, such as 'perceived_gender')"),
        (["crime_words", "groups=captions"], "needs a column 'label'; captions has none"),
        (["demographics", "groups=nope"], "no table 'nope'"),
    ],
)
def test_errors_speak_of_words_not_of_sql(place, words, said, capsys):
    assert main(["audit", place, *words]) == 1
    err = capsys.readouterr().err
    assert said in err
    assert "SELECT" not in err
    assert "LINE" not in err


def test_sql_that_was_typed_is_pointed_into(place, capsys):
    assert main(["audit", place, "demographics", "groups=(SELECT image_id, nope AS label FROM captions)"]) == 1
    assert "LINE 1" in capsys.readouterr().err


def test_min_count_is_given_once(place, capsys):
    assert main(["audit", place, "demographics", "min_count=5", "--min-count", "6"]) == 2
    assert "min_count is given twice" in capsys.readouterr().err


def test_an_empty_table_is_why_there_is_nothing(place, capsys):
    assert main(["audit", place, "cooccurrence"]) == 0
    err = capsys.readouterr().err
    assert "note: cooccurrence() needs detections; the lake holds 2 images, 2 captions, no detections" in err
    assert "min_count" not in err
    assert main(["audit", place, "cooccurrence", "concepts=word_concepts"]) == 0
    err = capsys.readouterr().err
    assert "needs detections" not in err
    assert (
        "finds nothing to count in what it reads, or fewer than 10, which are left out: min_count sets that number"
        in err
    )


def test_a_parameter_is_no_option(lake, capsys):
    assert main(["audit", lake.uri, "demographics", "--groups", "caption_gender", "--at", "x"]) == 2
    assert "given as words: groups=…" in capsys.readouterr().err


def test_what_runs_is_told_where_nothing_is_found(lake, capsys):
    assert main(["audit", lake.uri, "directional_amplification"]) == 0
    err = capsys.readouterr().err
    assert "note: directional_amplification() finds nothing to count in what it reads" in err
    assert "note: the lake holds " in err
    assert f"counterbalance doctor {lake.uri} lists them" in err
