"""A preset sets parameters by name, with its source; what a call gives itself wins, and what is wrong is refused by line."""

from __future__ import annotations

import re

import pytest

import counterbalance as cb
from counterbalance.engine.errors import RequestError, SqlError
from counterbalance.engine.recipes.files import recipes
from counterbalance.engine.recipes.shown import filled
from counterbalance.engine.recipes.values import literals
from counterbalance.engine.sql import queries
from counterbalance.engine.sql.query_files import parse

HEAD = """/*--- toml
answers = "Counts."
level = "image"
presets = { paper = "Somebody (2024)", code = "its code" }

[params.k]
type = "integer[]"
default = [5, 10]
min = 1
presets = { paper = { value = [1, 2], source = "Table 1" }, code = { value = [7], source = "run.py" } }
about = "cut-offs"

[params.word]
type = "varchar"
default = "none"
presets = { paper = { value = "it's", source = "B.2" } }

[params.rows]
relation = ["image_id"]
default = "images"
presets = { code = { value = "(SELECT image_id FROM images WHERE image_id < 3)", source = "run.py" } }
---*/
SELECT $k AS k, $word AS word, count(*) AS n FROM rows
"""


@pytest.fixture
def loaded(tmp_path):
    file = tmp_path / "preset_counts.sql"
    file.write_text(HEAD)
    (name,) = queries.load(str(file))
    return name


@pytest.fixture
def counted(loaded, lake):
    def ask(given=""):
        return lake.sql(f"SELECT k, word, n FROM {loaded}({given})").fetchall()[0]

    return ask


def test_it_sets_what_it_names_and_nothing_else(counted):
    every = counted()
    assert every[:2] == ([5, 10], "none")
    assert counted("preset := 'paper'") == ([1, 2], "it's", every[2])
    assert counted("preset := 'code'")[:2] == ([7], "none")
    assert counted("preset := 'code'")[2] < every[2]
    assert counted("preset := NULL") == every


def test_what_a_call_gives_itself_wins(counted):
    assert counted("preset := 'paper', k := [3]")[:2] == ([3], "it's")
    assert counted("[3], preset := 'paper'")[:2] == ([3], "it's")


def test_unknown_ones_are_refused(counted):
    with pytest.raises(SqlError, match="one of 'paper', 'code'"):
        counted("preset := 'papper'")


def test_parameters_say_what_they_are():
    query = parse(HEAD, "audit", "n.sql")
    assert query.parameters[0].doc == "at least 1; cut-offs; paper: [1, 2] (Table 1); code: [7] (run.py)"
    assert (query.parameters[-1].name, query.parameters[-1].choices) == ("preset", ("paper", "code"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[1, 2], source", "[0], source", r"n\.sql:10: 'k' cannot be 0"),
        ("[1, 2], source", '"x", source', r"n\.sql:10: a value of 'k' must be integer\[\]"),
        (', source = "B.2"', "", r"n\.sql:16: 'source' is missing"),
        ('"(SELECT image_id FROM images WHERE image_id < 3)"', "3", r"n\.sql:21: 'rows' is a relation, and its values SQL text"),
        ("paper = { value = \"it's\", source = \"B.2\" }", "paper = 3", r"n\.sql:16: preset 'paper' must be a table"),
        ('paper = "Somebody (2024)", ', "", r"n\.sql:\d+: no preset is called 'paper'"),
        ('code = "its code"', 'code = "its code", other = "x"', r"n\.sql:4: no parameter has a value for preset 'other'"),
        ('code = "its code"', "code = 3", r"n\.sql:4: 'code' must be text"),
        ('code = "its code"', 'code = { like = "paper" }', r"n\.sql:4: 'of' is missing"),
        ('code = "its code"', 'code = { of = "its code", as = "paper" }', r"n\.sql:4: no key 'as' is known here"),
        ('code = "its code"', 'code = { of = "its code", like = "papper" }', r"n\.sql:4: 'code' cannot be like 'papper'"),
        ('code = "its code"', 'code = { of = "its code", source = "B" }', r"n\.sql:4: 'code' sets values, which have sources"),
        ("[params.word]", "[params.preset]", r"n\.sql:13: 'preset' names a preset"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_by_line(old, new, message):
    text = HEAD.replace(old, new)
    assert text != HEAD
    with pytest.raises(RequestError, match=message):
        parse(text.replace("$word", "$preset") if "params.preset" in new else text, "audit", "n.sql")


def test_one_may_be_as_another_where_it_says_nothing(tmp_path, lake):
    (name,) = _loaded(tmp_path, HEAD.replace('code = "its code"', 'code = { of = "its code", like = "paper" }'))
    (given,) = lake.sql(f"SELECT k, word FROM {name}(preset := 'code')").fetchall()
    assert given == ([7], "it's")
    assert "code: its code, the rest as paper" in queries.queries()[name].parameters[-1].doc


def test_one_may_set_nothing_and_says_where_a_paper_does(tmp_path, lake):
    """So that the preset of a paper is taken wherever the paper defines what is measured, and stays when defaults change."""
    head = re.sub("presets = .*code.*", "", HEAD).replace(
        'presets = { paper = { value = "it\'s", source = "B.2" } }\n', ""
    )
    (name,) = _loaded(
        tmp_path, head.replace('level = "image"', 'presets = { paper = { of = "Le (2023)", source = "4.2.2" } }')
    )
    ask = f"SELECT k, word FROM {name}({{}})"
    assert lake.sql(ask.format("preset := 'paper'")).fetchall() == lake.sql(ask.format("")).fetchall()
    assert "paper: Le (2023) (4.2.2; sets nothing)" in queries.queries()[name].parameters[-1].doc
    assert code_of(lake, ask.format("preset := 'code'")) == "E3130"


def _loaded(folder, text):
    file = folder / "preset_kinds.sql"
    file.write_text(text)
    return queries.load(str(file))


def test_recipes_take_them():
    found = recipes()["gensynth"]
    plain, paper, own = (literals(found, given) for given in ({}, {"preset": "paper"}, {"preset": "paper", "steps": 7}))
    assert (plain["steps"], paper["steps"], own["steps"]) == ("100", "500", "7")
    assert paper["metric"] == "'l2'"
    assert "gender_gensynth_paper" in filled(found, paper)
    with pytest.raises(RequestError, match="one of 'paper'"):
        literals(found, {"preset": "code"})


WITH_PRESETS = [
    (q.name, choice) for q in queries.sound() for p in q.parameters if p.name == "preset" for choice in p.choices
]


@pytest.mark.parametrize(("name", "choice"), WITH_PRESETS)
def test_every_preset_of_ours_is_bound(lake, name, choice):
    parameters = queries.queries()[name].parameters
    missing = [p for p in parameters if p.default is None]
    given = "".join(f", {p.name} := {'captions' if p.is_relation else 1}" for p in missing)
    code = code_of(lake, f"FROM {name}(preset := '{choice}'{given})")
    if missing or name == "proposal_recall":  # what stands for a required one has not its columns; no model is here
        assert code != "E3111"
    else:
        assert code is None


def code_of(lake, text):
    try:
        lake.sql(text)
    except cb.CounterbalanceError as error:
        return error.code
    return None


@pytest.mark.parametrize(("name", "choice"), [(r.name, c) for r in recipes().values() for p in r.parameters if p.name == "preset" for c in p.choices])  # fmt: skip
def test_every_preset_of_a_recipe_is_filled_in(name, choice):
    recipe = recipes()[name]
    given = {p.name: "captions" if p.is_relation else "1" for p in recipe.parameters if p.default is None}
    assert "$" + "preset" not in filled(recipe, literals(recipe, {"preset": choice, **given}))
