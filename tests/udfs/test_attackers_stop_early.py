"""Networks stop where a part of the training side that they do not learn from says so, and the best epoch counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from counterbalance.udfs import attackers as functions
from counterbalance.udfs.attack_splits import split

pytest.importorskip("torch")
from counterbalance.udfs.models import attackers


@pytest.fixture
def epochs(monkeypatch):
    """How often all of the training side was learned from."""
    made = []
    learn = attackers.descend

    def counted(*given):
        made.append(1)
        return learn(*given)

    monkeypatch.setattr(attackers, "descend", counted)
    return made


def given(n, noise):
    draw = np.random.default_rng(1)
    label = draw.permutation(["f", "m"] * (n // 2))
    sets = [[w for w in "abcdefgh" if draw.random() < (0.5 + noise * (w == "a") * (own == "f"))] for own in label]
    return pa.array([list(range(n))]), pa.array([sets]), pa.array([label.tolist()])


def test_noise_is_learned_for_a_few_epochs(epochs):
    runs = functions.attack_sets(*given(600, 0.0), attacker="mlp", seeds=1, epochs=10_000, learning_rate=0.001)
    assert runs.to_pylist()[0][0]["n_train"] > 400
    assert len(epochs) < 60


def test_what_can_be_told_is_told(epochs):
    (run,) = functions.attack_sets(*given(600, 0.5), attacker="mlp", seeds=1, learning_rate=0.001).to_pylist()[0]
    assert 0.65 < run["accuracy"] < 0.85  # 0.75 follows from "a"
    assert len(epochs) < 100


def test_few_rows_are_all_learned_from(epochs):
    functions.attack_sets(*given(60, 0.5), attacker="mlp", seeds=1, epochs=30)
    assert len(epochs) == 30


def test_rows_to_check_by_are_of_other_images():
    images = np.arange(1000) // 4
    cut = split(images, images % 3 == 0, seed=0, share=0.2)
    assert set(cut.check.tolist()) <= set(cut.train.tolist())
    learned = np.setdiff1d(cut.train, cut.check)
    assert not set(images[learned].tolist()) & set(images[cut.check].tolist())
    assert 0.05 < len(cut.check) / len(cut.train) < 0.15
