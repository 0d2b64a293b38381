"""attack_texts, attack_sets, attack_vectors: cuts by image, both labels equal; the numbers are scikit-learn's; odd input."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler
from threadpoolctl import threadpool_limits

import counterbalance as cb
from counterbalance.engine.errors import RequestError
from counterbalance.udfs import attackers
from counterbalance.udfs.attack_splits import split

WORDS = "cat dog tree car park ball red blue green table".split()  # noqa: SIM905


def one(*lists):
    return [pa.array([v]) if v is not None else pa.nulls(1) for v in lists]


def texts_of(images, labels, words=None, vocabulary=None, **more):
    given_ = one(images, ["a " + t for t in more.pop("texts")], labels, words, vocabulary)
    return attackers.attack_texts(*given_, **more).to_pylist()[0]


def scene(seed, count=120, tells=0.8):
    draw = np.random.default_rng(seed)
    labels = np.where(np.arange(count) % 3 == 0, "female", "male")
    texts = [
        " ".join([*draw.choice(WORDS, 5), "tie" if (own == "male") == (draw.random() < tells) else "scarf"])
        for own in labels
    ]
    return list(range(count)), texts, labels.tolist()


@given(
    rows=st.lists(st.tuples(st.integers(-5, 25), st.booleans()), max_size=60),
    seed=st.integers(0, 9),
    share=st.floats(0.05, 0.9),
)
def test_images_stay_on_one_side_and_labels_are_even(rows, seed, share):
    images, positive = np.array([r[0] for r in rows], np.int64), np.array([r[1] for r in rows], bool)
    cut = split(images, positive, seed, share)
    assert not {*images[cut.train].tolist()} & {*images[cut.test].tolist()}
    for side in (cut.train, cut.test):
        assert positive[side].sum() * 2 == len(side) == len({*side.tolist()})


def test_cuts_depend_on_images_and_seed_not_on_the_order_of_rows():
    images, positive = np.arange(200) * 7, np.arange(200) % 3 == 0
    cut = split(images, positive, 4, 0.2)
    order = np.random.default_rng(1).permutation(200)
    other = split(images[order], positive[order], 4, 0.2)
    assert {*images[cut.test].tolist()} == {*images[order][other.test].tolist()}
    assert {*cut.test.tolist()} != {*split(images, positive, 5, 0.2).test.tolist()}
    assert (len(cut.test), len(cut.train)) == (2 * 13, 2 * 54)  # of 67 and 133 images 13 and 27, the latter cut to 13


def test_cuts_of_few_images_and_of_images_with_both_labels():
    few = split(np.arange(4), np.array([True, True, False, False]), 0, 0.1)  # one image of either label at least
    assert (len(few.train), len(few.test)) == (2, 2)
    both = split(np.repeat(np.arange(10), 2), np.tile([True, False], 10), 0, 0.2)
    assert (len(both.train), len(both.test)) == (16, 4)
    assert not {*(both.train // 2).tolist()} & {*(both.test // 2).tolist()}


def test_four_images_of_either_label_are_enough():
    given = one(list(range(8)), [["tie"], ["hat"]] * 4, ["male", "female"] * 4)
    (run,) = attackers.attack_sets(*given, seeds=1).to_pylist()[0]
    assert (run["n_train"], run["n_test"], run["note"]) == (6, 2, None)
    assert attackers.judged(np.array([0.5]), np.array([True])) == (1.0, 0.5)  # predicted from 0.5 on


def test_every_image_is_judged_sooner_or_later():
    images, positive = np.arange(40), np.arange(40) < 20
    times = np.zeros(40, int)
    for seed in range(300):
        times[split(images, positive, seed, 0.25).test] += 1
    assert stats.chisquare(times).pvalue > 1e-3
    assert times.min() > 0


def judged_by_hand(chance, truth):
    """Both definitions row by row: mean of the probability of the predicted label where it is right, and the share right."""
    total = right = 0
    for p, is_true in zip(chance, truth, strict=True):
        said = p >= 0.5
        if said == is_true:
            right += 1
            total += p if said else 1 - p
    return right / len(truth), total / len(truth)


def check(run, cut, train, test, positive):
    model = LogisticRegression(max_iter=2000).fit(train, positive[cut.train])
    chance, truth = model.predict_proba(test)[:, 1], positive[cut.test]
    accuracy, confidence = judged_by_hand(chance.tolist(), truth.tolist())
    assert (run["n_train"], run["n_test"], run["note"]) == (len(cut.train), len(cut.test), None)
    assert run["accuracy"] == accuracy == accuracy_score(truth, model.predict(test))
    assert run["confidence"] == pytest.approx(confidence, rel=1e-6)
    assert run["auc"] == pytest.approx(roc_auc_score(truth, chance), rel=1e-9)


def test_texts_against_scikit_learn():
    images, texts, labels = scene(1)
    texts[3] = "A MAN, a man's tie"
    runs = texts_of(images, labels, ["Man"], texts=texts, seeds=3)
    masked = ["a " + t.lower().replace("man", "[mask]") for t in texts]
    positive = np.array(labels) == "male"
    for seed, run in enumerate(runs):
        cut = split(np.array(images), positive, seed, 0.2)
        words = TfidfVectorizer(token_pattern=r"\[mask\]|\w+")
        train = words.fit_transform([masked[i] for i in cut.train])
        check(run, cut, train, words.transform([masked[i] for i in cut.test]), positive)


def test_sets_against_scikit_learn():
    images, texts, labels = scene(2)
    sets = [t.split() if i % 10 else [] for i, t in enumerate(texts)]
    runs = attackers.attack_sets(*one(images, sets, labels), seeds=2, test_share=0.3).to_pylist()[0]
    ones, positive = MultiLabelBinarizer().fit_transform(sets), np.array(labels) == "male"
    for seed, run in enumerate(runs):
        cut = split(np.array(images), positive, seed, 0.3)
        check(run, cut, ones[cut.train], ones[cut.test], positive)


def test_vectors_against_scikit_learn():
    draw = np.random.default_rng(3)
    vectors = draw.normal(size=(90, 5)).astype(np.float32)
    vectors[::3, 2] += 1
    images, labels = list(range(90)), ["female", "male", "male"] * 30
    runs = attackers.attack_vectors(*one(images, vectors.tolist(), labels), seeds=2).to_pylist()[0]
    positive = np.array(labels) == "male"
    for seed, run in enumerate(runs):
        cut = split(np.array(images), positive, seed, 0.2)
        scale = StandardScaler().fit(vectors[cut.train].astype(float))
        check(run, cut, scale.transform(vectors[cut.train]), scale.transform(vectors[cut.test]), positive)


def test_what_is_planted_is_found_and_nothing_else():
    assert np.mean([r["auc"] for r in texts_of(*scene(4, 600)[::2], texts=scene(4, 600)[1])]) == pytest.approx(
        0.8, abs=0.06
    )
    images, texts, labels = scene(4, 600, tells=0.5)
    assert np.mean([r["auc"] for r in texts_of(images, labels, texts=texts)]) == pytest.approx(0.5, abs=0.08)


def test_masked_words_tell_nothing_and_words_outside_the_vocabulary_are_one():
    images, texts, labels = scene(5, tells=1.0)
    assert {r["accuracy"] for r in texts_of(images, labels, texts=texts)} == {1.0}
    masked = texts_of(images, labels, ["TIE", "scarf"], texts=texts)
    assert np.mean([r["accuracy"] for r in masked]) < 0.75
    without = texts_of(images, labels, None, ["a " + " ".join(WORDS)], texts=texts)
    assert without == masked  # both words are now one
    assert {r["accuracy"] for r in texts_of(images, labels, None, ["Tie!"], texts=texts)} == {1.0}


def test_texts_without_any_word():
    runs = attackers.attack_texts(*one(list(range(20)), ["!"] * 20, ["a", "b"] * 10, None, None), seeds=1).to_pylist()[
        0
    ]
    assert (runs[0]["accuracy"], runs[0]["confidence"], runs[0]["auc"]) == (0.5, 0.25, 0.5)


@pytest.mark.parametrize(
    ("images", "labels", "note"),
    [
        ([], [], "no rows"),
        (None, None, "no rows"),
        ([1, 2, 3], ["x"] * 3, "only one label: x"),
        (list(range(20)), ["x"] * 17 + ["y"] * 3, "fewer than 4 images of y"),
        ([*range(17), 99, 99, 99, 99, 99], ["x"] * 17 + ["y"] * 5, "fewer than 4 images of y"),
    ],
)
def test_too_little_gives_a_note(images, labels, note):
    sets = None if images is None else [["w"]] * len(images)
    runs = attackers.attack_sets(*one(images, sets, labels)).to_pylist()[0]
    assert runs == [{**dict.fromkeys(("seed", "n_train", "n_test", "accuracy", "confidence", "auc")), "note": note}]


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("E3051", lambda: texts_of([1], ["x"], texts=["t"], attacker="lstmm")),
        ("E3051", lambda: texts_of([1], ["x"], texts=["t"], seeds=0)),
        ("E3051", lambda: texts_of([1], ["x"], texts=["t"], test_share=1.0)),
        ("E3051", lambda: attackers.attack_sets(*one([1], [["w"]], ["x"]), attacker="lstm")),
        ("E3051", lambda: attackers.attack_sets(*one([1], [["w"]], ["x"]), learning_rate=-1.0)),
        ("E3651", lambda: texts_of([1, 2], ["x"], texts=["t"])),
        ("E3651", lambda: texts_of([1, 2], ["x", None], texts=["t", "u"])),
        ("E3651", lambda: texts_of([1, 2, 3], ["x", "y", "z"], texts=["t"] * 3)),
        ("E3700", lambda: attackers.attack_vectors(*one(list(range(10)), [[1.0]] * 9 + [[1.0, 2.0]], ["x", "y"] * 5))),
        ("E3702", lambda: attackers.attack_vectors(*one(list(range(10)), [[math.nan]] * 10, ["x", "y"] * 5))),
        ("E3700", lambda: attackers.attack_vectors(*one(list(range(10)), [None] + [[1.0]] * 9, ["x", "y"] * 5))),
    ],
)
def test_what_makes_no_sense_is_refused(code, call):
    with pytest.raises(RequestError) as caught:
        call()
    assert caught.value.code == code


def test_threads_do_not_matter():
    draw = np.random.default_rng(6)
    vectors, labels = draw.normal(size=(600, 64)).astype(np.float32).tolist(), ["x", "y"] * 300
    given_ = one(list(range(600)), vectors, labels)
    found = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            found.append(attackers.attack_vectors(*given_, seeds=2).to_pylist())
    assert found[0] == found[1]


@given(values=st.lists(st.floats(0, 1), min_size=2, max_size=12), ratio=st.floats(0.01, 1))
def test_interval_over_cuts(values, ratio):
    row = attackers.split_interval(pa.array([values]), pa.array([ratio])).to_pylist()[0]
    error = np.sqrt(np.var(values, ddof=1) * (1 / len(values) + ratio))
    assert row["value"] == pytest.approx(np.mean(values), abs=1e-12)
    wanted = np.mean(values) - stats.t.ppf(0.975, len(values) - 1) * error
    assert row["low"] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    assert row["high"] - row["value"] == pytest.approx(row["value"] - row["low"], abs=1e-9)


def test_interval_of_nothing():
    got = attackers.split_interval(
        pa.array([None, [], [0.5], [0.5, None]], pa.list_(pa.float64())), pa.nulls(4, pa.float64())
    )
    assert [r["value"] for r in got.to_pylist()] == [None, None, 0.5, None]
    assert {r["low"] for r in got.to_pylist()} == {None}


def test_in_a_query(lake):
    row = lake.sql(
        "SELECT attack_sets(list(i ORDER BY i), list([CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END] ORDER BY i), "
        "list(CASE WHEN i % 2 = 0 THEN 'x' ELSE 'y' END ORDER BY i), seeds := 2)[2].auc AS auc FROM range(40) AS t(i)"
    )
    assert row.to_arrow().to_pylist() == [{"auc": 1.0}]
    assert "attack_texts" in cb.functions()
