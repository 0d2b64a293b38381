"""A recipe tells before its first step which model a later one will not find, so that nobody waits for hours to learn it."""

from __future__ import annotations

import pytest

from counterbalance.engine.recipes import files, needs, values
from counterbalance.engine.recipes.model import StepError

pytest.importorskip("huggingface_hub")
RECIPE = """\
/*--- toml
answers = "Counts and embeds captions."
source = "a test"
params.model = { type = "varchar", default = "nobody/sentences", about = "model of embed_sentence" }
---*/

-- step count: how many
SELECT count(*) AS n FROM captions;

-- step embed: vectors
ALTER TABLE captions ADD COLUMN IF NOT EXISTS meaning AS (embed_sentence(text, $model));
REFRESH captions.meaning;

-- step again: vectors of another table
ALTER TABLE images ADD COLUMN IF NOT EXISTS meaning AS (embed_sentence(key, $model));
REFRESH images.meaning;
"""


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("COUNTERBALANCE_ALLOW_DOWNLOAD", raising=False)


def told(name, **given):
    recipe = files.recipe(name)
    return list(needs.missing(recipe, values.literals(recipe, given), recipe.steps))


def test_it_is_told_before_the_first_step(lake, tmp_path):
    (tmp_path / "vectors.sql").write_text(RECIPE)
    seen = []
    with pytest.raises(StepError, match="step embed of vectors"):
        lake.recipe(
            str(tmp_path / "vectors.sql"),
            refresh={"executor": "inline"},
            tell=lambda step: seen.append((step.step, step.state, list(step.notes))),
        )
    (name, state, notes), *_ = seen
    assert (name, state, len(notes)) == ("count", "planned", 1)
    assert notes[0].startswith("step embed will fail: no weights of 'nobody/sentences'")
    assert "--allow-download" in notes[0]


def test_every_model_of_a_shipped_recipe_is_looked_for():
    pytest.importorskip("open_clip")
    found = told("gensynth", editor="nobody/editor", embedder="nobody/seer", nsfw_model="nobody/judge")
    steps = [("edit", "nobody/editor"), ("embed", "nobody/seer"), ("flag", "nobody/judge")]
    assert len(found) == len(steps)
    for text, (step, model) in zip(found, steps, strict=True):
        assert text.startswith(f"step {step} will fail: no weights of '{model}")


def test_what_a_recipe_trains_is_not_missing(tmp_path):
    (only,) = told("sae_topics", checkpoint=str(tmp_path / "sae"), model="nobody/sentences")
    assert only.startswith("step embed will fail")
