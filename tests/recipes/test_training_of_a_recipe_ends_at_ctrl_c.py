"""Ctrl-C while a step of a recipe trains autoencoders ends the recipe with 130, and the next run finds nothing in its way."""

from __future__ import annotations

import sys

import pytest
from terminal import Terminal

import counterbalance as cb

pytest.importorskip("torch")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")]

RECIPE = """\
/*--- toml
answers = "Trains."
[params.steps]
type = "integer"
default = {steps}
---*/
-- step train: two autoencoders
CALL train_sae(
  vectors := (SELECT CAST([sin(image_id), cos(image_id), sin(3 * image_id), 1] AS FLOAT[4]) AS embedding FROM images),
  output := 'sae', kinds := ['top_k'], lr := [0.01], expansion := [2], k := [2], seeds := {seeds}, steps := $steps, batch_size := 16
);
"""


@pytest.fixture
def folder(build, tmp_path):
    ids = list(range(200))
    cb.connect(tmp_path / "own.lake").ingest({"images": build.images(image_id=ids, key=[str(i) for i in ids])})
    return tmp_path


@pytest.fixture
def begin(folder):
    """``begin(steps, seeds)``: the recipe on a terminal; killed in the end if need be."""
    started = []

    def start(steps, seeds):
        (folder / "train.sql").write_text(RECIPE.replace("{steps}", str(steps)).replace("{seeds}", str(seeds)))
        started.append(Terminal(["recipe", "own.lake", "train.sql"], folder))
        return started[-1]

    yield start
    for terminal in started:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()


def test_a_training_that_would_last_for_years(begin, folder):
    terminal = begin(1_000_000_000, [0, 1])
    terminal.until("autoencoder 1 of 2", 500)
    terminal.send("\x03")
    assert terminal.end(500) == 130, terminal.plain
    assert "Traceback" not in terminal.plain
    assert not (folder / "sae").exists()
    done = begin(10, [0, 1])
    assert done.end(500) == 0, done.plain
    assert len(list((folder / "sae").glob("*.safetensors"))) == 2
