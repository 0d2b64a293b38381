"""average_precision: as scikit-learn has it, ties included, its mean over concepts, and the jackknife over parts of the images."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit, logit
from scipy.stats import t
from sklearn.metrics import average_precision_score

N, CONCEPTS = 120, ("dog", "tie", "cake")


def drawn(seed=3):
    """Truth bool (N, 3), and scores in tenths that go with it."""
    draw = np.random.default_rng(seed)
    truth = draw.random((N, 3)) < [0.2, 0.4, 0.6]
    return truth, np.round(draw.normal(truth * 0.8, 1.0), 1)


def ask(session, truth, scores, **options):
    given = {"predictions": [], "truth": []}
    for column, name in enumerate(CONCEPTS):
        given["predictions"] += [(i, name, s) for i, s in enumerate(scores[:, column])]
        given["truth"] += [(i, name) for i in np.flatnonzero(truth[:, column])]
    columns = {"predictions": ("image_id", "concept", "score"), "truth": ("image_id", "concept")}
    tables = {
        k: pa.table(dict(zip(columns[k], map(list, zip(*v, strict=True)), strict=True))) for k, v in given.items()
    }
    rows = session.audit("average_precision", **tables, **options).to_arrow().to_pylist()
    return {row["concept"]: row for row in rows}


def jackknife(value_of, value, positives=N):
    """Ends of the interval with numpy, of the parts that the audit makes."""
    order = sorted(range(N), key=lambda i: hashlib.md5(str(i).encode(), usedforsecurity=False).hexdigest())
    part = np.empty(N, int)
    part[order] = np.arange(1, N + 1) % 20
    values = np.array([value_of(part != p) for p in range(20)])
    middle = 20 * value - 19 * values.mean()
    error = np.sqrt(19 / 20 * ((values - values.mean()) ** 2).sum()) / middle / (1 - middle)
    return tuple(expit(logit(middle) + t.ppf([0.025, 0.975], min(20, positives) - 1) * error))


def test_it_is_scikit_learns(session):
    truth, scores = drawn()
    found = ask(session, truth, scores)

    def area(column, kept=slice(None)):
        return average_precision_score(truth[kept, column], scores[kept, column])

    for column, name in enumerate(CONCEPTS):
        row, shown = found[name], truth[:, column].sum()
        assert row["value"] == pytest.approx(area(column), rel=1e-12)
        ends = jackknife(lambda kept, column=column: area(column, kept), area(column), shown)
        assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-5)
        assert (row["metric"], row["n"], row["n_positive"]) == ("ap", N, shown)
    row = found["all"]
    assert row["value"] == pytest.approx(np.mean([area(c) for c in range(3)]), rel=1e-12)
    ends = jackknife(lambda kept: np.mean([area(c, kept) for c in range(3)]), row["value"], truth.sum(0).min())
    assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-5)
    assert (row["metric"], row["n"], row["n_concepts"]) == ("map", N, 3)


def test_an_image_without_a_score_comes_last(session):
    truth, scores = drawn()
    low = scores.copy()
    scores[::7, 0], low[::7, 0] = np.nan, -99
    found = ask(session, truth, scores)["dog"]
    assert found["value"] == pytest.approx(average_precision_score(truth[:, 0], low[:, 0]), rel=1e-12)


def test_few_images_of_a_concept_have_fewer_degrees_of_freedom(session):
    truth, scores = drawn()
    truth[:, 0] = np.arange(N) % 11 == 0
    row = ask(session, truth, scores)["dog"]

    def area(kept=slice(None)):
        return average_precision_score(truth[kept, 0], scores[kept, 0])

    assert (row["low"], row["high"]) == pytest.approx(jackknife(area, area(), row["n_positive"]), abs=1e-5)
    assert row["n_positive"] == 11


def test_there_is_no_interval_where_all_images_of_a_concept_come_first(session):
    truth, scores = drawn()
    scores[truth[:, 0], 0] = 9
    row = ask(session, truth, scores)["dog"]
    assert (row["value"], row["low"], row["high"]) == (1, None, None)


def test_rare_concepts_are_hidden_and_not_in_the_mean(session):
    truth, scores = drawn()
    truth[:, 0] = np.arange(N) < 4
    found = ask(session, truth, scores)
    assert (found["dog"]["suppressed"], found["dog"]["value"]) == (True, None)
    rest = np.mean([average_precision_score(truth[:, c], scores[:, c]) for c in (1, 2)])
    assert (found["all"]["value"], found["all"]["n_concepts"]) == (pytest.approx(rest, rel=1e-12), 2)
