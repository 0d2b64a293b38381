"""over_representation: share among a concept's images against the baseline, its interval, and what is not shown."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from statsmodels.stats.proportion import proportion_confint

from counterbalance.engine.disclosure.cells import Cells
from counterbalance.engine.disclosure.protection import protect
from counterbalance.engine.errors import SqlError


def table(labels, concepts):
    groups = pa.table({"image_id": pa.array(range(len(labels)), pa.int64()), "label": pa.array(labels, pa.string())})
    pairs = sorted((i, c) for i, own in enumerate(concepts) for c in own)
    found = pa.table({"image_id": pa.array([i for i, _ in pairs], pa.int64()), "concept": [c for _, c in pairs]})
    return groups, found.cast(pa.schema([("image_id", pa.int64()), ("concept", pa.string())]))


def run(session, labels, concepts, least=1, unit="image"):
    groups, found = (session.bind("t", t) for t in table(labels, concepts))
    rows = (
        session.sql(f"SELECT * FROM over_representation({groups}, {found}, '{unit}', {least})").to_arrow().to_pylist()
    )
    return {(r["concept"], r["label"]): r for r in rows}


def test_by_hand(session, ratio_interval):
    labels = ["f"] * 40 + ["m"] * 60 + ["unclear"] * 50
    concepts = [["crime"]] * 5 + [[]] * 35 + [["crime"]] * 15 + [[]] * 45 + [["crime"]] * 50
    rows = run(session, labels, concepts)
    female, male = rows["crime", "f"], rows["crime", "m"]
    assert (female["count"], female["n"], female["base_n"]) == (5, 20, 100)
    assert (female["share"], female["base_share"], female["delta"]) == (0.25, 0.4, 0.25 / 0.4 - 1)
    assert male["delta"] == pytest.approx(0.75 / 0.6 - 1, rel=1e-12)
    low, high = proportion_confint(5, 20, method="wilson")
    assert (female["share_low"], female["share_high"]) == pytest.approx((low, high), rel=1e-12)
    ends = (1 + female["delta_low"], 1 + female["delta_high"])
    assert ends == pytest.approx(ratio_interval(5, 20, 40, 100), rel=1e-9)


def test_a_label_that_never_has_the_concept(session, ratio_interval):
    row = run(session, ["f", "f", "m"], [[], [], ["c"]])["c", "f"]
    assert (row["count"], row["delta"], row["delta_low"]) == (0, -1.0, -1.0)
    assert 1 + row["delta_high"] == pytest.approx(ratio_interval(0, 1, 2, 3)[1], rel=1e-9)


def test_persons(session):
    groups = pa.table({"image_id": pa.array([1, 1, 1, 2, 3], pa.int64()), "label": ["f", "f", "m", "m", "m"]})
    found = pa.table({"image_id": pa.array([1], pa.int64()), "concept": ["c"]})
    query = "SELECT label, count, n, base_n FROM over_representation({}, {}, '{}', 1) ORDER BY label"
    names = session.bind("g", groups), session.bind("c", found)
    assert session.sql(query.format(*names, "person")).fetchall() == [("f", 2, 3, 5), ("m", 1, 3, 5)]
    assert session.sql(query.format(*names, "image")).fetchall() == []
    with pytest.raises(SqlError, match=r"'unit' of over_representation\(\) cannot be 'dog'"):
        session.sql(query.format(*names, "dog"))


def persons(draw, images, alike=0.8):
    """Persons of images whose labels they mostly share, and which of the images have one of some concepts."""
    image = np.repeat(np.arange(images), draw.choice([1, 1, 2, 4, 8], images))
    label = np.where(draw.random(len(image)) < alike, draw.random(images)[image], draw.random(len(image))) < 0.4
    return image, label, draw.random((images, 60)) < np.linspace(0.1, 0.6, 60)


def asked(session, image, label, has):
    groups = pa.table({"image_id": image, "label": np.where(label, "f", "m")})
    at, concept = np.nonzero(has)
    found = pa.table({"image_id": at, "concept": [str(c) for c in concept]})
    query = "SELECT * FROM over_representation(g, c, 'person', 1) WHERE label = 'f'"
    return session.sql(query, g=groups, c=found).to_arrow().to_pylist()


def test_persons_of_an_image_are_not_independent(session, ratio_interval):
    image, label, has = persons(np.random.default_rng(3), 300)
    rows = asked(session, image, label, has)
    assert len(rows) == 60
    for row in rows:
        with_it = has[:, int(row["concept"])][image]
        p, q = label.mean(), with_it.mean()
        scores = (label - p) * (with_it - q)
        whole = len(image) * p * (1 - p) * q * (1 - q)
        effect = max(1, 1 + ((np.bincount(image, scores) ** 2).sum() - (scores**2).sum()) / whole)
        most, seen = (np.bincount(image) ** 2).sum() / len(image), len(set(image[label & with_it]))
        effect = max(effect, effect + (most - effect) / (1 + seen))
        counts = (row["count"], row["n"], row["base_count"], row["base_n"])
        assert counts == ((label & with_it).sum(), with_it.sum(), label.sum(), len(image))
        ends = (1 + row["delta_low"], 1 + row["delta_high"])
        assert ends == pytest.approx(ratio_interval(*(c / effect for c in counts)), rel=1e-9)
        low, high = proportion_confint(row["count"], row["n"], method="wilson")
        assert row["share_high"] - row["share_low"] > high - low


@pytest.mark.thorough
def test_intervals_of_persons_hold_what_they_say(session):
    """Concepts of images have nothing to do with labels, so that delta is 0 and the share that of all."""
    draw = np.random.default_rng(8)
    rows = [row for _ in range(12) for row in asked(session, *persons(draw, 200))]
    assert 0.93 < np.mean([r["delta_low"] <= 0 <= r["delta_high"] for r in rows]) < 0.985


def test_images_with_two_labels_are_left_out(session):
    groups = pa.table(
        {"image_id": pa.array([1, 1, 2, 3, 3, 4, 5, 5], pa.int64()), "label": [*"fmmffmm", "unclear"]}
    )  # 1 has both; of 3, two persons have the same; 5 has a clear one and an unclear one
    found = pa.table({"image_id": pa.array([1, 2, 3, 5], pa.int64()), "concept": ["c"] * 4})
    names = session.bind("g", groups), session.bind("c", found)
    query = "SELECT label, count, n, base_share, base_n FROM over_representation({}, {}, 'image', 0) ORDER BY label"
    assert session.sql(query.format(*names)).fetchall() == [("f", 1, 3, 0.25, 4), ("m", 2, 3, 0.75, 4)]


label = st.sampled_from(["f", "m", "x", "mixed", "unclear", None])
image = st.tuples(label, st.sets(st.sampled_from(["c", "d", "e"])))


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")))
@given(images=st.lists(image, min_size=1, max_size=80))
def test_agrees_with_python(session, ratio_interval, images):
    labels, concepts = [i[0] for i in images], [i[1] for i in images]
    rows = run(session, labels, concepts, least=1)
    clear = [(one, own) for one, own in images if one in {"f", "m", "x"}]
    present = {one for one, _ in clear}
    assert set(rows) == {(c, one) for c in {c for _, own in clear for c in own} for one in present}
    for (concept, one), row in rows.items():
        n = sum(concept in own for _, own in clear)
        a = sum(concept in own for label, own in clear if label == one)
        base = sum(label == one for label, _ in clear) / len(clear)
        assert (row["count"], row["n"], row["base_n"]) == (a, n, len(clear))
        assert (row["share"], row["base_share"]) == (a / n, base)
        assert row["delta"] == pytest.approx(a / n / base - 1, rel=1e-12, abs=1e-12)
        assert not row["suppressed"]
        ends = (1 + row["delta_low"], 1 + row["delta_high"])
        assert ends == pytest.approx(ratio_interval(a, n, row["base_count"], len(clear)), rel=1e-9)


@given(data=st.data())
def test_no_small_count_follows_from_the_others(session, data):
    size = st.one_of(st.integers(0, 12), st.integers(0, 200))
    counts = {c: data.draw(size) for c in "fmxyz"}
    rest = {c: data.draw(st.integers(10, 60)) for c in "fmxyz"}  # so that every label takes part
    labels = [c for c in counts for _ in range(counts[c] + rest[c])]
    concepts = [["c"] * (i < counts[c]) for c in counts for i in range(counts[c] + rest[c])]
    if not any(counts.values()):
        return
    found = pa.Table.from_pylist(list(run(session, labels, concepts, least=10).values()))
    cells = Cells("count", of="n", out_of="base_count", by=("label",), within=("concept",))  # as so_b_it declares them
    made = protect(found, [cells], 10, "{}", closed=True, in_order=True).to_pylist()
    rows = {(r["concept"], r["label"]): r for r in made}
    shown = {c: r for (_, c), r in rows.items() if not r["suppressed"]}
    hidden = [c for (_, c), r in rows.items() if r["suppressed"]]
    for c, row in shown.items():
        assert row["count"] == counts[c]
        assert not 0 < counts[c] < 10
        assert not 0 < rest[c] < 10
    for row in rows.values():
        if row["suppressed"]:
            assert all(
                v is None for k, v in row.items() if k not in {"concept", "label", "suppressed", "reason", "params"}
            )
    if not shown or not hidden:
        return
    n = next(iter(shown.values()))["n"]
    left = n - sum(counts[c] for c in shown)
    for at, c in enumerate(hidden):
        if counts[c] == 0:
            continue
        goal = np.eye(len(hidden))[at]
        ends = [
            linprog(s * goal, A_eq=np.ones((1, len(hidden))), b_eq=[left], bounds=(0, None)).fun * s for s in (1, -1)
        ]
        assert ends[1] - ends[0] >= 1


def test_images_without_a_concept_are_no_concept(session):
    groups, found = table(["f"] * 20 + ["m"] * 20, [["tie"]] * 10 + [[]] * 10 + [["tie"]] * 10 + [[]] * 10)
    nothing = pa.table({"image_id": pa.array(range(10, 40), pa.int64()), "concept": pa.nulls(30, pa.string())})
    bound = [session.bind("t", t) for t in (groups, pa.concat_tables([found, nothing]))]
    rows = session.sql("SELECT * FROM over_representation({}, {})".format(*bound)).to_arrow().to_pylist()
    assert {(r["concept"], r["label"], r["count"]) for r in rows} == {("tie", "f", 10), ("tie", "m", 10)}
