"""association, casc and similarity_bias: as computed from every cosine, suppression, labels that take no part."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from counterbalance.engine.errors import CounterbalanceError, SensitiveError
from counterbalance.engine.store import tables


def vectors(matrix):
    flat = pa.array(np.asarray(matrix, np.float32).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, np.shape(matrix)[1])


def images(matrix):
    return pa.table({"image_id": np.arange(len(matrix)), "embedding": vectors(matrix)})


def categories(matrix):
    return pa.table({"category": [f"c{i:03}" for i in range(len(matrix))], "embedding": vectors(matrix)})


def groups(labels):
    return pa.table({"image_id": np.arange(len(labels)), "label": list(labels)})


def cosines(matrix, others):
    a, b = (np.asarray(m, np.float32).astype(np.float64) for m in (matrix, others))
    return (a / np.linalg.norm(a, axis=1, keepdims=True)) @ (b / np.linalg.norm(b, axis=1, keepdims=True)).T


def example(seed, count, width, names, shift=0.2):
    draw = np.random.default_rng(seed)
    labels = draw.permutation([names[i % len(names)] for i in range(count)])
    common = draw.normal(size=width)
    matrix = common + draw.normal(size=(count, width)) + shift * (labels == names[0])[:, None]
    return matrix, labels, draw.normal(size=(5, width)) + common / 2


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 999), st.integers(40, 90), st.integers(2, 12), st.sampled_from(["group", "global"]))
def test_association_is_that_of_all_cosines(session, effect_ends, seed, count, width, normalizer):
    matrix, labels, others = example(seed, count, width, ["female", "male", "male", "unclear"])
    found = session.audit(
        "association",
        images=images(matrix),
        categories=categories(others),
        groups=groups(labels),
        normalizer=normalizer,
        min_count=5,
    ).to_arrow()
    s = cosines(matrix, others)
    f, m = s[labels == "female"], s[labels == "male"]
    std = np.concatenate([f, m]).std(axis=0, ddof=1) if normalizer == "group" else s.std(ddof=1)
    expected = (f.mean(axis=0) - m.mean(axis=0)) / std
    test = stats.ttest_ind(f, m, equal_var=False)
    error = np.sqrt(f.var(axis=0, ddof=1) / len(f) + m.var(axis=0, ddof=1) / len(m)) / std
    half = stats.t.ppf(0.975, np.floor(test.df)) * error
    np.testing.assert_allclose(found["value"], expected, atol=1e-6)
    low, high = expected - half, expected + half
    if normalizer == "group":
        low, high = np.array([effect_ends(f[:, i], m[:, i]) for i in range(5)]).T
    np.testing.assert_allclose(found["high"], high, atol=1e-3 * error.max())
    np.testing.assert_allclose(found["low"], low, atol=1e-3 * error.max())
    p = 2 * stats.t.sf(abs(test.statistic), np.floor(test.df))
    np.testing.assert_allclose(np.log(found["p"]), np.log(p), rtol=0.01, atol=0.005)
    np.testing.assert_allclose(found["q"], multipletests(found["p"], method="fdr_bh")[1], rtol=1e-9)
    np.testing.assert_allclose(found["mean_label"], f.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(found["std"], np.broadcast_to(std, 5), atol=1e-8)
    assert set(found["n"].to_pylist()) == {len(f) + len(m)}


def test_association_of_many_images(session):
    """More than are summed precisely."""
    matrix, labels, others = example(1, 25_000, 24, ["female", "male"], shift=0.02)
    given_rows = {"images": images(matrix), "categories": categories(others), "groups": groups(labels)}
    found = session.audit("association", **given_rows).to_arrow()
    s = cosines(matrix, others)
    f, m = s[labels == "female"], s[labels == "male"]
    np.testing.assert_allclose(found["value"], (f.mean(axis=0) - m.mean(axis=0)) / s.std(axis=0, ddof=1), atol=1e-6)


def test_by_hand(session):
    """Cosines with the category: 1, 0.8, 0.6 for one label; 0, 0.6, 0.8 for the other."""
    matrix = [[1, 0], [0.8, 0.6], [6, 8], [0, 2], [0.6, -0.8], [4, -3]]
    given_rows = {
        "images": images(matrix),
        "categories": categories([[3, 0]]),
        "groups": groups(["female"] * 3 + ["male"] * 3),
        "min_count": 3,
    }
    row = session.audit("association", **given_rows).to_arrow().to_pylist()[0]
    difference = 0.8 - 1.4 / 3
    std = math.sqrt(sum((c - 3.8 / 6) ** 2 for c in (1, 0.8, 0.6, 0, 0.6, 0.8)) / 5)
    assert row["value"] == pytest.approx(difference / std, abs=1e-6)
    assert (row["n"], row["n_label"], row["n_against"], row["suppressed"]) == (6, 3, 3, False)
    plain = session.audit("similarity_bias", **given_rows).to_arrow().to_pylist()[0]
    assert plain["value"] == pytest.approx(difference, abs=1e-6)
    error = math.sqrt(0.04 / 3 + np.var([0, 0.6, 0.8], ddof=1) / 3)
    parts = np.array([0.04, np.var([0, 0.6, 0.8], ddof=1)]) / 3
    df = parts.sum() ** 2 / (parts**2 / 2).sum()
    assert plain["low"] == pytest.approx(difference - stats.t.ppf(0.975, math.floor(df)) * error, abs=0.001)
    turned = session.audit("similarity_bias", label="male", against="female", **given_rows).to_arrow().to_pylist()[0]
    assert turned["value"] == -plain["value"]


def test_casc_holds_a_label_against_all_other_clear_ones(session, effect_ends):
    matrix, labels, others = example(2, 90, 6, ["a", "b", "c", "unclear"])
    labels[:2] = "tiny"
    found = session.audit(
        "casc", images=images(matrix), categories=categories(others), groups=groups(labels), min_count=5
    ).to_arrow()
    rows = {(r["category"], r["label"]): r for r in found.to_pylist()}
    assert set(rows) == {(f"c{i:03}", label) for i in range(5) for label in ("a", "b", "c", "tiny")}
    hidden = {label for (_, label), r in rows.items() if r["suppressed"]}
    assert hidden >= {"tiny"}
    assert {r["reason"] for (_, label), r in rows.items() if label == "tiny"} == {"small"}
    s = cosines(matrix, others)
    taken = np.isin(labels, sorted({"a", "b", "c"} - hidden))
    for label in {"a", "b", "c"} - hidden:
        own = s[labels == label].mean(axis=0)
        rest = s[taken & (labels != label)].mean(axis=0)
        for i in range(5):
            row = rows[f"c{i:03}", label]
            assert row["value"] == pytest.approx((own - rest)[i] / s[taken].std(axis=0, ddof=1)[i], abs=1e-6)
            assert (row["n"], row["n_label"]) == (int(taken.sum()), int((labels == label).sum()))
            ends = effect_ends(s[labels == label, i], s[taken & (labels != label), i])
            assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-5)
    for label in hidden:
        assert all(
            v is None
            for k, v in rows["c000", label].items()
            if k not in {"category", "label", "suppressed", "reason", "params"}
        )


def test_casc_against_all_other_images(session, effect_ends):
    """Mixed, unclear and unlabelled images are among the others, as in Eq. 21, and have rows of their own."""
    matrix, labels, others = example(2, 120, 6, ["a", "b", "mixed", "unclear"])
    given_rows = {"images": images(matrix), "categories": categories(others), "groups": groups(labels[:90])}
    found = session.audit("casc", **given_rows, others="all").to_arrow()
    rows = {(r["category"], r["label"]): r for r in found.to_pylist()}
    assert {label for _, label in rows} == {"a", "b", "others"}
    s = cosines(matrix, others)
    own_label = np.array([*labels[:90], *["unlabelled"] * 30])
    own_label[~np.isin(own_label, ["a", "b"])] = "others"
    for (category, label), row in rows.items():
        i, own = int(category[1:]), own_label == label
        expected = (s[own, i].mean() - s[~own, i].mean()) / s[:, i].std(ddof=1)
        assert row["value"] == pytest.approx(expected, abs=1e-6)
        assert (row["low"], row["high"]) == pytest.approx(effect_ends(s[own, i], s[~own, i]), abs=1e-5)
        assert (row["n"], row["n_label"], row["n_images"]) == (120, int(own.sum()), 120)
    assert rows == {
        (r["category"], r["label"]): r | {"params": rows[r["category"], r["label"]]["params"]}
        for r in session.audit("casc", **given_rows, preset="paper").to_arrow().to_pylist()
    }


def test_casc_hides_few_other_images(session):
    """Three images without a clear label: their number, and that of the smallest label, which would tell it."""
    matrix, labels, others = example(2, 83, 6, ["a", "b"])
    given_rows = {"images": images(matrix), "categories": categories(others), "groups": groups(labels[:80])}
    found = session.audit("casc", **given_rows, others="all").to_arrow().to_pylist()
    assert {r["label"] for r in found if not r["suppressed"]} < {"a", "b"}
    assert all(r["value"] is r["n_label"] is r["images"] is None for r in found if r["suppressed"])


def test_casc_of_two_labels_is_association(session):
    matrix, labels, others = example(3, 60, 5, ["female", "male"])
    given_rows = {"images": images(matrix), "categories": categories(others), "groups": groups(labels)}
    one = session.audit("association", **given_rows).to_arrow()
    two = [r for r in session.audit("casc", **given_rows).to_arrow().to_pylist() if r["label"] == "female"]
    for name in ("value", "low", "high"):
        np.testing.assert_allclose([r[name] for r in two], one[name], atol=1e-9)


@pytest.mark.parametrize("audit", ["association", "similarity_bias"])
def test_few_images_are_suppressed(session, audit):
    matrix, labels, others = example(4, 30, 3, ["female", "male"])
    labels[labels == "male"] = ["male"] * 9 + ["mixed"] * 6
    given_rows = {"images": images(matrix), "categories": categories(others), "groups": groups(labels)}
    for row in session.audit(audit, **given_rows).to_arrow().to_pylist():
        assert row["suppressed"]
        assert {v for k, v in row.items() if k not in {"category", "suppressed", "reason", "params"}} == {None}
        assert row["reason"] == "small"
    assert not any(session.audit(audit, min_count=9, **given_rows).to_arrow()["suppressed"].to_pylist())


def test_few_vectors_are_suppressed_where_labels_are_many(session):
    matrix, labels, others = example(5, 40, 3, ["female", "male"])
    seen = images(matrix).filter(pa.array((labels == "female") | (np.cumsum(labels == "male") < 8)))
    given_rows = {"images": seen, "categories": categories(others), "groups": groups(labels)}
    assert all(session.audit("association", **given_rows).to_arrow()["suppressed"].to_pylist())


def test_casc_of_few_vectors_or_none_is_suppressed(session):
    matrix, labels, others = example(5, 80, 3, ["a", "b", "c", "d"])
    seen = (labels != "c") & ((labels != "a") | (np.cumsum(labels == "a") < 10))
    given_rows = {"images": images(matrix).filter(pa.array(seen)), "categories": categories(others)}
    found = session.audit("casc", **given_rows, groups=groups(labels)).to_arrow().to_pylist()
    own = {r["label"]: (r["reason"], r["value"] is None) for r in found if r["category"] == "c000"}
    assert own == {"a": ("small", True), "b": ("complementary", True), "c": (None, True), "d": (None, False)}
    assert [r["n_label"] for r in found if r["label"] == "c"] == [0] * 5
    assert not {r["n"] for r in found if r["label"] in {"a", "b"}} - {None}


def test_no_spread_gives_no_value(session):
    labels = ["female", "male"] * 10
    given_rows = {"images": images([[1, 2]] * 20), "categories": categories([[0, 1]]), "groups": groups(labels)}
    row = session.audit("association", **given_rows).to_arrow().to_pylist()[0]
    assert (row["value"], row["low"], row["std"], row["suppressed"]) == (None, None, None, False)
    assert row["mean_label"] == pytest.approx(2 / math.sqrt(5), abs=1e-7)


def test_categories_that_stand_there_twice_have_a_row_each(session):
    matrix, labels, others = example(6, 40, 3, ["female", "male"])
    twice = pa.table({"category": ["x", "x", "y", None, "z"], "embedding": vectors(others)})
    given_rows = {"images": images(matrix), "categories": twice, "groups": groups(labels)}
    found = session.audit("association", **given_rows).to_arrow()
    assert found["category"].to_pylist() == ["x", "x", "y", "z"]
    s = cosines(matrix, others[[0, 1]])
    f, m = s[labels == "female"], s[labels == "male"]
    expected = sorted((f.mean(axis=0) - m.mean(axis=0)) / s.std(axis=0, ddof=1))
    np.testing.assert_allclose(sorted(found["value"].to_pylist()[:2]), expected, atol=1e-6)


def test_vectors_of_two_models_are_refused(session):
    matrix, labels, _ = example(7, 40, 3, ["female", "male"])
    given_rows = {"images": images(matrix), "categories": categories([[1, 0]]), "groups": groups(labels)}
    with pytest.raises(CounterbalanceError, match="2 dimensions are compared with vectors of 3") as error:
        session.audit("association", **given_rows).to_arrow()
    assert error.value.code == "E3700"


def test_another_column(session):
    matrix, labels, others = example(8, 40, 3, ["female", "male"])
    given_rows = {"categories": categories(others), "groups": groups(labels)}
    one = session.audit("association", images=images(matrix), **given_rows).to_arrow()
    renamed = images(matrix).rename_columns(["image_id", "clip"])
    two = session.audit("association", images=renamed, column="clip", **given_rows).to_arrow()
    assert two.drop_columns("params").equals(one.drop_columns("params"))


def fill(lake, build, labels, matrix, others):
    """Put vectors into a lake, of 60 images with a label each, and of prompts."""
    ids = list(range(60))
    columns = {"attribute": ["perceived_gender"] * 60, "value": labels.tolist(), "annotator": ["m"] * 60}
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "labels": build.labels(label_id=ids, image_id=ids, **columns),
        }
    )
    tables.append(lake.location, "vectors", images(matrix))
    tables.append(lake.location, "prompts", categories(others))


@pytest.fixture
def secret(disk_lake, build):
    """A lake of vectors in which three of 60 images, and nobody else, carry a label."""
    matrix, labels, others = example(10, 60, 3, ["female", "male"])
    labels[:3] = "rare"
    fill(disk_lake, build, labels, matrix, others)
    return disk_lake


GROUPS = "image_labels('perceived_gender')"


@pytest.mark.parametrize("audit", ["association", "similarity_bias"])
@pytest.mark.parametrize("label", ["rare", "female"])
def test_a_label_of_three_images_does_not_follow(secret, audit, label):
    """Nor does it from the number of all images less those of the two other labels."""
    call = f"{audit}(vectors, prompts, {GROUPS}, label := '{label}', against := 'male')"
    result = secret.sql(f"FROM {call}")
    assert result.to_arrow().to_pylist() == []
    assert f"{audit}() shows no number: a label that it names has fewer than 10 images" in result.notes[0]


@pytest.mark.parametrize("call", [f"casc(vectors, prompts, {GROUPS})", f"self_similarity(vectors, {GROUPS})"])
def test_a_label_of_three_images_does_not_follow_from_the_others(secret, call):
    rows = secret.sql(f"FROM {call}").to_arrow().to_pylist()
    shown = {r["label"] for r in rows if not r["suppressed"]}
    assert len(shown) == 1
    assert shown < {"female", "male"}
    for row in rows:
        if row["label"] not in shown:
            assert row["reason"] == "confidential"
            assert not {k for k, v in row.items() if v is not None} - {
                "category", "label", "suppressed", "reason", "params"
            }  # fmt: skip


def test_perceived_labels_are_for_tables_of_the_lake_only(disk_lake, build):
    """Without a purpose an audit sums perceived labels up over stored vectors; nobody reads them by moments of one image."""
    matrix, labels, others = example(9, 60, 3, ["female", "male"])
    fill(disk_lake, build, labels, matrix, others)
    call = "association(vectors, prompts, image_labels('perceived_gender'))"
    s = cosines(matrix, others)
    expected = (s[labels == "female"].mean(axis=0) - s[labels == "male"].mean(axis=0)) / s.std(axis=0, ddof=1)
    found = [r[0] for r in disk_lake.sql(f"SELECT value FROM {call}").fetchall()]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    for refused, code in (
        (call.replace("(vectors", "((SELECT * FROM vectors WHERE image_id = 3)"), "E3306"),
        (call.replace("'))", "'), min_count := 2)"), "E3303"),
        ("moments(vectors, image_labels('perceived_gender'))", "E3301"),
        ("nearest_counts(vectors, prompts, image_labels('perceived_gender'))", "E3301"),
    ):
        with pytest.raises(SensitiveError) as error:
            disk_lake.sql(f"FROM {refused}").fetchall()
        assert error.value.code == code
