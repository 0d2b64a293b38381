"""leakage: what is planted lies in the interval, in both definitions; no bias is near chance; small groups are hidden."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from counterbalance.udfs import attackers


def concepts(labels, tells, seed):
    """A 'tie' for men and a 'scarf' for women with a probability, the other one else, beside what tells nothing."""
    draw = np.random.default_rng(seed)
    rows = []
    for image, own in enumerate(labels):
        rows.append((image, "tie" if (own == "male") == (draw.random() < tells) else "scarf"))
        rows += [(image, str(c)) for c in draw.choice(["dog", "cat", "car"], 2, replace=False)]
    return pa.table({"image_id": pa.array([r[0] for r in rows], pa.int64()), "concept": [r[1] for r in rows]})


def groups(labels):
    return pa.table({"image_id": pa.array(range(len(labels)), pa.int64()), "label": labels})


LABELS = ["male", "male", "female"] * 500


def run(session, labels=LABELS, **given):
    rows = session.audit("leakage", groups=groups(labels), **given).to_arrow().to_pylist()
    return {(r["definition"], r["side"]): r for r in rows}


@pytest.fixture(scope="module")
def planted(session):
    return run(session, data=concepts(LABELS, 0.7, 1), model=concepts(LABELS, 0.9, 2))


@pytest.mark.parametrize(
    ("definition", "side", "true"),
    [
        ("accuracy", "data", 70.0),
        ("accuracy", "model", 90.0),
        ("accuracy", "difference", 20.0),
        ("confidence", "data", 49.0),  # right in 0.7 of cases, each with a probability of 0.7
        ("confidence", "model", 81.0),
        ("confidence", "difference", 32.0),
    ],
)
def test_what_is_planted_lies_in_the_interval(planted, definition, side, true):
    row = planted[definition, side]
    assert row["low"] < true < row["high"]
    assert row["high"] - row["low"] < (30 if side == "difference" else 20)
    assert row["low"] < row["value"] < row["high"]
    assert (row["n"], row["n_test"], row["seeds"], row["note"], row["suppressed"]) == (1000, 200, 5, None, False)


def test_values_are_those_of_the_runs(session, planted):
    """Wang: 0.5 + |accuracy - 0.5|; Hirota: mean of p(predicted) where right; differences cut by cut."""
    runs = {}
    for side, tells, seed in (("data", 0.7, 1), ("model", 0.9, 2)):
        rows = concepts(LABELS, tells, seed).to_pylist()
        sets = [sorted(r["concept"] for r in rows[i : i + 3]) for i in range(0, len(rows), 3)]
        given = [pa.array([list(range(len(LABELS)))]), pa.array([sets]), pa.array([LABELS])]
        runs[side] = attackers.attack_sets(*given).to_pylist()[0]
    wang = {s: [100 * (0.5 + abs(r["accuracy"] - 0.5)) for r in own] for s, own in runs.items()}
    hirota = {s: [100 * r["confidence"] for r in own] for s, own in runs.items()}
    for definition, values in (("accuracy", wang), ("confidence", hirota)):
        values["difference"] = np.subtract(values["model"], values["data"])
        for side, own in values.items():
            row = planted[definition, side]
            assert row["value"] == pytest.approx(np.mean(own), rel=1e-9)
            common = 0.5 if definition == "accuracy" and side != "difference" else 1  # more than 200 / 800
            error = np.sqrt(np.var(own, ddof=1) * (1 / 5 + common))
            assert row["high"] - row["value"] == pytest.approx(2.7764451051977987 * error, rel=1e-9)


def test_no_bias_is_near_chance(session):
    rows = run(session, data=concepts(LABELS, 0.5, 3), seeds=8)
    assert set(rows) == {("accuracy", "data"), ("confidence", "data")}
    assert 50 <= rows["accuracy", "data"]["value"] < 56
    assert 22 < rows["confidence", "data"]["value"] < 32


def test_words_that_tell_by_themselves_are_left_out(session):
    labels = ["male", "female"] * 60
    rows = pa.table({"image_id": [i for i in range(120) for _ in "ab"], "concept": ["Man", "dog", "woman", "dog"] * 60})
    assert run(session, labels, data=rows)["accuracy", "data"]["value"] < 65
    nothing = pa.table({"term": ["x"]})
    assert run(session, labels, data=rows, words=nothing)["accuracy", "data"]["value"] == 100


def test_only_images_of_both_sides_count(session):
    labels = ["male", "female"] * 100
    model = concepts(labels[:120], 0.9, 4)
    rows = run(session, labels, data=concepts(labels, 0.7, 4), model=model)
    assert {r["n"] for r in rows.values()} == {120}


def test_small_groups_are_hidden(session):
    labels = ["male"] * 100 + ["female"] * 9
    rows = run(session, labels, data=concepts(labels, 1.0, 5), model=concepts(labels, 1.0, 6))
    assert len(rows) == 6
    measures = ("note", "value", "low", "n", "n_test", "n_label", "n_against", "seeds")
    assert {r[c] for r in rows.values() for c in measures} == {None}
    assert {(r["suppressed"], r["reason"]) for r in rows.values()} == {(True, "small")}
    labels = ["male"] * 100 + ["female"] * 20 + ["rare"] * 3
    rows = run(session, labels, data=concepts(labels, 1.0, 5))  # female, less all others, would give rare away
    assert {(r["reason"], *(r[c] for c in measures)) for r in rows.values()} == {("complementary", *[None] * 8)}


def test_a_single_label(session):
    rows = run(session, ["male"] * 50, data=concepts(["male"] * 50, 1.0, 5), min_count=0)
    assert {(r["suppressed"], r["note"], r["value"]) for r in rows.values()} == {(False, "only one label: male", None)}
    rows = run(session, ["male"] * 50, data=concepts(["male"] * 50, 1, 5))
    assert {(r["suppressed"], r["n_label"], r["n_against"]) for r in rows.values()} == {(False, 0, 50)}


def test_other_labels_and_unclear_ones(session):
    labels = ["young", "old", "unclear", "mixed"] * 40
    told = concepts(["male" if x == "young" else "female" for x in labels], 1.0, 7)
    rows = run(session, labels, data=told, label="old", against="young")
    assert (rows["accuracy", "data"]["value"], rows["accuracy", "data"]["n"]) == (100, 80)


def test_shares_end_at_0_and_100_and_differences_do_not(session):
    """Two cuts: 12.7 standard errors. An image with both labels does not count."""
    told = {"data": concepts(LABELS[:120], 0.75, 8), "model": concepts(LABELS[:120], 0.9, 9)}
    both = pa.table({"image_id": [0], "label": ["female"]})
    labelled = pa.concat_tables([groups(LABELS[:120]), both])
    rows = session.audit("leakage", groups=labelled, **told, seeds=2).to_arrow().to_pylist()
    found = {(r["definition"], r["side"]): r for r in rows}
    assert {r["n"] for r in rows} == {80}
    assert found["accuracy", "model"]["high"] == 100
    row = found["accuracy", "difference"]
    assert row["high"] - row["value"] == pytest.approx(row["value"] - row["low"])
    assert row["high"] > 100


def test_edits_of_one_image_are_on_one_side_of_a_cut(session):
    """What two edits of an image share tells their label, which a classifier that has seen the one knows of the other."""
    source = np.repeat(np.arange(150), 4)
    labels = np.where(np.random.default_rng(8).permutation(150) % 2, "male", "female")[source].tolist()
    own = pa.table({"image_id": np.arange(600), "concept": [f"thing {s}" for s in source]})
    made_of = pa.table({"image_id": np.arange(600), "source_id": source})
    seen = run(session, labels, data=own)["accuracy", "data"]
    assert seen["value"] > 90
    apart = run(session, labels, data=own, sources=made_of)["accuracy", "data"]
    assert (apart["n_label"], apart["n_against"]) == (seen["n_label"], seen["n_against"])
    assert apart["value"] < 70
    some = run(session, labels, data=own, sources=made_of.slice(0, 40))["accuracy", "data"]
    assert some["n"] > 500  # the others go by their own id
