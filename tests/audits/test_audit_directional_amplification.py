"""directional_amplification: both directions against matrices as in the papers' code, sets of concepts, intervals, small counts."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

Z = 1.959963984540054
CONCEPTS = "abcde"


def draw(seed, n, labels=("f", "m")):
    """Labels and a matrix of concepts, which go together."""
    random = np.random.default_rng(seed)
    groups = random.choice(labels, n)
    tilt = {label: random.uniform(0.1, 0.8, len(CONCEPTS)) for label in labels}
    return groups, np.array([random.random(len(CONCEPTS)) < tilt[g] for g in groups])


def of_labels(groups):
    return pa.table({"image_id": pa.array(range(len(groups)), pa.int64()), "label": [str(g) for g in groups]})


def of_concepts(matrix):
    rows, columns = np.nonzero(matrix)
    return pa.table({"image_id": pa.array(rows, pa.int64()), "concept": [CONCEPTS[c] for c in columns]})


def given(seed=0, n=400, labels=("f", "m")):
    groups, matrix = draw(seed, n, labels)
    train_groups, train = draw(seed + 1, 300, labels)
    _, noise = draw(seed + 2, n, labels)
    predicted = np.where(np.random.default_rng(seed).random(matrix.shape) < 0.8, matrix, noise)
    guessed = np.where(np.random.default_rng(seed + 3).random(n) < 0.7, groups, draw(seed + 4, n, labels)[0])
    return groups, matrix, train_groups, train, predicted, guessed


def run(session, parts, **options):
    names = ("groups", "concepts", "train_groups", "train_concepts", "predicted_concepts", "predicted_groups")
    made = [of_labels(p) if p.ndim == 1 else of_concepts(p) for p in parts]
    arguments = {"show": "all", "min_count": 1, **dict(zip(names, made, strict=True)), **options}
    return session.audit("directional_amplification", **arguments).to_arrow().to_pylist()


def reference(parts, sets, base="test"):
    """{(direction, label, set): (y, actual, predicted)} from matrices."""
    groups, matrix, train_groups, train, predicted, guessed = parts
    found = {}
    for chosen in sets:
        where = [CONCEPTS.index(c) for c in chosen]
        has, trained, told = (m[:, where].all(axis=1) for m in (matrix, train, predicted))
        for label in np.unique(train_groups):
            mine, own = groups == label, train_groups == label
            y = np.sign(round((own & trained).mean() - own.mean() * trained.mean(), 12))
            forward = trained[own] if base == "train" else has[mine]
            back = own[trained] if base == "train" else mine[has]
            name = " + ".join(chosen)
            found["group_to_concept", label, name] = (y, forward.mean(), told[mine].mean())
            if has.any():
                found["concept_to_group", label, name] = (y, back.mean(), (guessed == label)[has].mean())
    return found


def check(rows, wanted):
    pairs = {(r["direction"], r["label"], r["concept"]): r for r in rows if r["level"] == "pair"}
    assert set(pairs) == set(wanted)
    for key, (y, actual, predicted) in wanted.items():
        row = pairs[key]
        assert (row["y"], row["actual"], row["predicted"]) == (y, pytest.approx(actual), pytest.approx(predicted))
        assert row["delta"] == pytest.approx(predicted - actual, abs=1e-12)
        assert row["value"] == pytest.approx(y * (predicted - actual), abs=1e-12)
        assert row["low"] <= row["high"]
    for row in (r for r in rows if r["level"] == "mean"):
        deltas = [(y, p - a) for (direction, *_), (y, a, p) in wanted.items() if direction == row["direction"]]
        assert row["value"] == pytest.approx(np.mean([y * d for y, d in deltas]), abs=1e-12)
        assert row["absolute"] == pytest.approx(np.mean([abs(d) for _, d in deltas]), abs=1e-12)
        assert row["variance"] == pytest.approx(np.var([d for _, d in deltas]), abs=1e-12)
        assert row["pairs"] == len(deltas)


@pytest.mark.parametrize("labels", [("f", "m"), ("x", "y", "z")])
@pytest.mark.parametrize("base", ["test", "train"])
def test_single_concepts(session, base, labels):
    parts = given(labels=labels)
    check(run(session, parts, base=base), reference(parts, list(CONCEPTS), base))


def test_subsets(session):
    parts = given(5)
    sets = [s for size in (1, 2, 3) for s in itertools.combinations(CONCEPTS, size)]
    sets = [s for s in sets if parts[3][:, [CONCEPTS.index(c) for c in s]].all(axis=1).any()]
    rows = run(session, parts, sets="subsets", size=3)
    check(rows, reference(parts, sets))
    assert {r["concept"].count("+") for r in rows if r["level"] == "pair"} == {0, 1, 2}
    pairs = run(session, parts, sets="subsets")
    check(pairs, reference(parts, [s for s in sets if len(s) < 3]))


def test_sets_of_whole_images(session):
    """What all concepts of a training image are, as in the released code."""
    parts = given(6)
    sets = {tuple(CONCEPTS[c] for c in np.flatnonzero(row)) for row in parts[3] if row.any()}
    check(run(session, parts, sets="images"), reference(parts, sorted(sets)))


def test_by_hand(session):
    """Cooking goes with women, 30 of 40; a model that finds it in women only makes that stronger both ways."""
    groups = np.array(["f"] * 50 + ["m"] * 50)
    matrix = np.zeros((100, 5), bool)
    matrix[:30, 0] = matrix[50:60, 0] = True
    predicted = matrix.copy()
    predicted[30:35, 0] = True
    predicted[50:60, 0] = False
    rows = run(session, (groups, matrix, groups, matrix, predicted, groups))
    forward = {r["label"]: r for r in rows if r["direction"] == "group_to_concept" and r["level"] == "pair"}
    assert (forward["f"]["y"], forward["f"]["value"]) == (1, pytest.approx(0.1))
    assert (forward["m"]["y"], forward["m"]["value"]) == (-1, pytest.approx(0.2))
    (mean,) = (r for r in rows if r["direction"] == "group_to_concept" and r["level"] == "mean")
    assert (mean["value"], mean["n"]) == (pytest.approx(0.15), 100)
    assert {r["value"] for r in rows if r["direction"] == "concept_to_group"} == {0.0}


def test_interval_of_a_pair(session):
    """Agresti and Min: half a case more in each of four cells; Agresti and Caffo as statsmodels has them."""
    parts = given(8)
    groups, matrix, train_groups, train, predicted, _ = parts
    rows = {(r["label"], r["concept"]): r for r in run(session, parts) if r["direction"] == "group_to_concept"}
    for label, concept in itertools.product("fm", CONCEPTS):
        mine, at = groups == label, CONCEPTS.index(concept)
        more = (predicted[mine, at] & ~matrix[mine, at]).sum() + 0.5
        less = (matrix[mine, at] & ~predicted[mine, at]).sum() + 0.5
        n = mine.sum() + 2
        half = Z * np.sqrt((more + less) - (more - less) ** 2 / n) / n
        assert rows[label, concept]["p"] == pytest.approx(2 * norm.sf(abs(more - less) / n / half * Z), rel=1e-6)
        ends = sorted(rows[label, concept]["y"] * ((more - less) / n + half * side) for side in (-1, 1))
        assert (rows[label, concept]["low"], rows[label, concept]["high"]) == pytest.approx(ends, abs=1e-12)
    rows = {
        (r["label"], r["concept"]): r for r in run(session, parts, base="train") if r["direction"] == "group_to_concept"
    }
    for label, concept in itertools.product("fm", CONCEPTS):
        mine, own, at = groups == label, train_groups == label, CONCEPTS.index(concept)
        counts = predicted[mine, at].sum(), mine.sum(), train[own, at].sum(), own.sum()
        ends = confint_proportions_2indep(*counts, method="agresti-caffo", compare="diff")
        y = rows[label, concept]["y"]
        assert (rows[label, concept]["low"], rows[label, concept]["high"]) == pytest.approx(sorted(y * e for e in ends))


def test_q_is_over_pairs_of_both_directions(session):
    rows = run(session, given(8))
    pairs = [r for r in rows if r["level"] == "pair"]
    assert [r["q"] for r in pairs] == pytest.approx(list(multipletests([r["p"] for r in pairs], method="fdr_bh")[1]))
    assert {(r["p"], r["q"]) for r in rows if r["level"] == "mean"} == {(None, None)}


@pytest.mark.parametrize("base", ["test", "train"])
def test_interval_of_the_mean_is_that_of_a_bootstrap(session, base):
    parts = given(9, 600)
    groups, matrix, train_groups, train, predicted, guessed = parts
    signs = {k: v[0] for k, v in reference(parts, list(CONCEPTS)).items()}
    random = np.random.default_rng(0)
    means = {"group_to_concept": [], "concept_to_group": []}
    for _ in range(300):
        i = random.integers(0, len(groups), len(groups))
        j = random.integers(0, len(train), len(train)) if base == "train" else slice(None)
        again = reference((groups[i], matrix[i], train_groups[j], train[j], predicted[i], guessed[i]), CONCEPTS, base)
        for direction, values in means.items():
            values.append(np.mean([signs[k] * (p - a) for k, (_, a, p) in again.items() if k[0] == direction]))
    for row in (r for r in run(session, parts, base=base) if r["level"] == "mean"):
        assert row["high"] - row["low"] == pytest.approx(2 * Z * np.std(means[row["direction"]]), rel=0.15)


def test_a_direction_without_predictions_has_no_rows(session):
    groups, matrix, *_, guessed = given()
    rows = session.audit(
        "directional_amplification",
        groups=of_labels(groups),
        concepts=of_concepts(matrix),
        predicted_groups=of_labels(guessed),
    ).to_arrow()
    assert [(r["direction"], r["level"], r["pairs"]) for r in rows.to_pylist()] == [("concept_to_group", "mean", 10)]


def test_small_counts_are_left_out(session):
    """A concept that one label has 3 times is left out with all its pairs, and counts of images without a label change nothing."""
    groups = np.array(["f"] * 60 + ["m"] * 60 + ["unclear"] * 30)
    matrix = np.zeros((150, 5), bool)
    matrix[:25, 0] = matrix[60:80, 0] = True
    matrix[:25, 1] = matrix[60:63, 1] = True
    matrix[120:, :2] = True
    predicted = matrix.copy()
    predicted[20:25, 0] = False
    rows = run(session, (groups, matrix, groups, matrix, predicted, groups), min_count=10)
    assert {r["concept"] for r in rows} == {None, "a"}
    assert {r["n_suppressed"] for r in rows} == {4}
    assert {r["n"] for r in rows if r["level"] == "mean"} == {120}
    few = run(session, (groups, matrix, groups, matrix, np.roll(predicted, 22, axis=0), groups), min_count=30)
    assert {r["value"] for r in few} == {None}


def test_what_few_images_of_a_label_lack_is_left_out(session):
    """a is in all but 3 pictures of women: with n, any share of it would tell."""
    groups = np.array(["f"] * 60 + ["m"] * 60)
    matrix = np.zeros((120, 5), bool)
    matrix[:57, 0] = matrix[60:80, 0] = True
    matrix[:25, 1] = matrix[60:80, 1] = True
    predicted = np.roll(matrix, 2, axis=0)
    rows = run(session, (groups, matrix, groups, matrix, predicted, groups), min_count=10)
    pairs = [r for r in rows if r["level"] == "pair"]
    assert {r["concept"] for r in pairs} == {"b"}
    assert all(r["predicted"] == r["predicted_n"] / r["n"] and r["actual"] == r["actual_n"] / r["n"] for r in pairs)


def test_few_images_of_one_concept_do_not_follow_where_each_has_one(session):
    """3 women have b: n less those with a, c and d would say so, were no other concept left out."""
    groups = np.array(["f"] * 60 + ["m"] * 60)
    concept = np.array([0] * 20 + [1] * 3 + [2] * 12 + [3] * 25 + [0] * 15 + [1] * 15 + [2] * 11 + [3] * 19)
    matrix = np.arange(5) == concept[:, None]
    rows = run(session, (groups, matrix, groups, matrix, matrix, groups), min_count=10)
    assert {r["concept"] for r in rows if r["level"] == "pair"} == {"a", "d"}
    assert {r["n_suppressed"] for r in rows} == {8}, "pairs of b and c, in two directions"
    assert {(r["value"], r["reason"]) for r in rows if r["level"] == "mean"} == {(None, "small")}


def test_an_interval_tells_not_how_often_a_model_is_wrong(session):
    """With both counts it has the number of images in which both are: 30 and 30, but not the same 3."""
    groups = np.array(["f"] * 60 + ["m"] * 60)
    matrix = np.zeros((120, 5), bool)
    matrix[:30, 0] = matrix[60:90, 0] = True
    predicted = matrix.copy()
    predicted[:3, 0], predicted[30:33, 0] = False, True
    rows = run(session, (groups, matrix, groups, matrix, predicted, groups), min_count=10)
    pairs = {r["label"]: r for r in rows if r["level"] == "pair" and r["direction"] == "group_to_concept"}
    assert (pairs["f"]["predicted_n"], pairs["f"]["low"], pairs["f"]["right_n"]) == (30, None, None)
    assert (pairs["m"]["right_n"], pairs["m"]["suppressed"]) == (30, False)
