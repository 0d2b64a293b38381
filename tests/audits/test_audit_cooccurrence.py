"""cooccurrence: PMI, NPMI, their interval, G2, p and q against numpy, scipy and statsmodels; small counts left out."""

from __future__ import annotations

import math
import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfc
from scipy.stats import chi2_contingency
from statsmodels.stats.multitest import multipletests

import counterbalance as cb
from counterbalance.engine.errors import SqlError

UNCLEAR = {"mixed", "unclear", "undefined"}


def relations(images):
    """``images``: (label, {concepts}) by image."""
    ids = [i for i, (_, own) in enumerate(images) for _ in own]
    concepts = [c for _, own in images for c in sorted(own)]
    return {
        "groups": pa.table({"image_id": pa.array(range(len(images)), pa.int64()), "label": [g for g, _ in images]}),
        "concepts": pa.table({"image_id": pa.array(ids, pa.int64()), "concept": pa.array(concepts, pa.string())}),
    }


def run(session, images, **options):
    rows = session.audit("cooccurrence", **relations(images), **{"min_count": 1, **options}).to_arrow().to_pylist()
    return {(r["label"], r["concept"]): r for r in rows}


def random_images(seed, n, labels=("f", "m", "unclear"), concepts="abcdefgh"):
    draw = np.random.default_rng(seed)
    chosen = draw.choice(labels, n)
    tilt = {label: draw.random(len(concepts)) for label in labels}
    return [(str(g), {c for c, p in zip(concepts, tilt[g], strict=True) if draw.random() < p}) for g in chosen]


def reference(ratio_interval, images, label, concept, smoothing=0.0):
    has = np.array([concept in own for _, own in images])
    is_label = np.array([g == label for g, _ in images])
    table = np.array([[np.sum(x & y) for y in (has, ~has)] for x in (is_label, ~is_label)])
    a, n_label, n_concept, n = table[0, 0], is_label.sum(), has.sum(), len(images)
    s = table + smoothing
    both, row, column, total = s[0, 0], s[0].sum(), s[:, 0].sum(), s.sum()
    pmi = np.log(both / total / (row / total) / (column / total))
    low, high = ratio_interval(both, column, row, total)
    if table.sum(0).all() and table.sum(1).all():
        g2 = chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic
    else:
        g2 = 0.0
    return {
        "count": a,
        "n": n,
        "n_label": n_label,
        "n_concept": n_concept,
        "expected": n_label * n_concept / n,
        "pmi": pmi,
        "low": math.log(low),
        "high": math.log(high),
        "npmi": pmi / -np.log(both / total) if both < total else None,
        "g2": g2,
        "p": erfc(np.sqrt(g2 / 2)),
    }


def close(wanted, least):
    return {k: None if v is None else pytest.approx(v, rel=1e-7, abs=least) for k, v in wanted.items()}


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_measures(session, ratio_interval, smoothing):
    images = random_images(1, 400)
    rows = run(session, images, smoothing=smoothing)
    assert set(rows) == {(g, c) for g in ("f", "m") for c in "abcdefgh"}
    for (label, concept), row in rows.items():
        wanted = reference(ratio_interval, images, label, concept, smoothing)
        assert {k: row[k] for k in wanted} == close(wanted, 1e-11)
        assert row["p"] == pytest.approx(wanted["p"], rel=1e-7)


def test_by_hand(session):
    images = [("f", {"cat"})] * 20 + [("f", set())] * 20 + [("m", {"cat"})] * 10 + [("m", set())] * 50
    row = run(session, images)["f", "cat"]
    assert row["pmi"] == pytest.approx(np.log(20 * 100 / 40 / 30), rel=1e-12)
    assert row["npmi"] == pytest.approx(np.log(20 * 100 / 40 / 30) / np.log(5), rel=1e-12)
    assert (row["expected"], row["n_suppressed"]) == (12.0, 0)


def test_a_concept_of_all_images(session):
    row = run(session, [("f", {"cat"})] * 12)["f", "cat"]
    assert (row["pmi"], row["npmi"], row["g2"]) == (0.0, None, 0.0)
    assert row["p"] == pytest.approx(1, abs=1e-10)


def test_q_values(session):
    images = random_images(2, 300, concepts="abcdefghijklmnop")
    rows = run(session, images)
    values = sorted(rows.values(), key=lambda r: (r["label"], r["concept"]))
    wanted = multipletests([r["p"] for r in values], method="fdr_bh")[1]
    assert [r["q"] for r in values] == pytest.approx(list(wanted), rel=1e-12)


def test_p_values_of_any_size(session):
    """From 1 down to 1e-250 within 1.2e-7 of the exact value."""
    images = []
    for i in range(24):
        images += [("f", {f"c{i:02}"})] * 40 + [("m", {f"c{i:02}"})] * (60 - 2 * i)
    images += [("f", {"most"})] * 900 + [("m", {"few"})] * 1_200
    rows = run(session, images)
    exact = {k: erfc(np.sqrt(r["g2"] / 2)) for k, r in rows.items()}
    assert min(exact.values()) < 1e-200
    assert max(exact.values()) > 0.05
    for key, row in rows.items():
        assert row["p"] == pytest.approx(exact[key], rel=1.2e-7)


def test_population(session):
    images = [("f", {"cat"})] * 20 + [("m", {"cat"})] * 20 + [("unclear", set())] * 60
    assert run(session, images)["f", "cat"]["n"] == 100
    assert run(session, images)["f", "cat"]["pmi"] == pytest.approx(np.log(2.5), rel=1e-12)
    labelled = run(session, images, population="labelled")["f", "cat"]
    assert (labelled["n"], labelled["pmi"]) == (40, 0.0)
    with pytest.raises(SqlError, match="'population' cannot be 'some'"):
        run(session, images, population="some")


def test_captions_as_units(lake):
    rows = lake.sql(
        "SELECT label, concept, count, n FROM cooccurrence("
        "groups := (SELECT caption_id AS image_id, label FROM caption_labels),"
        "concepts := word_concepts((SELECT caption_id AS image_id, text FROM captions)), min_count := 1) "
        "WHERE concept = 'a' ORDER BY label"
    ).fetchall()
    assert rows == [("female", "a", 1, 8), ("male", "a", 1, 8)]


def test_categories_are_the_default(lake):
    rows = lake.sql("SELECT label, concept, count FROM cooccurrence(min_count := 1) ORDER BY ALL").fetchall()
    assert rows == [("female", "person", 1), ("male", "horse", 1), ("male", "person", 1)]


def test_small_counts_are_left_out_and_counted(session):
    images = [("f", {"cat"})] * 9 + [("f", {"dog"})] * 30 + [("m", {"cat", "dog"})] * 40 + [("x", {"cat"})] * 50
    images += [("f", {"owl"})] * 5
    rows = run(session, images, min_count=10)
    # f cat is small; m cat would give it away; x cat stays. owls are too few altogether.
    assert set(rows) == {("f", "dog"), ("m", "dog"), ("x", "cat")}
    assert {r["n_suppressed"] for r in rows.values()} == {3}


def test_unclear_images_hide_a_small_count(session):
    images = [("f", {"cat"})] * 9 + [("f", set())] * 30 + [("m", {"cat"})] * 40 + [("unclear", {"cat"})] * 50
    assert set(run(session, images, min_count=10)) == {("m", "cat")}


label = st.sampled_from(["f", "m", "x", "mixed", "unclear"])


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")))
@given(images=st.lists(st.tuples(label, st.sets(st.sampled_from("abcd"))), min_size=1, max_size=60))
def test_agrees_with_python(session, ratio_interval, images):
    rows = run(session, images)
    pairs = {(g, c) for g, own in images for c in own if g not in UNCLEAR}
    assert set(rows) == pairs
    for (one, concept), row in rows.items():
        wanted = reference(ratio_interval, images, one, concept)
        assert {k: row[k] for k in wanted} == close(wanted, 1e-9)
        assert 0 <= row["p"] <= row["q"] <= 1


@given(data=st.data())
def test_no_small_count_follows_from_a_concepts_total(session, data):
    counts = {g: data.draw(st.one_of(st.integers(0, 14), st.integers(0, 80))) for g in ("f", "m", "x", "unclear")}
    rest = {g: data.draw(st.integers(10, 40)) for g in counts}
    images = [(g, {"c"} if i < counts[g] else set()) for g in counts for i in range(counts[g] + rest[g])]
    population = data.draw(st.sampled_from(["all", "labelled"]))
    shown = {g: r for (g, _), r in run(session, images, min_count=10, population=population).items()}
    assert all(r["count"] == counts[g] >= 10 for g, r in shown.items())
    members = {g for g in counts if population == "all" or g != "unclear"}
    hidden = [counts[g] for g in members - set(shown) if counts[g]]
    if shown and any(0 < counts[g] < 10 for g in members - {"unclear"}):
        assert sum(hidden) >= 10
        assert len(hidden) >= 2


def test_q_values_are_those_of_pairs_that_meet(session, ratio_interval):
    """Four pairs are possible, of which cats with m have no image; concepts that stand there twice count once."""
    images = [("f", {"cat"})] * 20 + [("f", {"dog"})] * 15 + [("m", {"dog"})] * 30 + [("m", set())] * 9
    given = relations(images)
    given["concepts"] = pa.concat_tables([given["concepts"]] * 2)
    rows = session.audit("cooccurrence", **given, min_count=1).to_arrow().to_pylist()
    assert [(r["label"], r["concept"], r["count"], r["n_concept"]) for r in rows] == [
        ("f", "cat", 20, 20), ("f", "dog", 15, 45), ("m", "dog", 30, 45),
    ]  # fmt: skip
    cat, dog = (reference(ratio_interval, images, "f", concept)["p"] for concept in ("cat", "dog"))
    wanted = multipletests([cat, dog, dog], method="fdr_bh")[1]
    assert [r["q"] for r in rows] == pytest.approx(list(wanted), rel=1e-6)


def test_q_values_tell_no_p_of_a_hidden_pair(session):
    """Rings with f are few: they count as a test whose p is 1, whatever it is, and so do those that are hidden with them."""
    counts = {"cat": (40, 25, 30), "dog": (30, 20, 50), "ring": (5, 40, 30)}
    images = [(g, {c}) for c, of in counts.items() for g, n in zip("fmx", of, strict=True) for _ in range(n)]
    rows = run(session, [*images, *((g, set()) for g in "fmx" for _ in range(40))], min_count=10)
    assert {concept for _, concept in rows} == {"cat", "dog", "ring"}
    assert ("f", "ring") not in rows
    wanted = multipletests([*(r["p"] for r in rows.values()), *[1] * (9 - len(rows))], method="fdr_bh")[1]
    assert [r["q"] for r in rows.values()] == pytest.approx(list(wanted[: len(rows)]), rel=1e-12)


def test_images_without_a_concept_change_nothing(session):
    images = random_images(5, 200)
    given = relations(images)
    nothing = pa.table({"image_id": pa.array(range(200), pa.int64()), "concept": pa.nulls(200, pa.string())})
    more = {**given, "concepts": pa.concat_tables([given["concepts"], nothing])}
    of_both = [session.audit("cooccurrence", **r, min_count=1).to_arrow().drop(["params"]) for r in (given, more)]
    assert of_both[0].equals(of_both[1])


def test_pairs_that_never_meet_have_an_upper_end(session, ratio_interval):
    rows = run(session, [("f", {"tie"})] * 20 + [("m", {"dress"})] * 20, min_count=0)
    row = rows["f", "dress"]
    assert (row["count"], row["pmi"], row["npmi"], row["low"]) == (0, -np.inf, -1.0, -np.inf)
    assert row["high"] == pytest.approx(math.log(ratio_interval(0, 20, 20, 40)[1]), rel=1e-9)
    assert row["n_suppressed"] == 0
    smoothed = run(session, [("f", {"tie"})] * 20 + [("m", {"dress"})] * 20, min_count=0, smoothing=1)["f", "dress"]
    assert smoothed["low"] < smoothed["pmi"] < smoothed["high"]


@pytest.fixture(scope="module")
def closed(build):
    """200 images of one scene each; of 100 women 3 are at the sea, and all but 4 of 100 men have a tie."""
    scenes = ["sea"] * 3 + ["in"] * 47 + ["out"] * 50 + ["sea"] * 40 + ["in"] * 25 + ["out"] * 35
    ids = list(range(200))
    lake = cb.connect(f"memory://cooccurrence-closed-{os.getpid()}")
    labels = [("perceived_gender", i, ("f", "m")[i // 100]) for i in ids] + [
        ("scene", i, s) for i, s in enumerate(scenes)
    ]
    attribute, image, value = zip(*labels, strict=True)
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "labels": build.labels(label_id=list(range(400)), image_id=image, attribute=attribute, value=value),
            "detections": build.detections(
                detection_id=list(range(146)), image_id=[*range(50), *range(100, 196)], category=["tie"] * 146
            ),
        }
    )
    return lake


def asked(lake, concepts):
    text = f"SELECT * FROM cooccurrence(image_labels('perceived_gender'), {concepts})"
    return {(r["label"], r["concept"]): r for r in lake.sql(text).to_arrow().to_pylist()}


def test_three_of_a_scene_do_not_follow(closed):
    """Not from the total of the scene, nor from that of the label, nor from those of a scene that hides another."""
    rows = asked(closed, "label_concepts('scene')")
    assert len({concept for _, concept in rows}) == 1
    assert {r["n_suppressed"] for r in rows.values()} == {None}


def test_what_few_of_a_label_lack_does_not_follow(closed):
    """4 men without a tie, of 100: women and men with one are hidden, whose total all know."""
    assert asked(closed, "category_concepts") == {}
