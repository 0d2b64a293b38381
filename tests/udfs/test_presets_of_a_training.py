"""The settings of classifiers that the paper of LAION-400M chose, and all that it tried, by name."""

from __future__ import annotations

import json
import math

import pytest

from counterbalance.engine.errors import RequestError
from counterbalance.engine.recipes.files import recipes
from counterbalance.engine.sql import presets
from counterbalance.udfs.models.settings import DEFAULTS, MODEL, PRESETS, grid, of_preset

PRINTED = {
    "paper_gender": ([2], [32], [5e-6]),
    "paper_gender_grid": ([2, 5, 10, 15], [16, 32, 128], [5e-5, 1e-5, 5e-6]),
    "paper_race": ([20], [16], [1e-5]),
    "paper_race_grid": ([1, 10, 20, 50], [16, 32, 128], [1e-4, 5e-5, 1e-5]),
    "paper_race_grid_2": ([10, 15, 20], [32, 64, 128, 256], [2e-5, 1e-5, 5e-6]),
}
"""Girrbach et al. (2025), D and E.2: epochs, batch sizes, learning rates."""


@pytest.mark.parametrize("name", PRESETS)
def test_they_are_those_that_are_printed(name):
    preset = of_preset(name)
    assert (*map(list, (preset.epochs, preset.batch_size, preset.tower_lr)),) == PRINTED[name]
    assert (preset.model, preset.lr) == (MODEL, 1e-3)
    assert ("D:" if "gender" in name else "E.2:") in preset.source
    tried = grid(preset.epochs, 0, preset.batch_size, preset.lr, preset.tower_lr)
    assert len(tried) == math.prod(map(len, PRINTED[name]))


@pytest.mark.parametrize(
    ("preset", "gender", "race"),
    [
        (None, "paper_gender", "paper_race"),
        ("paper", "paper_gender", "paper_race"),
        ("paper_grid", "paper_gender_grid", "paper_race_grid"),
        ("paper_grid_2", "paper_gender_grid", "paper_race_grid_2"),
    ],
)
def test_the_recipe_has_the_same(preset, gender, race):
    parameters = recipes()["laion400m"].parameters
    values = {p.name: p.default for p in parameters} | (presets.values(parameters, preset) if preset else {})
    for which, name in (("gender", gender), ("race", race)):
        told = tuple(json.loads(values[f"{which}_{key}"]) for key in ("epochs", "batch", "lr"))
        assert told == PRINTED[name]
    if preset:
        assert values["sample"] == "3000000"  # a grid has the rest of what the paper says


def test_without_one_the_defaults_hold():
    plain = of_preset(None)
    assert grid(plain.epochs, DEFAULTS.seed, plain.batch_size, plain.lr, plain.tower_lr) == (DEFAULTS,)


def test_an_unknown_one_is_refused():
    with pytest.raises(RequestError, match="did you mean 'paper_gender'") as caught:
        of_preset("paper_gendre")
    assert caught.value.code == "E3051"
    assert "paper_race_grid_2" in caught.value.hint
