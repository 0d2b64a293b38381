"""What learns inside of a query tells how far it is: cuts of a regression, epochs of a network."""

from __future__ import annotations

import pyarrow as pa

from counterbalance.engine.progress import heard_by
from counterbalance.udfs.attackers import attack_sets

LABELS = ["a", "b"] * 40


def told(attacker, **more):
    heard = []
    with heard_by(heard.append):
        attack_sets(
            pa.array([list(range(80))]), pa.array([[[label, "x"] for label in LABELS]]), pa.array([LABELS]),
            attacker=attacker, seeds=2, **more,
        )  # fmt: skip
    return [(p.stage, p.done, p.total, p.unit, p.rows) for p in heard]


def test_cuts():
    assert told("logistic") == [("attack_sets", 0, 2, "cuts", 0), ("attack_sets", 1, 2, "cuts", 1)]


def test_epochs():
    stages = [(stage, done, total, unit) for stage, done, total, unit, _ in told("mlp", epochs=2)]
    assert stages == [("mlp", epoch, 4, "epochs") for epoch in range(4)]
