"""Scores of a classifier agree with scikit-learn, and small cells are not published."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from counterbalance.udfs.models.scores import BINS, MIN_COUNT, score, softmax

CLASSES = ("a", "b", "c")
seeds = st.integers(0, 10_000)


def drawn(seed, rows=60, classes=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, rows)
    logits = rng.normal(0, 2, (rows, classes))
    logits[np.arange(rows), labels] += 1.5
    return labels, logits


@given(seeds)
def test_as_scikit_learn_has_them(seed):
    labels, logits = drawn(seed)
    said = logits.argmax(1)
    found = score(CLASSES, labels, logits)
    assert found.confusion.tolist() == metrics.confusion_matrix(labels, said, labels=[0, 1, 2]).tolist()
    assert found.accuracy == pytest.approx(metrics.accuracy_score(labels, said))
    assert found.kappa == pytest.approx(metrics.cohen_kappa_score(labels, said))
    assert found.macro_f1 == pytest.approx(metrics.f1_score(labels, said, average="macro"))
    wanted = metrics.precision_recall_fscore_support(labels, said, labels=[0, 1, 2], zero_division=np.nan)
    for i, row in enumerate(found.by_class()):
        assert row["n"] == wanted[3][i]
        for name, values in zip(("precision", "recall", "f1"), wanted, strict=False):
            assert (np.nan if row[name] is None else row[name]) == pytest.approx(values[i], nan_ok=True)


@given(seeds)
def test_calibration_is_what_the_definition_says(seed):
    labels, logits = drawn(seed)
    powers = np.exp(logits)
    chances = powers / powers.sum(1, keepdims=True)
    np.testing.assert_allclose(softmax(logits), chances)
    expected, told = 0.0, []
    for number in range(BINS):
        rows = [i for i, c in enumerate(chances.max(1)) if number / BINS <= c < (number + 1) / BINS]
        if rows:
            confidence = sum(chances[i].max() for i in rows) / len(rows)
            right = sum(chances[i].argmax() == labels[i] for i in rows) / len(rows)
            expected += len(rows) / len(labels) * abs(confidence - right)
            told.append((len(rows), pytest.approx(confidence), pytest.approx(right)))
    found = score(CLASSES, labels, logits)
    assert found.ece == pytest.approx(expected)
    assert [(r["n"], r["confidence"], r["accuracy"]) for r in found.reliability] == told


def test_a_sure_classifier_that_is_right_is_calibrated():
    found = score(("a", "b"), np.array([0, 1] * 10), np.array([[99.0, 0], [0, 99]] * 10))
    assert (found.ece, found.accuracy, found.kappa) == (0.0, 1.0, 1.0)
    assert [r["n"] for r in found.reliability] == [20]


def numbers(confusion):
    """Labels and logits with this confusion matrix."""
    labels, logits = [], []
    for true, row in enumerate(confusion):
        for said, n in enumerate(row):
            labels += [true] * n
            logits += [[5.0 if i == said else 0.0 for i in range(len(confusion))]] * n
    return np.array(labels), np.array(logits)


def test_small_cells_are_hidden_and_cannot_be_inferred():
    found = score(CLASSES, *numbers([[40, 12, 3], [11, 30, 10], [2, 1, 4]])).published()
    assert found["confusion"] == [[40, None, None], [11, 30, 10], [None, None, None]]
    assert [c["n"] for c in found["classes"]] == [55, 51, None]
    assert found["n"] is None  # or it would tell the third class


@given(
    st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=3, max_size=3).filter(
        lambda m: sum(map(sum, m))
    )
)
def test_what_is_published_never_shows_a_small_count(matrix):
    found = score(CLASSES, *numbers(matrix)).published()
    for row in found["confusion"]:
        assert all(n is None or n >= MIN_COUNT for n in row)
        assert row.count(None) != 1
    for true, told in zip(matrix, found["classes"], strict=True):
        assert (told["n"] is None) == (sum(true) < MIN_COUNT)
        assert told["n"] is not None or told["recall"] is None
    for i, told in enumerate(found["classes"]):
        assert sum(row[i] for row in matrix) >= MIN_COUNT or told["precision"] is None
    if [c["n"] for c in found["classes"]].count(None) == 1:
        assert found["n"] is None


def test_a_class_that_was_never_predicted_has_no_precision():
    found = score(("a", "b"), np.array([0] * 20 + [1] * 20), np.array([[1.0, 0.0]] * 40)).by_class()
    assert (found[1]["precision"], found[1]["recall"], found[1]["f1"]) == (None, 0.0, 0.0)
