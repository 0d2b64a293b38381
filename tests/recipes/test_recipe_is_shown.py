"""``recipe --show NAME`` prints a recipe with its parameters filled in, as a file that does the same."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from counterbalance.__main__ import main
from counterbalance.engine.recipes import values
from counterbalance.engine.recipes.files import parse, recipe, recipes
from counterbalance.engine.recipes.shown import filled


@pytest.mark.parametrize("name", sorted(recipes()))
def test_the_text_is_a_recipe_that_does_the_same(name):
    found = recipe(name)
    literals = values.literals(found, {})
    again = parse(filled(found, literals), f"{name}.sql")
    missing = [replace(p, presets=()) for p in found.parameters if p.default is None]  # presets are filled in already
    assert again.parameters == tuple(missing)
    assert (again.name, again.doc, again.source) == (found.name, found.doc, found.source)
    assert [s.name for s in again.steps] == [s.name for s in found.steps]
    known = {n: text or f"${n}" for n, text in literals.items()}
    for mine, theirs in zip(again.steps, found.steps, strict=True):
        assert list(mine.statements) == [values.put(s, found, known) for s in theirs.statements]


def test_given_values_stand_in_it(capsys):
    assert main(["recipe", "--show", "subsample", "-p", "seed=7", "-p", "groups=image_labels('scene')"]) == 0
    out = capsys.readouterr().out
    assert "FROM balanced_subset(IMAGE_LABELS('scene'), seed := 7, method := 'under'".lower() in out.lower()
    assert "[params" not in out
    assert "seed = 7" in " ".join(out.split())


def test_what_must_be_given_stays_a_parameter(capsys):
    assert main(["recipe", "--show", "laion400m"]) == 0
    out = capsys.readouterr().out
    assert '[params.gender_checkpoint]\ntype = "varchar"\nabout = "folder' in out
    assert "'perceived_gender', $gender_checkpoint)" in out
    assert "[params.race_checkpoint]" in out
    assert "$first" not in out


def test_a_shown_recipe_runs(lake, tmp_path, capsys):
    assert main(["recipe", "--show", "reweight", "-p", "min_count=1"]) == 0
    path = tmp_path / "mine.sql"
    path.write_text(capsys.readouterr().out)
    lake.recipe(str(path), refresh={"executor": "inline"})
    assert lake.sql("SELECT label, weight FROM reweight_set ORDER BY 1").fetchall() == [("female", 1.0), ("male", 1.0)]


def test_as_json_and_of_an_unknown_name(capsys):
    assert main(["recipe", "--show", "subsample", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["name"] == "subsample"
    assert told["sql"].startswith('/*--- toml\nanswers = "')
    assert main(["recipe", "--show", "subsampel"]) == 1
    assert "did you mean 'subsample'" in capsys.readouterr().err
    assert main(["recipe", "--show", "subsample", "-p", "sead=7"]) == 1
    assert "did you mean 'seed'" in capsys.readouterr().err
