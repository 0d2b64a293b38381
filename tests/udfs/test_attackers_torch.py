"""The papers' networks as attackers: they find what is planted, give the same bits again and on any number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
import tiny_bert

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from counterbalance.engine.errors import NotFoundError, RequestError  # noqa: E402
from counterbalance.udfs import attackers  # noqa: E402
from counterbalance.udfs.models.weights import digest  # noqa: E402

WORDS = "cat dog tree car park ball red blue green table".split()  # noqa: SIM905
COUNT = 160
LABELS = ["male", "female"] * (COUNT // 2)
QUICK = {"seeds": 1, "learning_rate": 5e-3}


def texts(tells, seed=0):
    draw = np.random.default_rng(seed)
    told = [("tie", "scarf")[int((own == "male") != (draw.random() < tells))] for own in LABELS]
    return [
        f"{' '.join(draw.choice(WORDS, draw.integers(1, 6)))} {t} {'man' if own == 'male' else 'woman'}"
        for own, t in zip(LABELS, told, strict=True)
    ]


def lists(rows, *more):
    return [pa.array([list(range(COUNT))]), pa.array([rows]), pa.array([LABELS]), *more]


def attack(rows, attacker, vocabulary=None, **settings):
    known = pa.nulls(1) if vocabulary is None else pa.array([vocabulary])
    given = lists(rows, pa.array([["man", "woman"]]), known)
    return attackers.attack_texts(*given, attacker=attacker, **{**QUICK, **settings}).to_pylist()[0]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """Knows the words of these texts."""
    return tiny_bert.save(tmp_path_factory.mktemp("bert"), "tie", "scarf", "man", "woman", *WORDS)


@pytest.mark.parametrize(("attacker", "epochs"), [("mlp", 4), ("lstm", 6)])
def test_networks_over_texts(attacker, epochs):
    assert attack(texts(1.0), attacker, epochs=epochs)[0]["accuracy"] > 0.9
    fair = [attack(texts(0.5, s), attacker, epochs=2)[0]["accuracy"] for s in range(3)]
    assert np.mean(fair) == pytest.approx(0.5, abs=0.2)


def test_bert(bert):
    run = attack(texts(1.0), "bert", model=bert, epochs=8)[0]
    assert run["accuracy"] > 0.9
    assert (run["n_train"], run["n_test"]) == (128, 32)
    # words outside of the vocabulary are unknown to it: nothing is left that tells
    blind = attack(texts(1.0), "bert", vocabulary=WORDS, model=bert, epochs=3)[0]
    assert blind["accuracy"] < 0.8


def test_sets_and_vectors():
    draw = np.random.default_rng(1)
    sets = [[str(draw.choice(WORDS)), "tie" if own == "male" else "scarf"] for own in LABELS]
    vectors = [[float(own == "male"), float(draw.normal())] for own in LABELS]
    for call, rows in ((attackers.attack_sets, sets), (attackers.attack_vectors, vectors)):
        run = call(*lists(rows), attacker="mlp", epochs=4, **QUICK).to_pylist()[0][0]
        assert run["accuracy"] == 1.0
        assert 0.5 < run["confidence"] <= 1.0


def test_two_that_learn_at_once_give_the_same_bits():
    """DuckDB calls a function of several rows from several threads."""
    rows = [texts(0.8, seed) for seed in range(2)]
    alone = [attack(own, "lstm", epochs=3) for own in rows]
    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(lambda own: attack(own, "lstm", epochs=3), rows)] == alone


@pytest.mark.parametrize("attacker", ["mlp", "lstm", "bert"])
def test_same_bits_on_any_number_of_threads(attacker, bert):
    before = torch.get_num_threads()
    state = torch.random.get_rng_state()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            torch.rand(threads)
            found.append(attack(texts(0.8), attacker, model=bert, epochs=1, seeds=2))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
        torch.random.set_rng_state(state)
    assert found[0] == found[1]
    assert found[0][0]["auc"] != found[0][1]["auc"]


def test_the_paper_sizes():
    """LSTM: 2 layers of 256 both ways over 100 (code of Hirota et al. 2022); perceptron: 300 wide (Wang et al. 2019)."""
    made = []
    seen = torch.nn.Module.register_parameter

    def note(self, name, value):
        made.append((type(self).__name__, tuple(value.shape)) if value is not None else None)
        return seen(self, name, value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.Module, "register_parameter", note)
        attack(texts(1.0)[:COUNT], "lstm", epochs=1)
        attackers.attack_vectors(*lists([[1.0, 2.0]] * COUNT), attacker="mlp", epochs=1, **QUICK)
    assert {("LSTM", (1024, 100)), ("LSTM", (1024, 512)), ("Linear", (1, 512))} <= set(made)
    assert [s for s in made if s and s[0] == "Linear" and len(s[1]) == 2][-4:] == [
        ("Linear", (300, 2)),
        ("Linear", (300, 300)),
        ("Linear", (300, 300)),
        ("Linear", (2, 300)),
    ]


def test_weights_that_are_not_there(tmp_path):
    with pytest.raises(NotFoundError) as caught:
        attack(texts(1.0), "bert", model="nobody/nothing-at-all")
    assert caught.value.code == "E1102"
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(RequestError) as broken:
        attack(texts(1.0), "bert", model=str(tmp_path))
    assert broken.value.code == "E3546"


def test_the_checkpoint_is_part_of_the_fingerprint(bert):
    from pathlib import Path

    from counterbalance.engine.functions import function

    told = function("attack_texts").digest({"attacker": "bert", "model": bert})
    assert told == digest(Path(bert)) != ""
    assert function("attack_texts").digest({"attacker": "lstm", "model": "nobody/nothing"}) == ""
