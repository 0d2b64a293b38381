"""spurious_probe: texts and vectors that tell a group are found; balanced ones are not; pairs of one source stay together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

IMAGES = 600
LABELS = ["male", "male", "female"] * (IMAGES // 3)
WORDS = "cat dog tree car park ball red blue green table".split()  # noqa: SIM905


def groups(labels=LABELS):
    return pa.table({"image_id": pa.array(range(len(labels)), pa.int64()), "label": labels})


def texts(tells, seed, labels=LABELS):
    draw = np.random.default_rng(seed)
    told = [("tie", "scarf")[int((own == "male") != (draw.random() < tells))] for own in labels]
    said = [
        f"a {'man' if own == 'male' else 'lady'} {t} {draw.choice(WORDS)}" for own, t in zip(labels, told, strict=True)
    ]
    return pa.table({"image_id": pa.array(range(len(labels)), pa.int64()), "text": said})


def vectors(shift, seed, labels=LABELS):
    found = np.random.default_rng(seed).normal(size=(len(labels), 6)).astype(np.float32)
    found[:, 1] += shift * (np.array(labels) == "male")
    kind = pa.list_(pa.float32(), 6)
    return pa.table({"image_id": pa.array(range(len(labels)), pa.int64()), "embedding": pa.array(found.tolist(), kind)})


def run(session, **given):
    rows = session.audit("spurious_probe", **{"groups": groups(), **given}).to_arrow().to_pylist()
    return {(r["features"], r["metric"]): r for r in rows}


def test_what_is_planted_lies_in_the_interval(session):
    rows = run(session, texts=texts(0.8, 1), vectors=vectors(1.0, 2))
    assert rows["texts", "auc"]["low"] < 0.8 < rows["texts", "auc"]["high"]
    assert rows["texts", "accuracy"]["low"] < 0.8 < rows["texts", "accuracy"]["high"]
    true = norm.cdf(1 / 2**0.5)
    assert rows["vectors", "auc"]["low"] < true < rows["vectors", "auc"]["high"]
    assert {(r["n"], r["n_test"], r["note"], r["suppressed"]) for r in rows.values()} == {(400, 80, None, False)}


def test_no_bias_is_near_chance(session):
    rows = run(session, texts=texts(0.5, 3), vectors=vectors(0.0, 4))
    for row in rows.values():
        assert row["value"] == pytest.approx(0.5, abs=0.09)


def test_without_vectors(session):
    rows = run(session, texts=texts(0.8, 1))
    assert {features for features, _ in rows} == {"texts"}


def test_words_of_the_label_are_masked(session):
    given = texts(0.5, 5)
    assert run(session, texts=given)["texts", "auc"]["value"] < 0.6
    assert run(session, texts=given, words=pa.table({"term": ["x"]}))["texts", "auc"]["value"] == 1.0


def test_pairs_of_one_source_stay_together(session):
    """A contrast set: two edits of every source, alike but for the label, which the vectors hold nothing of."""
    sources = np.random.default_rng(6).normal(size=(200, 6)).astype(np.float32)
    rows = pa.table({"image_id": list(range(400)), "embedding": pa.array(np.repeat(sources, 2, axis=0).tolist())})
    pairs = pa.table({"image_id": list(range(400)), "source_id": [i // 2 for i in range(400)]})
    labels = groups(["male", "female"] * 200)
    given = {"texts": texts(0.5, 1).slice(0, 0), "vectors": rows, "groups": labels, "seeds": 3}
    row = run(session, **given, sources=pairs)["vectors", "auc"]
    assert (row["value"], row["low"], row["high"]) == (0.5, 0.5, 0.5)
    assert run(session, **given)["vectors", "auc"]["value"] != 0.5  # apart, a twin tells what its other half is not


def test_small_groups_are_hidden(session):
    labels = ["male"] * 60 + ["female"] * 9
    given = {"texts": texts(1.0, 7, labels), "vectors": vectors(3.0, 8, labels), "groups": groups(labels)}
    rows = run(session, **given)
    measures = ("value", "low", "n", "n_test", "n_label", "n_against", "note")
    assert {(r["reason"], *(r[c] for c in measures)) for r in rows.values()} == {("small", *[None] * 7)}
    labels = ["male"] * 60 + ["female"] * 20 + ["rare"] * 3
    given = {"texts": texts(1.0, 7, labels), "groups": groups(labels)}
    rows = run(session, **given)  # female, less all others, would give rare away
    assert {(r["reason"], *(r[c] for c in measures)) for r in rows.values()} == {("complementary", *[None] * 7)}
    given = {"texts": texts(1.0, 7, labels), "vectors": vectors(3.0, 8, labels)}
    rows = run(session, **{**given, "groups": groups(["male"] * 69)}, min_count=0)
    assert {(r["suppressed"], r["note"], r["value"]) for r in rows.values()} == {(False, "only one label: male", None)}


def test_a_generated_column_as_vectors(empty_lake, build, row_function):
    row_function("facing", lambda text: [float("tie" in text), 1.0], returns=pa.list_(pa.float32(), 2))
    rows = texts(1.0, 9)
    captions = build.captions(
        caption_id=list(range(IMAGES)), image_id=rows["image_id"].to_pylist(), text=rows["text"].to_pylist()
    )
    empty_lake.ingest({"images": build.images(image_id=list(range(IMAGES))), "captions": captions})
    empty_lake.add_column("captions", "direction", "facing(text)")
    empty_lake.refresh()
    given = "(SELECT image_id, direction AS embedding FROM captions)"
    found = empty_lake.audit("spurious_probe", vectors=given, seeds=2).to_arrow().to_pylist()
    assert [r["value"] for r in found if r["features"] == "vectors"] == [1.0, 1.0]


def test_rows_are_those_of_their_features_and_their_metric(session):
    """Texts tell nothing; vectors lie 2 apart: AUC = Phi(sqrt(2)), accuracy = Phi(1). The second of two cuts is known from the first."""
    given = {"texts": texts(0.5, 3), "vectors": vectors(2.0, 4)}
    unclear = pa.table({"image_id": [0, 2], "label": ["female", "male"]})  # two images with both labels do not count
    given["groups"] = pa.concat_tables([groups(), unclear])
    one, two = (run(session, **given, seeds=seeds) for seeds in (1, 2))
    assert two["vectors", "auc"]["value"] == pytest.approx(norm.cdf(2**0.5), abs=0.03)
    assert two["vectors", "accuracy"]["value"] == pytest.approx(norm.cdf(1.0), abs=0.03)
    assert two["texts", "auc"]["value"] == pytest.approx(0.5, abs=0.15)
    assert {(r["n"], r["n_test"]) for r in two.values()} == {(398, 80)}
    for key, row in two.items():
        first = one[key]["value"]
        variance = np.var([first, 2 * row["value"] - first], ddof=1)
        half = 12.706204736174698 * np.sqrt(variance * (1 / 2 + 0.5))
        wanted = (max(row["value"] - half, 0), min(row["value"] + half, 1))
        assert (row["low"], row["high"]) == pytest.approx(wanted, rel=1e-9)


def test_the_control_is_of_pictures_as_they_are(session):
    """Of vectors as they are the label can be told, of masked ones not; both over the same cuts."""
    given = {"texts": texts(0.5, 1).slice(0, 0), "seeds": 3}
    rows = run(session, **given, vectors=vectors(0.0, 2), control=vectors(2.0, 4))
    assert rows["vectors", "auc"]["value"] == pytest.approx(0.5, abs=0.1)
    assert rows["control", "auc"]["value"] == pytest.approx(norm.cdf(2**0.5), abs=0.03)
    same = run(session, **given, vectors=vectors(2.0, 4), control=vectors(2.0, 4))
    for metric in ("auc", "accuracy"):
        one, other = ({**same[f, metric], "features": None} for f in ("vectors", "control"))
        assert one == other
