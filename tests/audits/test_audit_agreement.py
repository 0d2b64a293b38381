"""agreement: kappas, confusion and agreement against scikit-learn and statsmodels; small counts hidden."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score, confusion_matrix, jaccard_score
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa
from statsmodels.stats.proportion import proportion_confint

import counterbalance as cb

Z = 1.959963984540054
_names = itertools.count()


def annotate(build, ratings, boxes=False):
    """``ratings``: {annotator: values by target}, None where the annotator gave none."""
    rows = [(t, a, v) for a, values in ratings.items() for t, v in enumerate(values) if v is not None]
    targets = max(len(v) for v in ratings.values())
    lake = cb.connect(f"memory://agreement-{os.getpid()}-{next(_names)}")
    lake.ingest(
        {
            "images": build.images(image_id=list(range(targets))),
            "detections": build.detections(
                detection_id=list(range(targets)), image_id=list(range(targets)), category=["person"] * targets
            ),
            "labels": build.labels(
                label_id=list(range(len(rows))),
                image_id=[t for t, *_ in rows],
                detection_id=[t if boxes else None for t, *_ in rows],
                attribute=["scene"] * len(rows),
                value=[v for *_, v in rows],
                annotator=[a for _, a, _ in rows],
            ),
        }
    )
    return lake


def run(lake, **options):
    rows = lake.audit("agreement", attribute="scene", **options).to_arrow().to_pylist()
    return {(r["metric"], r["annotator"], r["other"], r["label"], r["other_label"]): r for r in rows}


def simulated(seed, n=400, annotators="ABC"):
    draw = np.random.default_rng(seed)
    truth = draw.choice(3, n, p=[0.5, 0.35, 0.15])
    values = np.array(["f", "m", "u"])
    return {a: [str(v) for v in values[np.where(draw.random(n) < 0.75, truth, draw.choice(3, n))]] for a in annotators}


def beyond_chance(known, table):
    """Wilson's interval of as many pairs as tell the agreement as well, put into the definition of kappa."""
    n = table.sum()
    chance = (table.sum(axis=0) * table.sum(axis=1)).sum() / n**2
    agreed = np.trace(table) / n
    pairs = min(n, agreed * (1 - agreed) / ((1 - chance) * known.std_kappa) ** 2)
    return tuple((end - chance) / (1 - chance) for end in proportion_confint(agreed * pairs, pairs, method="wilson"))


def independent(hits, sizes):
    """As many independent ones as tell the share of hits as well, of clusters of such sizes (decision 029)."""
    hits, sizes, n = np.array(hits, float), np.array(sizes, float), sum(sizes)
    share, worth = hits.sum() / n, n**2 / (sizes**2).sum()
    residuals = hits - share * sizes
    variance = (residuals**2).sum() * len(sizes) / (len(sizes) - 1) / n**2
    sides = [some.sum() ** 2 / (some**2).sum() for some in (hits, sizes - hits)]
    variance += max(share * (1 - share) / worth - variance, 0) / (1 + min(sides))
    few = stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, max(np.floor(worth) - 1, 1))
    return min(share * (1 - share) / variance * few**2, n)


@pytest.mark.parametrize("boxes", [False, True])
def test_cohens_kappa(build, boxes):
    ratings = simulated(1)
    rows = run(annotate(build, ratings, boxes), min_count=0)
    for a, b in itertools.combinations("ABC", 2):
        row = rows["cohen_kappa", a, b, None, None]
        assert row["value"] == pytest.approx(cohen_kappa_score(ratings[a], ratings[b]), rel=1e-12)
        table = confusion_matrix(ratings[a], ratings[b])
        known = cohens_kappa(table)
        assert (row["low"], row["high"]) == pytest.approx(beyond_chance(known, table), rel=1e-9)
        spread = Z * known.std_kappa  # of large samples, which 400 nearly is
        assert (row["low"], row["high"]) == pytest.approx((row["value"] - spread, row["value"] + spread), abs=0.01)
        assert row["n"] == 400


def test_agreement_and_confusion(build):
    ratings = simulated(2)
    rows = run(annotate(build, ratings), min_count=0)
    table = confusion_matrix(ratings["A"], ratings["B"], labels=["f", "m", "u"])
    row = rows["agreement", "A", "B", None, None]
    assert (row["count"], row["value"]) == (np.trace(table), np.trace(table) / 400)
    assert (row["low"], row["high"]) == pytest.approx(
        proportion_confint(np.trace(table), 400, method="wilson"), rel=1e-12
    )
    found = {k[3:]: (r["count"], r["value"]) for k, r in rows.items() if k[:3] == ("confusion", "A", "B")}
    assert found == {(x, y): (table[i, j], table[i, j] / 400) for i, x in enumerate("fmu") for j, y in enumerate("fmu")}


def test_annotators(build):
    ratings = simulated(3)
    rows = run(annotate(build, ratings), min_count=0)
    for a in "ABC":
        equal = [ratings[a][t] == ratings[b][t] for b in "ABC" if b != a for t in range(400)]
        row = rows["annotator", a, None, None, None]
        assert (row["count"], row["n"], row["value"]) == (sum(equal), 800, sum(equal) / 800)
        of_target = np.array(equal).reshape(2, 400).sum(axis=0)
        worth = independent(of_target, [2] * 400)
        assert 400 <= worth < 800
        wilson = proportion_confint(worth * row["value"], worth, method="wilson")
        assert (row["low"], row["high"]) == pytest.approx(wilson, rel=1e-12)


def test_pairs_of_an_annotator_are_worth_less_than_their_number(build):
    """With one other annotator on a target a pair is one; of two on some, both pairs are of one target."""
    ratings = {"A": ["f"] * 15 + ["m"] * 15, "B": ["f"] * 10 + ["m"] * 20, "C": [None] * 10 + ["f", "m"] * 10}
    rows = run(annotate(build, ratings), min_count=0)
    row = rows["annotator", "A", None, None, None]
    equal = sum(a == b for other in "BC" for a, b in zip(ratings["A"], ratings[other], strict=True))
    assert (row["count"], row["n"]) == (equal, 50)
    sizes = [1] * 10 + [2] * 20
    hits = [sum(ratings[o][t] == ratings["A"][t] for o in "BC" if ratings[o][t]) for t in range(30)]
    worth = independent(hits, sizes)
    assert worth < 50
    wilson = proportion_confint(equal / 50 * worth, worth, method="wilson")
    assert (row["low"], row["high"]) == pytest.approx(wilson, rel=1e-7)  # the point of Student's t is good to that
    two = run(annotate(build, {a: ratings[a] for a in "AB"}), min_count=0)
    bounds = [[r["low"], r["high"]] for k, r in two.items() if k[0] in {"agreement", "annotator"}]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-12)
    assert bounds[0] == pytest.approx(bounds[2], rel=1e-12)


def test_fleiss_kappa(build):
    ratings = simulated(4)
    table = aggregate_raters(np.array([ratings[a] for a in "ABC"]).T)[0]
    row = run(annotate(build, ratings), min_count=0)["fleiss_kappa", None, None, None, None]
    assert (row["value"], row["n"]) == (pytest.approx(fleiss_kappa(table), rel=1e-12), 400)
    left_out = np.array([fleiss_kappa(np.delete(table, t, 0)) for t in range(400)])
    jackknife = np.sqrt(399 / 400 * ((left_out - left_out.mean()) ** 2).sum())
    assert (row["high"] - row["low"]) / 2 / Z == pytest.approx(jackknife, rel=0.01)


def test_jaccard(build):
    """Of the targets that either gave a label, how many both did."""
    ratings = simulated(2)
    rows = run(annotate(build, ratings), min_count=0)
    for a, b in itertools.combinations("ABC", 2):
        for label in "fmu":
            one, other = (np.array(ratings[x]) == label for x in (a, b))
            both, either = int((one & other).sum()), int((one | other).sum())
            row = rows["jaccard", a, b, label, None]
            assert (row["count"], row["n"]) == (both, either)
            assert row["value"] == pytest.approx(jaccard_score(one, other), rel=1e-12)
            assert (row["low"], row["high"]) == pytest.approx(proportion_confint(both, either, method="wilson"))


def test_krippendorffs_alpha(build):
    """With as many labels of every target it is Fleiss' kappa, but for a term of 1 / n."""
    rows = run(annotate(build, simulated(4)), min_count=0)
    fleiss, alpha = (rows[metric, None, None, None, None] for metric in ("fleiss_kappa", "krippendorff_alpha"))
    assert alpha["n"] == 400
    assert alpha["value"] == pytest.approx(fleiss["value"] + (1 - fleiss["value"]) / 1200, rel=1e-12)
    assert alpha["high"] - alpha["low"] == pytest.approx(fleiss["high"] - fleiss["low"], rel=0.01)


def test_fleiss_kappa_with_missing_labels(build):
    """Targets with one label do not count; with two or three, shares of labels are averaged over targets."""
    ratings = simulated(5, 60)
    draw = np.random.default_rng(6)
    ratings = {a: [v if draw.random() < 0.7 else None for v in values] for a, values in ratings.items()}
    targets = [[ratings[a][t] for a in "ABC" if ratings[a][t] is not None] for t in range(60)]
    targets = [own for own in targets if len(own) >= 2]
    equal = np.mean([np.mean([x == y for x, y in itertools.permutations(own, 2)]) for own in targets])
    shares = [np.mean([own.count(v) / len(own) for own in targets]) for v in "fmu"]
    chance = sum(s * s for s in shares)
    row = run(annotate(build, ratings), min_count=0)["fleiss_kappa", None, None, None, None]
    assert (row["value"], row["n"]) == (pytest.approx((equal - chance) / (1 - chance), rel=1e-12), len(targets))


def test_only_targets_of_both_count(build):
    ratings = {"A": ["f"] * 12 + ["m"] * 8 + [None] * 5, "B": ["f"] * 12 + ["m"] * 7 + ["f"] + ["m"] * 5}
    rows = run(annotate(build, ratings), min_count=0)
    row = rows["cohen_kappa", "A", "B", None, None]
    assert row["n"] == 20
    assert row["value"] == pytest.approx(cohen_kappa_score(ratings["A"][:20], ratings["B"][:20]), rel=1e-12)


def test_perfect_agreement_on_one_value_has_no_kappa(build):
    rows = run(annotate(build, {"A": ["f"] * 12, "B": ["f"] * 12}))
    assert rows["cohen_kappa", "A", "B", None, None]["value"] is None
    assert rows["agreement", "A", "B", None, None]["value"] == 1.0
    assert rows["fleiss_kappa", None, None, None, None]["value"] is None


def test_few_targets_are_hidden(build):
    rows = run(annotate(build, {"A": ["f", "m"] * 4, "B": ["f", "f"] * 4}))
    assert all(r["suppressed"] for k, r in rows.items() if k[0] != "annotator")
    assert {rows["cohen_kappa", "A", "B", None, None][k] for k in ("value", "low", "high", "n", "count")} == {None}


def test_small_counts_of_a_confusion_are_hidden_in_pairs(build):
    ratings = {"A": ["f"] * 50 + ["m"] * 40 + ["f"] * 3, "B": ["f"] * 50 + ["m"] * 40 + ["m"] * 3}
    rows = run(annotate(build, ratings))
    hidden = {k[3:] for k, r in rows.items() if k[0] == "confusion" and r["suppressed"]}
    assert hidden == {("f", "m"), ("m", "f"), ("m", "m"), ("f", "f")}, "n less the 90 of equal labels would be the 3"
    for metric in ("cohen_kappa", "agreement"):  # 3 of 93 are not equal, or some 3 of which a kappa depends
        assert {rows[metric, "A", "B", None, None][k] for k in ("value", "low", "high", "count")} == {None}


def test_counts_that_are_large_enough_are_shown(build):
    """Two small ones hide each other; zeros beside them, and what is larger, stay."""
    cells = {(x, x): 40 for x in "abcdefgh"} | {("a", "b"): 9, ("b", "c"): 9, ("c", "d"): 15, ("d", "e"): 40}
    pairs = [cell for cell, count in cells.items() for _ in range(count)]
    rows = run(annotate(build, {"A": [x for x, _ in pairs], "B": [y for _, y in pairs]}))
    found = {k[3:]: r for k, r in rows.items() if k[0] == "confusion"}
    assert len(found) == 64
    assert {cell for cell, r in found.items() if r["suppressed"]} == {("a", "b"), ("b", "c")}
    assert found["c", "d"]["count"] == 15


value = st.sampled_from(["f", "m", "u", None])


@settings(max_examples=12)
@given(pairs=st.lists(st.tuples(value, value), min_size=1, max_size=40))
def test_agrees_with_scikit_learn(build, pairs):
    rows = run(annotate(build, {"A": [a for a, _ in pairs], "B": [b for _, b in pairs]}), min_count=0)
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not both:
        assert not rows
        return
    first, second = zip(*both, strict=True)
    row = rows["cohen_kappa", "A", "B", None, None]
    if len(set(first) | set(second)) == 1:
        assert row["value"] is None
    else:
        assert row["value"] == pytest.approx(cohen_kappa_score(first, second), rel=1e-9, abs=1e-12)
    assert row["n"] == len(both)


@settings(max_examples=12)
@given(data=st.data())
def test_hidden_counts_of_a_confusion_do_not_follow(build, data):
    counts = {(x, y): data.draw(st.one_of(st.just(0), st.integers(0, 40))) for x in "fmu" for y in "fmu"}
    cells = [c for c, n in counts.items() for _ in range(n)]
    if not cells:
        return
    rows = run(annotate(build, {"A": [x for x, _ in cells], "B": [y for _, y in cells]}))
    found = {k[3:]: r for k, r in rows.items() if k[0] == "confusion"}
    for equal in (True, False):
        part = {c: r for c, r in found.items() if (c[0] == c[1]) == equal}
        hidden = [counts[c] for c, r in part.items() if r["suppressed"]]
        assert all(r["count"] == counts[c] and not 0 < counts[c] < 10 for c, r in part.items() if not r["suppressed"])
        if hidden and len(hidden) < len(part):
            assert len(hidden) >= 2
            assert sum(hidden) >= 10


def test_a_hidden_agreement_does_not_follow_from_an_annotators(build):
    """A and B differ 3 times; what A shares with all others, less what A shares with C, would say so."""
    ratings = {"A": ["f", "m"] * 50, "B": ["f", "m"] * 48 + ["m"] * 3 + ["f"], "C": ["f"] * 50 + ["m"] * 50}
    rows = run(annotate(build, ratings))
    assert rows["agreement", "A", "B", None, None]["count"] is None
    assert rows["agreement", "A", "C", None, None]["count"] is None  # with B and C it tells how often B alone differs
    assert {a for a in "ABC" if rows["annotator", a, None, None, None]["suppressed"]} == {"A", "B", "C"}


def test_rows_come_in_order(build):
    """Also where there is no label: those come last."""
    rows = run(annotate(build, simulated(3)), min_count=0)
    assert list(rows) == sorted(rows, key=lambda row: [(part is None, part or "") for part in row])


def test_a_kappa_tells_no_small_count(build):
    """Of m said and u meant there are 3: what two labels are mistaken for is hidden in pairs, and what depends on them."""
    counts = {("f", "f"): 60, ("m", "m"): 50, ("u", "u"): 40, ("m", "u"): 3, ("u", "m"): 30, ("f", "u"): 25}
    cells = [c for c, n in counts.items() for _ in range(n)]
    rows = run(annotate(build, {"A": [x for x, _ in cells], "B": [y for _, y in cells]}))
    hidden = {k[3:] for k, r in rows.items() if k[0] == "confusion" and r["suppressed"]}
    assert {("m", "u"), ("f", "u")} <= hidden
    assert rows["confusion", "A", "B", "u", "m"]["count"] == 30
    assert rows["agreement", "A", "B", None, None]["count"] == 150
    assert rows["cohen_kappa", "A", "B", None, None]["reason"] == "small"
    assert {r["value"] for k, r in rows.items() if k[0] in {"jaccard", "krippendorff_alpha"}} == {None}
    assert rows["fleiss_kappa", None, None, None, None]["value"] is None


def test_boxes_of_one_image_are_taken_together(build):
    """Twenty images of five boxes on which two annotators agree, or do not, as one: a fifth of them tell as much."""
    draw = np.random.default_rng(5)
    same = np.repeat(draw.random(60) < 0.7, 5)
    first = draw.choice(["f", "m"], 300)
    other = np.where(same, first, np.where(first == "f", "m", "f"))
    labels = {
        "image_id": np.tile(np.repeat(np.arange(60), 5), 2),
        "detection_id": np.tile(np.arange(300), 2),
        "attribute": ["scene"] * 600,
        "value": [*first, *other],
        "annotator": ["A"] * 300 + ["B"] * 300,
    }
    lake = annotate(build, {"A": ["x"]})
    rows = run(lake, labels=lake.session().sql("SELECT * FROM given", given=pa.table(labels)), min_count=0)
    worth = independent(same.reshape(60, 5).sum(axis=1), [5] * 60)
    assert 50 < worth < 62
    row = rows["agreement", "A", "B", None, None]
    wilson = proportion_confint(same.mean() * worth, worth, method="wilson")
    assert (row["low"], row["high"]) == pytest.approx(wilson, rel=1e-9)
    table = confusion_matrix(first, other)
    known = cohens_kappa(table)
    row, single = rows["cohen_kappa", "A", "B", None, None], beyond_chance(known, table)
    assert row["value"] == pytest.approx(known.kappa)
    assert (row["high"] - row["low"]) / (single[1] - single[0]) == pytest.approx(np.sqrt(5), rel=0.1)
    every = rows["fleiss_kappa", None, None, None, None]
    assert every["high"] - every["low"] > 2 * (single[1] - single[0])
