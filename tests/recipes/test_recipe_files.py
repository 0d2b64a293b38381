"""Recipe files: a header, steps, and parameters that stand for literals; what could not be run twice is refused."""

from __future__ import annotations

import re

import pytest

from counterbalance.engine.errors import CounterbalanceError, NotFoundError, RequestError, SqlError
from counterbalance.engine.recipes import actions, files, values
from counterbalance.udfs.models.ask import DESCRIBE

WHOLE = """\
/*--- toml
answers = "Does it all."
details = "Longer text."
source = "somebody"
params.name = { type = "varchar", default = "it's", about = "a text" }
params.sizes = { type = "integer[]", default = [1, 2], about = "a list" }
params.share = { type = "double", about = "must be given" }
params.rows = { relation = [], default = "captions", about = "a relation" }
---*/

-- step first: two statements; with a semicolon
SELECT ';' AS x, $name AS name; -- and a comment; with one
SELECT $sizes AS sizes, '$name' AS text FROM $rows;

-- step second: one
CALL act(labels := some_view, size := $share, text := 'a;b')
"""


def test_a_whole_file():
    made = files.parse(WHOLE, "whole.sql")
    assert (made.name, made.doc, made.source, made.text) == ("whole", "Does it all.", "somebody", "Longer text.")
    assert [(s.name, s.doc, len(s.statements)) for s in made.steps] == [
        ("first", "two statements; with a semicolon", 2),
        ("second", "one", 1),
    ]


def test_blank_lines_change_nothing():
    tight = files.parse(WHOLE.replace("\n\n", "\n"), "whole.sql")
    assert tight == files.parse(WHOLE, "whole.sql")


@pytest.mark.parametrize(
    ("given", "statement", "wanted"),
    [
        ({}, 0, "SELECT ';' AS x, 'it''s' AS name"),
        ({"name": "a'b"}, 0, "SELECT ';' AS x, 'a''b' AS name"),
        ({"sizes": [3]}, 1, "SELECT [3] AS sizes, '$name' AS text FROM captions"),
        ({"sizes": "5, 6", "rows": "labels"}, 1, "SELECT [5, 6] AS sizes, '$name' AS text FROM labels"),
        ({"share": "0.5"}, 2, "CALL act(labels := some_view, size := 0.5, text := 'a;b')"),
    ],
)
def test_parameters_stand_for_literals(given, statement, wanted):
    made = files.parse(WHOLE, "whole.sql")
    texts = [t for s in made.steps for t in s.statements]
    found = values.put(texts[statement], made, values.literals(made, given))
    assert re.sub(r"^-- .*\n", "", found) == wanted


def test_a_value_that_is_missing_is_asked_for_by_name():
    made = files.parse(WHOLE, "whole.sql")
    with pytest.raises(values.MissingError, match="'share' here: must be given") as caught:
        values.put(made.steps[1].statements[0], made, values.literals(made, {}))
    assert "--param share=" in caught.value.hint


@pytest.mark.parametrize(
    ("given", "kind", "code", "told"),
    [
        ({"nam": 1}, RequestError, "E3563", "did you mean 'name'"),
        ({"share": "much"}, SqlError, "E3114", "must be double"),
        ({"rows": "a; DROP b"}, RequestError, "E3201", "one statement"),
        ({"rows": "(SELECT 1"}, SqlError, "E3113", "not a relation"),
        (
            {"rows": "words.csv"},
            RequestError,
            "E3564",
            "'rows' of recipe whole is a file, and a recipe takes none: words.csv",
        ),
        ({"rows": "/data/words.parquet"}, RequestError, "E3564", "is a file, and a recipe takes none"),
    ],
)
def test_values_that_do_not_fit(given, kind, code, told):
    with pytest.raises(kind, match=told) as caught:
        values.literals(files.parse(WHOLE, "whole.sql"), given)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("body", "code", "told"),
    [
        ("SELECT $name;", "E3561", "-- step NAME"),
        ("SELECT $name;\n-- step a: x\nSELECT 1;", "E3561", "-- step NAME"),
        ("-- step a: x\n-- step b: y\nSELECT $name;", "E3561", "step a has no statement"),
        ("-- step a: x\nSELECT $name;\n-- step a: y\nSELECT 1;", "E3561", "two steps are called 'a'"),
        ("-- step a: x\nSELECT $name, $nam;", "E3030", r"odd\.sql:6: no parameter declares \$nam; did you mean 'name'"),
        ("-- step a: x\nCALL f(a := $name,\n  b := $nam)", "E3030", r"odd\.sql:7: no parameter declares \$nam"),
        ("-- step a: x\nSELECT '$name' -- $name", "E3030", r"odd\.sql:3: the SQL does not use \$name"),
        ("-- step a: x\nSELECT $name, 'open;", "E3102", "never closed|quote|token"),
    ],
)
def test_a_file_that_is_not_right(body, code, told):
    with pytest.raises(CounterbalanceError, match=told) as caught:
        files.parse(f'/*--- toml\nanswers = "Is odd."\nparams.name.type = "varchar"\n---*/\n{body}', "odd.sql")
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("CALL f(1)", "E3136", "have names"),
        ("CALL f(a := 1, a := 2)", "E3136", "twice"),
        ("CALL f", "E3136", "not a call"),
        ("CALL f(a := 1) + 1", "E3136", "not a call"),
        ("CALL f(a := b(1))", "E3115", "constant"),
    ],
)
def test_a_call_that_is_not_right(text, code, told):
    with pytest.raises(SqlError, match=told) as caught:
        actions.read(text)
    assert caught.value.code == code


def test_recipes_are_found_by_name_and_by_path(tmp_path):
    assert files.recipe("laion400m") == files.recipes()["laion400m"]
    (tmp_path / "mine.sql").write_text(WHOLE)
    assert files.recipe(str(tmp_path / "mine.sql")).name == "mine"
    with pytest.raises(NotFoundError, match="did you mean 'laion400m'"):
        files.recipe("laion40m")
    with pytest.raises(NotFoundError, match=r"no\.sql"):
        files.recipe(str(tmp_path / "no.sql"))


def test_captions_are_asked_for_in_the_words_of_the_function():
    recipe = files.recipe("laion400m")
    [words] = [p.default for p in recipe.parameters if p.name == "describe"]
    assert words == "'" + DESCRIBE.replace("'", "''") + "'"
    [statement, _] = recipe.until("captions")[-1].statements
    asked = values.fill(statement, values.literals(recipe, {"describe": "Who is it?"}))
    assert "prompt := 'Who is it?'" in asked


@pytest.mark.parametrize("name", files.recipes())
def test_a_shipped_recipe_is_complete(name):
    made = files.recipe(name)
    assert made.doc.endswith(".")
    assert made.source
    assert all(p.doc for p in made.parameters)
    text = " ".join(t for s in made.steps for t in s.statements)
    assert {p.name for p in made.parameters} - {"preset"} == {name for name, _, _ in values._places(text)}
