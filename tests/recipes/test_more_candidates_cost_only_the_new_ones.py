"""Asking a recipe for more edits or guidances adds rows: those that are there keep key, seed and what was computed."""

from __future__ import annotations

import importlib.resources
import re

import pytest

from counterbalance.__main__ import main
from counterbalance.engine.recipes.model import StepError

BY_HAND = """
-- step by_hand: what the steps before would have made
CREATE MATERIALIZED VIEW IF NOT EXISTS inpaint_sources WITH (key = 'image_id') AS
SELECT image_id, sha256, 1.0 AS x, 1.0 AS y, 1.0 AS width, 1.0 AS height, ['dog'] AS objects, encode('m') AS mask FROM images;
CREATE MATERIALIZED VIEW IF NOT EXISTS inpaint_prompts WITH (key = 'image_id, label') AS
SELECT image_id, 'male' AS label, 'a man' AS text, 'a man' AS prompt FROM images;
REFRESH inpaint_sources, inpaint_prompts;

"""
EDIT = """-- step edit: something that tells how often it is computed
ALTER TABLE inpaint_requests ADD COLUMN IF NOT EXISTS edited AS (concat(prompt, ' ', seed));
REFRESH inpaint_requests.edited;
"""


@pytest.fixture
def recipe(disk_lake, build, tmp_path):
    """A lake with two sources, and inpaint's step of requests with edits that cost nothing."""
    disk_lake.ingest({"images": build.images(image_id=[1, 2], key=["1", "2"])})
    text = importlib.resources.files("counterbalance.queries").joinpath("recipes/inpaint.sql").read_text("utf-8")
    body = BY_HAND + text[text.index("-- step requests") : text.index("-- step skipped")] + EDIT
    front, *parameters = text[: text.index("---*/")].split("\n[params.")
    used = [f"\n[params.{p}" for p in parameters if "$" + p.partition("]")[0] in body]
    file = tmp_path / "requests.sql"
    head = re.sub(r"^presets = .*\n", "", front + "".join(used), flags=re.MULTILINE)
    file.write_text(f"{head}---*/\n{body}", "utf-8")
    return str(file)


def rows(lake):
    found = lake.sql("SELECT edit_id, image_id, guidance, seed, edited FROM inpaint_requests").fetchall()
    assert len({r[:1] for r in found}) == len({r[1:4] for r in found}) == len(found)
    assert all(r[4] == f"a man {r[3]}" for r in found)
    return set(found)


def test_what_is_there_is_not_painted_again(disk_lake, recipe, capsys):
    run = ["recipe", disk_lake.uri, recipe, "--progress", "never", "--executor", "inline"]
    few = ["--param", "edits=10"]
    assert main([*run, *few]) == 0
    first = rows(disk_lake)
    assert len(first) == 2 * 3 * 10
    assert main([*run, "--param", "edits=20"]) != 0, "nothing is thrown away by a parameter that was forgotten"
    assert "--replace" in capsys.readouterr().err
    assert main([*run, "--param", "edits=20", "--replace", "--dry-run"]) == 0
    assert "replace inpaint_requests" in capsys.readouterr().out
    assert rows(disk_lake) == first
    assert main([*run, "--param", "edits=20", "--replace"]) == 0
    assert (
        "inpaint_requests: 60 added, 0 changed, 0 removed; inpaint_requests.edited: 60 rows" in capsys.readouterr().err
    )
    assert rows(disk_lake) > first
    with pytest.raises(StepError, match="inpaint_requests is there with another query"):
        disk_lake.recipe(recipe, edits=10)
    more = {"edits": 20, "guidances": [20.25, 7.5, 9.5, 15]}
    done = disk_lake.recipe(recipe, more, replace=True, refresh={"executor": "inline"})
    assert {s.step: s.rows for s in done.steps} == {"by_hand": None, "requests": 40, "edit": None}
    assert len(rows(disk_lake)) == 2 * 4 * 20
    again = disk_lake.recipe(recipe, more, replace=True, refresh={"executor": "inline"})
    assert {s.state for s in again.steps} == {"unchanged"}
    disk_lake.recipe(recipe, edits=10, replace=True, refresh={"executor": "inline"})
    assert rows(disk_lake) == first


@pytest.mark.thorough
def test_fewer_guidances_of_another_spelling_are_the_same(disk_lake, recipe):
    disk_lake.recipe(recipe, {"edits": 1, "guidances": [7.5, 9.50, 7.5]}, refresh={"executor": "inline"})
    first = rows(disk_lake)
    assert sorted(r[1:3] for r in first) == [(i, g) for i in (1, 2) for g in (7.5, 9.5)]
    disk_lake.recipe(recipe, {"edits": 1, "guidances": [9.5, 7.5]}, replace=True, refresh={"executor": "inline"})
    assert rows(disk_lake) == first
