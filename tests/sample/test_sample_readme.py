"""The sample explains itself: README.txt and planted.json say the same, and the commands in README.txt work."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from counterbalance.sample import Planted, generate

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


@pytest.fixture(scope="module")
def planted(folder: Path) -> Planted:
    return generate(folder, images=90, seed=1)


def test_planted_json_is_what_generate_returns(folder: Path, planted: Planted) -> None:
    assert json.loads((folder / "planted.json").read_text()) == planted.to_dict()
    assert len({q.name for q in planted.quantities}) == len(planted.quantities) >= 20


def test_the_readme_names_every_quantity_with_both_values(folder: Path, planted: Planted) -> None:
    text = (folder / "README.txt").read_text()
    for q in planted.quantities:
        assert f"\n{q.name}\n" in text
        assert f"population {q.population:.4f}" in text
        assert q.sample is None or f"here {q.sample:.4f}" in text


@pytest.mark.thorough
def test_the_commands_of_the_readme_run(folder: Path, planted: Planted) -> None:
    lines = [line.strip() for line in (folder / "README.txt").read_text().splitlines()]
    commands = [line for line in lines if line.startswith("counterbalance ingest")]
    assert len(commands) == 3
    audits = [line for line in lines if line.startswith("counterbalance audit")]
    assert len(audits) == len(planted.quantities)
    for line in [*commands, next(a for a in audits if "image_labels" in a)]:
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(line)], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
