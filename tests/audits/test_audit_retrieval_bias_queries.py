"""retrieval_bias_queries: Bias@K, MaxSkew@K, NDKL and Recall@K of every query, from given hits."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from counterbalance.engine.errors import SqlError

CLEAR = ("male", "female", "x")
LABELS = (*CLEAR, "mixed", "unclear", "undefined", None)
PAIRS = pa.schema([("query_id", pa.int64()), ("item_id", pa.int64())])
HITS = pa.schema([*PAIRS, ("rank", pa.int32()), ("score", pa.float64())])
ITEMS = pa.schema([("item_id", pa.int64()), ("label", pa.string())])


def rows_of(schema, rows):
    columns = zip(*rows, strict=True) if rows else [[]] * len(schema)
    return pa.table([pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def hits_table(rankings, draw=None):
    """Hits of ``{query: items in order}``, as rows in any order."""
    rows = [(q, i, rank, 1.0 / rank) for q, items in rankings.items() for rank, i in enumerate(items, 1)]
    return rows_of(HITS, rows if draw is None else [rows[i] for i in draw.permutation(len(rows))])


def run(session, labels, all_hits, clear_hits, relevant=(), **options):
    arguments = {
        "hits": hits_table(all_hits) if isinstance(all_hits, dict) else all_hits,
        "labelled_hits": hits_table(clear_hits) if isinstance(clear_hits, dict) else clear_hits,
        "item_groups": rows_of(ITEMS, list(labels.items())),
        "relevant": rows_of(PAIRS, sorted(relevant)),
    }
    rows = session.audit("retrieval_bias_queries", **arguments, **options).to_arrow().to_pylist()
    found = {(r["query_id"], r["metric"], r["k"]): (r["value"], r["n"]) for r in rows}
    assert len(found) == len(rows)
    assert list(found) == sorted(found)
    for row in rows:
        if row["metric"] == "bias" and row["n"]:
            share = proportion_confint(round(row["n"] * (1 + row["value"]) / 2), row["n"], method="wilson")
            assert (row["low"], row["high"]) == pytest.approx([2 * end - 1 for end in share], abs=1e-12)
        else:
            assert (row["low"], row["high"]) == (None, None)
    return found


def desired_shares(labels, desired):
    counts = {c: sum(x == c for x in labels.values()) for c in CLEAR}
    counts = {c: n for c, n in counts.items() if n}
    return {c: 1 / len(counts) if desired == "uniform" else n / sum(counts.values()) for c, n in counts.items()}


def bias(top, labels):
    plus, minus = (sum(labels[i] == side for i in top) for side in ("male", "female"))
    return ((plus - minus) / (plus + minus) if plus + minus else 0.0), plus + minus


def max_skew(top, labels, shares, absent, k):
    seen = [labels[i] for i in top]
    skews = [math.log(seen.count(c) / len(seen) / share) for c, share in shares.items() if c in seen]
    if absent == "floor":
        skews += [0.0, *(math.log(1 / k / share) for c, share in shares.items() if c not in seen)]
    return max(skews), len(seen)


def ndkl(top, labels, shares):
    total = norm = 0.0
    for i in range(1, len(top) + 1):
        seen = [labels[item] for item in top[:i]]
        divergence = sum(
            seen.count(c) / i * math.log(seen.count(c) / i / share) for c, share in shares.items() if c in seen
        )
        total += divergence / math.log2(i + 1)
        norm += 1 / math.log2(i + 1)
    return total / norm, len(top)


def expected(labels, all_hits, clear_hits, relevant, ks, skew_ks, desired, absent):
    shares = desired_shares(labels, desired)
    values = {}
    for q, items in all_hits.items():
        values |= {(q, "bias", k): bias(items[:k], labels) for k in ks if items}
    for q, items in clear_hits.items():
        for k in skew_ks if items else ():
            values[q, "maxskew", k] = max_skew(items[:k], labels, shares, absent, k)
            values[q, "ndkl", k] = ndkl(items[:k], labels, shares)
    for q in {q for q, _ in relevant}:
        wanted = {i for query, i in relevant if query == q}
        for k in ks:
            values[q, "recall", k] = (1.0 if wanted & set(all_hits.get(q, [])[:k]) else 0.0), len(wanted)
    return values


FIVE = {1: "male", 2: "male", 3: "male", 4: "female", 5: "unclear"}
ORDERS = {7: [5, 1, 2, 4, 3]}, {7: [1, 2, 4, 3]}


def test_bias_and_recall_by_hand(session):
    """The unclear item takes a place among the first K; + is male."""
    rows = run(session, FIVE, *ORDERS, [(7, 4), (7, 3)], k=[1, 2, 3, 4, 5], skew_k=[1])
    values = [rows[7, "bias", k] for k in (1, 2, 3, 4, 5)]
    assert values == [(0.0, 0), (1.0, 1), (1.0, 2), (pytest.approx(1 / 3), 3), (0.5, 4)]
    assert [rows[7, "recall", k][0] for k in (1, 2, 3, 4, 5)] == [0, 0, 0, 1, 1]


def test_sides_of_bias_are_parameters(session):
    rows = run(session, FIVE, *ORDERS, k=[5], skew_k=[1], positive="female", negative="male")
    assert rows[7, "bias", 5] == (-0.5, 4)


@pytest.mark.parametrize(
    ("desired", "absent", "at_two", "at_four"),
    [
        ("dataset", "skip", math.log(1 / 0.75), 0.0),
        ("dataset", "floor", math.log((1 / 2) / 0.25), 0.0),  # no female among two: as if one in two were
        ("uniform", "skip", math.log(1 / 0.5), math.log(0.75 / 0.5)),
        ("uniform", "floor", math.log(1 / 0.5), math.log(0.75 / 0.5)),
    ],
)
def test_max_skew_by_hand(session, desired, absent, at_two, at_four):
    rows = run(session, FIVE, *ORDERS, k=[1], skew_k=[2, 4], desired=desired, absent=absent)
    assert rows[7, "maxskew", 2] == (pytest.approx(at_two, abs=1e-15), 2)
    assert rows[7, "maxskew", 4] == (pytest.approx(at_four, abs=1e-15), 4)


def test_skipped_labels_never_push_the_skew_under_zero_and_floored_ones_do_not_either(session):
    labels = {1: "male", 2: "male", 3: "female"}
    order = {1: [3, 1, 2]}
    for absent in ("skip", "floor"):
        rows = run(session, labels, order, order, k=[1], skew_k=[1, 2, 3], absent=absent)
        assert min(rows[1, "maxskew", k][0] for k in (1, 2, 3)) >= 0


def test_ndkl_by_hand(session):
    """Two items, one of each label, both wanted half the time: only the first prefix diverges, by ln 2."""
    order = {1: [1, 2]}
    rows = run(session, {1: "male", 2: "female"}, order, order, k=[1], skew_k=[1, 2], desired="uniform")
    assert rows[1, "ndkl", 1] == (pytest.approx(math.log(2), rel=1e-15), 1)
    assert rows[1, "ndkl", 2] == (pytest.approx(math.log(2) / (1 + 1 / math.log2(3)), rel=1e-14), 2)


@pytest.mark.parametrize("wrong", [{"desired": "even"}, {"absent": "drop"}])
def test_unknown_choices_are_refused(session, wrong):
    with pytest.raises(SqlError, match="cannot be"):
        run(session, FIVE, *ORDERS, k=[1], skew_k=[2], **wrong)


def draw_case(seed):
    draw = np.random.default_rng(seed)
    weights = draw.dirichlet(np.ones(len(LABELS)))
    n = int(draw.integers(1, 31))
    labels = {
        int(i): LABELS[c] for i, c in zip(draw.permutation(n), draw.choice(len(LABELS), n, p=weights), strict=True)
    }
    clear = [i for i, label in labels.items() if label in CLEAR]
    queries = [int(q) for q in draw.choice(1_000, draw.integers(1, 9), replace=False)]
    all_hits = {q: [int(i) for i in draw.permutation(n)[: draw.integers(0, n + 1)]] for q in queries}
    clear_hits = {q: [int(i) for i in draw.permutation(clear)[: draw.integers(0, len(clear) + 1)]] for q in queries}
    relevant = {(q, int(i)) for q in queries for i in draw.integers(0, n, draw.integers(0, 3))}
    return draw, labels, all_hits, clear_hits, relevant


cuts = st.lists(st.integers(1, 40), min_size=1, max_size=3, unique=True)


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")))
@given(
    seed=st.integers(0, 2**32),
    ks=cuts,
    skew_ks=cuts,
    desired=st.sampled_from(["dataset", "uniform"]),
    absent=st.sampled_from(["skip", "floor"]),
)
def test_agrees_with_python(session, seed, ks, skew_ks, desired, absent):
    draw, labels, all_hits, clear_hits, relevant = draw_case(seed)
    tables = hits_table(all_hits, draw), hits_table(clear_hits, draw)
    rows = run(session, labels, *tables, relevant, k=ks, skew_k=skew_ks, desired=desired, absent=absent)
    wanted = expected(labels, all_hits, clear_hits, relevant, ks, skew_ks, desired, absent)
    assert rows.keys() == wanted.keys()
    for key, (value, n) in wanted.items():
        assert rows[key][0] == pytest.approx(value, rel=1e-12, abs=1e-12), key
        assert rows[key][1] == n, key


def test_rows_carry_their_parameters(session):
    given_hits = {"hits": hits_table(ORDERS[0]), "labelled_hits": hits_table(ORDERS[1])}
    groups = rows_of(ITEMS, list(FIVE.items()))
    rows = session.audit(
        "retrieval_bias_queries", **given_hits, item_groups=groups, skew_k=[2], absent="floor"
    ).to_arrow()
    params = [json.loads(p) for p in rows["params"].to_pylist()]
    assert len(params) == rows.num_rows > 0
    for found in params:
        assert (found["k"], found["skew_k"], found["desired"], found["absent"]) == ([5, 10], [2], "dataset", "floor")


def test_a_cut_off_that_stands_there_twice_counts_once(session):
    labels = {1: "male", 2: "female", 3: "male"}
    rankings = {7: [1, 2, 3], 8: [2, 3, 1]}
    once = run(session, labels, rankings, rankings, relevant=[(7, 2)], k=[2], skew_k=[3])
    assert run(session, labels, rankings, rankings, relevant=[(7, 2)], k=[2, 2], skew_k=[3, 3]) == once
