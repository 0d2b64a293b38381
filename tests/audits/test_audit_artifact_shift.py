"""artifact_shift: edits that can be told are told, others are not; shares of edits by label; small groups are hidden."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

SOURCES = 300


def scene(shift, seed=0, labels=("male", "female"), only=None):
    """Vectors of sources, and an edit of each for every label: near its source, moved by ``shift`` for label male."""
    draw = np.random.default_rng(seed)
    real = draw.normal(size=(SOURCES, 4)).astype(np.float32)
    rows = []
    for label in labels:
        for i in range(SOURCES if label == "male" or only is None else only):
            edit = real[i] + draw.normal(size=4) * 0.1
            edit[0] += shift * (label == "male")
            rows.append((i, label, edit.astype(np.float32).tolist()))
    kinds = [pa.int64(), pa.string(), pa.list_(pa.float32(), 4)]
    columns = zip(("image_id", "label", "embedding"), zip(*rows, strict=True), kinds, strict=True)
    edited = pa.table({n: pa.array(v, k) for n, v, k in columns})
    ids, vectors = list(range(SOURCES)), pa.array(real.tolist(), kinds[2])
    groups = pa.table({"image_id": ids, "label": ["male"] * 200 + ["female"] * 100})
    return {"edited": edited, "originals": pa.table({"image_id": ids, "embedding": vectors}), "groups": groups}


def run(session, **given):
    rows = session.audit("artifact_shift", **given).to_arrow().to_pylist()
    return {(r["metric"], r["label"]): r for r in rows}


def test_what_is_planted_is_found(session):
    """Edits for male lie sqrt(2) away in a direction where both have standard deviation 1: AUC = Phi(1)."""
    rows = run(session, **scene(2**0.5))
    row = rows["auc", "male"]
    assert row["low"] < norm.cdf(1.0) < row["high"]
    assert 0.6 < row["value"] < 0.95
    assert (row["n"], row["n_test"], row["suppressed"]) == (2 * SOURCES, 120, False)
    assert rows["auc", "female"]["low"] < 0.5 < rows["auc", "female"]["high"]
    assert 0.5 < rows["auc", "all"]["value"] < row["value"]
    assert rows["accuracy", "all"]["n"] == 2 * SOURCES  # as many edits as there are real images


def test_edits_like_their_sources_cannot_be_told(session):
    rows = run(session, **scene(0.0, seed=1))
    for label in ("all", "male", "female"):
        assert rows["auc", label]["value"] == pytest.approx(0.5, abs=0.1)
        assert rows["accuracy", label]["value"] == pytest.approx(0.5, abs=0.1)


def test_shares_of_edits(session):
    rows = run(session, **scene(0.0, only=100))
    for label, count, n in (("male", SOURCES, SOURCES + 200), ("female", 100, 200)):
        row = rows["edited_share", label]
        assert (row["count"], row["n"], row["value"]) == (count, n, count / n)
        assert (row["low"], row["high"]) == pytest.approx(proportion_confint(count, n, method="wilson"), rel=1e-9)


def test_small_groups_are_hidden_and_all_with_them(session):
    rows = run(session, **scene(1.0, only=9))
    hidden = {key for key, r in rows.items() if r["suppressed"]}
    assert hidden == {(m, label) for m in ("auc", "accuracy") for label in ("all", "female")} | {
        ("edited_share", "female"),
        ("edited_share", "male"),
    }
    measures = ("count", "value", "low", "high", "n", "n_test", "images", "n_real", "note")
    assert {rows[key][c] for key in hidden for c in measures} == {None}
    assert {key: rows[key]["reason"] for key in hidden} == {
        key: "small" if key[1] == "female" else "complementary" for key in hidden
    }
    assert rows["auc", "male"]["value"] > 0.5


def test_a_label_of_three_real_images_does_not_follow(session):
    given = scene(0.0)
    labels = ["female"] * 3 + ["male"] * 197 + ["unclear"] * 100
    rows = run(session, **{**given, "groups": pa.table({"image_id": list(range(SOURCES)), "label": labels})})
    assert {label: r["reason"] for (m, label), r in rows.items() if m == "edited_share"} == {
        "female": "small",
        "male": "complementary",
    }
    assert {r[c] for (m, _), r in rows.items() if m == "edited_share" for c in ("count", "value", "n", "n_real")} == {
        None
    }


def test_edits_without_a_source_and_sources_without_an_edit_do_not_count(session):
    given = scene(1.0, labels=("male",))
    given["edited"] = pa.concat_tables([given["edited"].slice(0, 150), given["edited"].slice(150, 50)])
    given["originals"] = given["originals"].slice(20)
    assert run(session, **given)["auc", "all"]["n"] == 2 * 180


def test_nothing_to_tell(session):
    given = scene(1.0)
    assert run(session, **{**given, "edited": given["edited"].slice(0, 0)}) == {}
    rows = run(session, **{**given, "edited": given["edited"].slice(0, 3)}, min_count=0)
    assert (rows["auc", "male"]["note"], rows["auc", "male"]["value"]) == ("fewer than 4 images of edited", None)


def test_edits_without_a_label_or_a_vector_do_not_count(session):
    """Of one label only; the second of two cuts is known from the first."""
    given = scene(0.5, labels=("male",))
    given["groups"] = pa.table({"image_id": list(range(SOURCES)), "label": ["male"] * SOURCES})
    more = {"image_id": [0, 1, 2], "label": [None, "male", "else"], "embedding": [[9.0] * 4, None, None]}
    given["edited"] = pa.concat_tables([given["edited"], pa.table(more, schema=given["edited"].schema)])
    one, two = (run(session, **given, seeds=seeds) for seeds in (1, 2))
    assert set(two) == {(m, label) for m in ("auc", "accuracy") for label in ("all", "male")} | {
        ("edited_share", "male")
    }
    assert (two["edited_share", "male"]["count"], two["edited_share", "male"]["n"]) == (SOURCES, 2 * SOURCES)
    for key in set(two) - {("edited_share", "male")}:
        row, first = two[key], one[key]["value"]
        assert (row["n"], row["n_test"]) == (2 * SOURCES, 120)
        variance = np.var([first, 2 * row["value"] - first], ddof=1)
        half = 12.706204736174698 * np.sqrt(variance * (1 / 2 + 0.5))
        wanted = (max(row["value"] - half, 0), min(row["value"] + half, 1))
        assert (row["low"], row["high"]) == pytest.approx(wanted, rel=1e-9)
