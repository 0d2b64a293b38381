"""retrieval_bias: Bias@K, MaxSkew@K, NDKL and Recall@K against a straightforward implementation, query by query."""

from __future__ import annotations

import math
import os
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t
from statsmodels.stats.proportion import proportion_confint

from counterbalance.engine.errors import SqlError

CLEAR = {"male", "female", "other"}


def hits(rankings):
    """``rankings``: {query: items from the best on}."""
    rows = [(q, i, r, 1.0 / r) for q, items in rankings.items() for r, i in enumerate(items, 1)]
    columns = [pa.array(c) for c in zip(*rows, strict=True)] if rows else [pa.array([])] * 4
    types = [pa.int64(), pa.int64(), pa.int32(), pa.float64()]
    return pa.table([c.cast(t) for c, t in zip(columns, types, strict=True)], ["query_id", "item_id", "rank", "score"])


def relations(rankings, labels, relevant=None):
    """Hits over all items, and over those with a clear label."""
    clear = {q: [i for i in items if labels[i] in CLEAR] for q, items in rankings.items()}
    groups = pa.table(
        {"item_id": pa.array(list(labels), pa.int64()), "label": pa.array(list(labels.values()), pa.string())}
    )
    given_relations = {"hits": hits(rankings), "labelled_hits": hits(clear), "item_groups": groups}
    if relevant is not None:
        pairs = [(q, i) for q, items in relevant.items() for i in items]
        columns = zip(("query_id", "item_id"), zip(*pairs, strict=True), strict=True)
        given_relations["relevant"] = pa.table({n: pa.array(c, pa.int64()) for n, c in columns})
    return given_relations


def run(session, rankings, labels, relevant=None, **options):
    """Averages as {(metric, k): row} and values as {(query, metric, k): row}."""
    given_relations = relations(rankings, labels, relevant)
    images = pa.table(
        {"query_id": pa.array(list(rankings), pa.int64()), "image_id": pa.array(list(rankings), pa.int64())}
    )
    calls = {"query_images": images, "min_count": 1, **options}
    means = session.audit("retrieval_bias", **given_relations, **calls).to_arrow().to_pylist()
    options.pop("min_count", None)
    values = session.audit("retrieval_bias_queries", **given_relations, **options).to_arrow().to_pylist()
    return {(r["metric"], r["k"]): r for r in means}, {(r["query_id"], r["metric"], r["k"]): r for r in values}


def bias(items, labels, k):
    counts = Counter(labels[i] for i in items[:k])
    both = counts["male"] + counts["female"]
    return (counts["male"] - counts["female"]) / both if both else 0.0


def wanted_shares(labels, desired):
    counts = Counter(v for v in labels.values() if v in CLEAR)
    if desired == "uniform":
        return {label: 1 / len(counts) for label in counts}
    return {label: n / sum(counts.values()) for label, n in counts.items()}


def max_skew(items, labels, k, shares, absent):
    top = Counter([labels[i] for i in items if labels[i] in CLEAR][:k])
    if not top:
        return None
    skews = [math.log(n / sum(top.values()) / shares[label]) for label, n in top.items()]
    if absent == "floor":
        skews += [0.0] + [math.log(1 / k / shares[label]) for label in shares if label not in top]
    return max(skews)


def ndkl(items, labels, k, shares):
    top = [labels[i] for i in items if labels[i] in CLEAR][:k]
    if not top:
        return None
    total = 0.0
    for i in range(1, len(top) + 1):
        seen = {label: n / i for label, n in Counter(top[:i]).items()}
        total += sum(s * math.log(s / shares[label]) for label, s in seen.items()) / math.log2(i + 1)
    return total / sum(1 / math.log2(i + 1) for i in range(1, len(top) + 1))


def test_by_hand(session):
    labels = {1: "male", 2: "male", 3: "female", 4: "unclear", 5: "unclear", 6: "female", 7: "male", 8: "male"}
    rankings = {10: [1, 4, 3, 2, 5, 7, 6, 8], 11: [4, 5, 3, 6, 1, 2, 7, 8]}
    means, values = run(session, rankings, labels, k=[2, 4], skew_k=[2, 4])
    assert values[10, "bias", 2]["value"] == 1.0
    assert values[10, "bias", 4]["value"] == pytest.approx(1 / 3)
    assert (values[11, "bias", 2]["value"], values[11, "bias", 2]["n"]) == (0.0, 0)
    assert means["bias", 4]["value"] == pytest.approx((1 / 3 - 1) / 2)
    # four of six labelled items are male; the first two labelled ones are male, female
    assert values[10, "maxskew", 2]["value"] == pytest.approx(math.log(0.5 / (1 / 3)))
    assert values[11, "maxskew", 2]["value"] == pytest.approx(math.log(3))
    assert means["maxskew", 2]["value"] == pytest.approx((math.log(1.5) + math.log(3)) / 2)
    assert means["maxskew", 2]["n"] == 2


def test_perfect_and_one_sided_rankings(session):
    labels = {i: "male" if i % 2 else "female" for i in range(20)}
    _, values = run(
        session, {1: list(range(20)), 2: sorted(labels, key=lambda i: i % 2)}, labels, k=[10], skew_k=[10, 20]
    )
    assert values[1, "bias", 10]["value"] == 0
    assert values[2, "bias", 10]["value"] == -1
    assert values[1, "maxskew", 10]["value"] == pytest.approx(0, abs=1e-15)
    assert values[2, "maxskew", 10]["value"] == pytest.approx(math.log(2))
    assert values[2, "ndkl", 10]["value"] == pytest.approx(math.log(2))
    assert values[1, "ndkl", 10]["value"] < values[2, "ndkl", 20]["value"] < math.log(2)


def test_options_of_berg_et_al(session):
    """A missing label counts as 1/K, shares are held against even ones, and the maximum starts at 0."""
    labels = dict.fromkeys(range(8), "male") | {8: "female", 9: "female"}
    rankings = {1: [8, 9], 2: [0, 1, 2, 3, 4, 5, 6, 7]}
    options = {"k": [2], "skew_k": [2, 8], "desired": "uniform", "absent": "floor"}
    _, values = run(session, rankings, labels, **options)
    assert values[1, "maxskew", 2]["value"] == pytest.approx(math.log(2))
    assert values[2, "maxskew", 8]["value"] == pytest.approx(math.log(2))
    _, values = run(session, rankings, labels, **{**options, "desired": "dataset"})
    assert values[1, "maxskew", 2]["value"] == pytest.approx(math.log(1 / 0.2))
    assert values[2, "maxskew", 8]["value"] == pytest.approx(max(math.log(1 / 0.8), math.log(1 / 8 / 0.2), 0))


def test_recall(session):
    labels = dict.fromkeys(range(30), "male")
    rankings = {q: [(q + s) % 30 for s in range(20)] for q in range(30)}
    relevant = {q: [(q + 3) % 30, (q + 25) % 30] for q in range(20)} | {q: [(q + 12) % 30] for q in range(20, 30)}
    means, values = run(session, rankings, labels, relevant, k=[3, 5, 15])
    assert [means["recall", k]["value"] for k in (3, 5, 15)] == [0, 20 / 30, 1]
    assert (means["recall", 3]["low"], means["recall", 15]["high"]) == (0, 1)
    row = means["recall", 5]
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(20, 30, method="wilson"), rel=1e-12)
    assert (values[0, "recall", 5]["value"], values[25, "recall", 5]["value"]) == (1, 0)


def test_without_relevant_items_there_is_no_recall(session):
    means, _ = run(session, {1: [1]}, {1: "male"})
    assert {metric for metric, _ in means} == {"bias", "maxskew", "ndkl"}


def test_other_labels_as_sides(session):
    labels = {1: "old", 2: "young", 3: "young"}
    means, _ = run(session, {1: [1, 2, 3]}, labels, k=[3], positive="young", negative="old")
    assert means["bias", 3]["value"] == pytest.approx(1 / 3)


def test_the_interval_is_that_of_the_mean(session):
    draw = np.random.default_rng(0)
    labels = {i: str(v) for i, v in enumerate(draw.choice(["male", "female"], 200))}
    rankings = {q: draw.permutation(200)[:20].tolist() for q in range(60)}
    means, values = run(session, rankings, labels, k=[10], skew_k=[20])
    for metric, k in (("bias", 10), ("maxskew", 20), ("ndkl", 20)):
        own = np.array([r["value"] for (_, m, _), r in values.items() if m == metric])
        spread = t.ppf(0.975, 59) * own.std(ddof=1) / np.sqrt(60)
        row = means[metric, k]
        assert row["value"] == pytest.approx(own.mean(), rel=1e-12)
        assert (row["low"], row["high"]) == pytest.approx((own.mean() - spread, own.mean() + spread), rel=1e-7)


def test_few_queries_are_hidden(session):
    means, _ = run(session, {q: [1] for q in range(9)}, {1: "male"}, min_count=10)
    assert all(r["suppressed"] and r["value"] is None and r["n"] is None for r in means.values())


@pytest.mark.parametrize("wrong", [{"desired": "even"}, {"absent": "zero"}, {"ranker": "bm25"}, {"neutral": "remove"}])
def test_unknown_options_are_refused(session, wrong):
    with pytest.raises(SqlError, match="cannot be"):
        run(session, {1: [1, 2]}, {1: "male", 2: "female"}, **wrong)


item_label = st.sampled_from(["male", "female", "other", "unclear", "mixed"])


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")))
@given(data=st.data(), desired=st.sampled_from(["dataset", "uniform"]), absent=st.sampled_from(["skip", "floor"]))
def test_agrees_with_python(session, data, desired, absent):
    labels = dict(enumerate(data.draw(st.lists(item_label, min_size=1, max_size=15))))
    order = st.permutations(list(labels)).map(lambda p: p[: data.draw(st.integers(1, len(p)))])
    rankings = dict(enumerate(data.draw(st.lists(order, min_size=1, max_size=4))))
    options = {"k": [1, 5], "skew_k": [3, 10], "desired": desired, "absent": absent}
    means, values = run(session, rankings, labels, **options)
    shares = wanted_shares(labels, desired)
    expected = {}
    for q, items in rankings.items():
        for k in (1, 5):
            expected[q, "bias", k] = bias(items, labels, k)
        for k in (3, 10):
            expected[q, "maxskew", k] = max_skew(items, labels, k, shares, absent)
            expected[q, "ndkl", k] = ndkl(items, labels, k, shares)
    expected = {key: value for key, value in expected.items() if value is not None}
    assert {key: row["value"] for key, row in values.items()} == pytest.approx(expected, rel=1e-9, abs=1e-12)
    for (metric, k), row in means.items():
        own = [v for (_, m, at), v in expected.items() if (m, at) == (metric, k)]
        assert (row["value"], row["n"]) == (pytest.approx(np.mean(own), rel=1e-9, abs=1e-12), len(own))
