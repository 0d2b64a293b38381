"""concept_ratio: share of one label among the images of a concept, in three definitions, with their intervals."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from counterbalance.engine.errors import SqlError


def run(session, images, **options):
    ids = [i for i, (_, own) in enumerate(images) for _ in own]
    concepts = [c for _, own in images for c in sorted(own)]
    relations = {
        "groups": pa.table({"image_id": pa.array(range(len(images)), pa.int64()), "label": [g for g, _ in images]}),
        "concepts": pa.table({"image_id": pa.array(ids, pa.int64()), "concept": pa.array(concepts, pa.string())}),
    }
    rows = session.audit("concept_ratio", **relations, **options).to_arrow().to_pylist()
    return {r["concept"]: r for r in rows}


IMAGES = [("female", {"cat"})] * 70 + [("female", set())] * 130 + [("male", {"cat"})] * 50 + [("male", {"dog"})] * 350
IMAGES += [("unclear", {"cat"})] * 500


def test_share(session):
    row = run(session, IMAGES)["cat"]
    assert (row["count"], row["n"], row["value"]) == (70, 120, 70 / 120)
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(70, 120, method="wilson"), rel=1e-12)
    assert (row["n_label"], row["n_against"]) == (200, 400)


def test_images_with_two_labels_are_left_out(session):
    ids, own = [1, 1, 2, 3, 3, 4, 5, 5], ["female", "male", "male", "female", "female", "male", "male", "unclear"]
    groups = pa.table({"image_id": pa.array(ids, pa.int64()), "label": own})
    concepts = pa.table({"image_id": pa.array([1, 2, 3, 5], pa.int64()), "concept": ["cat"] * 4})
    (row,) = session.audit("concept_ratio", groups=groups, concepts=concepts, min_count=0).to_arrow().to_pylist()
    assert (row["count"], row["n"], row["n_label"], row["n_against"]) == (1, 3, 1, 3)


def test_difference(session):
    row = run(session, IMAGES, definition="difference")["cat"]
    low, high = proportion_confint(70, 120, method="wilson")
    assert row["value"] == pytest.approx(20 / 120, rel=1e-12)
    assert (row["low"], row["high"]) == pytest.approx((2 * low - 1, 2 * high - 1), rel=1e-12)


def test_rate_difference(session):
    row = run(session, IMAGES, definition="rate_difference")["cat"]
    assert row["value"] == pytest.approx(70 / 200 - 50 / 400, rel=1e-12)
    wanted = confint_proportions_2indep(70, 200, 50, 400, method="newcomb")
    assert (row["low"], row["high"]) == pytest.approx(wanted, rel=1e-9)


def test_other_labels(session):
    row = run(session, IMAGES, label="male", against="female")["cat"]
    assert (row["count"], row["value"]) == (50, 50 / 120)


def test_rare_concepts_are_left_out_and_counted(session):
    images = IMAGES + [("female", {"owl"})] * 20 + [("male", {"owl"})] * 79
    rows = run(session, images)
    assert set(rows) == {"cat", "dog"}
    assert {r["n_suppressed"] for r in rows.values()} == {1}
    assert run(session, images, min_count=99)["owl"]["count"] == 20


def test_few_images_of_one_label_are_no_number(session):
    images = IMAGES + [("female", {"owl"})] * 9 + [("male", {"owl"})] * 200
    assert "owl" not in run(session, images)
    assert "dog" in run(session, images)  # none at all is not a secret
    assert run(session, images)["dog"]["value"] == 0.0


def test_an_unknown_definition_is_refused(session):
    with pytest.raises(SqlError, match="'definition' cannot be 'ratio'"):
        run(session, IMAGES, definition="ratio")


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")))
@given(
    images=st.lists(
        st.tuples(st.sampled_from(["female", "male", "mixed"]), st.sets(st.sampled_from("abc"))),
        min_size=1,
        max_size=60,
    )
)
def test_agrees_with_python(session, images):
    rows = run(session, images, min_count=1, definition="rate_difference")
    clear = [i for i in images if i[0] != "mixed"]
    assert set(rows) == {c for _, own in clear for c in own}
    female, male = (sum(g == label for g, _ in clear) for label in ("female", "male"))
    for concept, row in rows.items():
        f, m = (sum(concept in own and g == label for g, own in clear) for label in ("female", "male"))
        assert (row["count"], row["n"]) == (f, f + m)
        if female and male:
            assert row["value"] == pytest.approx(f / female - m / male, rel=1e-12, abs=1e-12)
            wanted = confint_proportions_2indep(f, female, m, male, method="newcomb")
            assert (row["low"], row["high"]) == pytest.approx(wanted, rel=1e-9, abs=1e-9)
        else:
            assert row["value"] is None


def test_words_of_captions_are_the_default(lake):
    rows = lake.sql(
        "SELECT concept, count, n, value FROM concept_ratio(min_count := 1) WHERE concept IN ('a', 'reads')"
    ).fetchall()
    assert rows == [("reads", 1, 1, 1.0), ("a", 1, 2, 0.5)]


@pytest.mark.parametrize("definition", ["share", "difference", "rate_difference"])
def test_a_label_beside_a_hidden_one_has_no_share(session, definition):
    images = [("female", {"cat"})] * 500 + [("male", {"cat"})] * 50 + [("unclear", {"cat"})] * 1000
    assert run(session, images, definition=definition) == {}


def test_images_without_a_concept_are_no_concept(session):
    ids = pa.array(range(300), pa.int64())
    groups = pa.table({"image_id": ids, "label": ["female", "male"] * 150})
    concepts = pa.table({"image_id": ids, "concept": pa.array(["cat"] * 150 + [None] * 150)})
    rows = session.audit("concept_ratio", groups=groups, concepts=concepts).to_arrow().to_pylist()
    assert [(r["concept"], r["n"], r["n_suppressed"]) for r in rows] == [("cat", 150, 0)]


@pytest.mark.parametrize("definition", ["share", "difference", "rate_difference"])
def test_what_few_images_of_a_label_lack_is_no_number(session, definition):
    """3 of 200 women have no hat, or 4 of 400 men no tie: n_label less what a row says would tell."""
    concepts = {"hat": (197, 200), "tie": (150, 396), "bag": (150, 300)}
    images = [("female", {c for c, (n, _) in concepts.items() if i < n}) for i in range(200)]
    images += [("male", {c for c, (_, n) in concepts.items() if i < n}) for i in range(400)]
    rows = run(session, images, definition=definition)
    assert set(rows) == {"bag"}
    assert (rows["bag"]["rest"], rows["bag"]["n_suppressed"]) == (300, 2)


def test_few_images_of_one_concept_do_not_follow_where_each_has_one(session):
    scenes = {"female": ["sea"] * 3 + ["in"] * 97 + ["out"] * 200, "male": ["sea"] * 99 + ["in"] * 101 + ["out"] * 100}
    rows = run(session, [(label, {scene}) for label, own in scenes.items() for scene in own])
    assert {c: r["n_suppressed"] for c, r in rows.items()} == {"out": 2}
