"""The random ranker is a seeded draw without replacement for every query."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from scipy.stats import chisquare

from counterbalance.engine.search.ranking import top_k


def relation(name, ids, images=None):
    columns = {name: list(ids)}
    return pa.table(columns if images is None else columns | {"image_id": images})


def ranked(seed=0, k=5, queries=range(20), items=range(30), **more):
    return top_k(relation("query_id", queries), relation("item_id", items), "random", [k], seed=seed, **more)


def test_the_same_seed_draws_the_same():
    assert ranked(seed=3).equals(ranked(seed=3))
    assert not ranked(seed=3).equals(ranked(seed=4))


def test_every_query_draws_for_itself():
    rows = ranked(k=30)
    orders = {tuple(r["item_id"] for r in rows.to_pylist() if r["query_id"] == q) for q in range(20)}
    assert len(orders) == 20


def test_no_item_twice_and_ranks_from_one():
    rows = ranked(k=50).to_pylist()
    for query in range(20):
        mine = [r for r in rows if r["query_id"] == query]
        assert sorted(r["item_id"] for r in mine) == list(range(30))
        assert [r["rank"] for r in mine] == list(range(1, 31))
        assert [r["score"] for r in mine] == sorted((r["score"] for r in mine), reverse=True)


@pytest.mark.parametrize("count", [7, 30, 100, 1000])
def test_the_first_items_are_the_same_for_any_k(count):
    whole = ranked(k=count, queries=range(3), items=range(count)).to_pylist()
    assert sorted(r["item_id"] for r in whole) == sorted([*range(count)] * 3)
    for k in (1, 5, 70, 300, count - 1):
        assert ranked(k=k, queries=range(3), items=range(count)).to_pylist() == [r for r in whole if r["rank"] <= k]


@pytest.mark.parametrize(("count", "place"), [(10, 10), (40, 1), (40, 39), (40, 40)])
def test_every_item_is_as_likely_at_every_place(count, place):
    """As below; at the last places what was left is shuffled, not drawn."""
    rows = ranked(k=place, queries=range(100 * count), items=range(count)).to_pylist()
    counts = Counter(r["item_id"] for r in rows if r["rank"] == place)
    assert chisquare([counts[i] for i in range(count)]).pvalue > 1e-4


def test_own_items_are_left_out():
    sides = relation("query_id", range(10), [i // 5 for i in range(10)])
    rows = top_k(sides, sides.rename_columns(["item_id", "image_id"]), "random", [9]).to_pylist()
    assert all(r["query_id"] // 5 != r["item_id"] // 5 for r in rows)
    assert len(rows) == 50


def test_every_item_is_as_likely():
    """A χ² test over 3,000 first places that a fair draw fails once in 10,000 seeds; this seed is fixed."""
    counts = Counter(ranked(k=1, queries=range(3000), items=range(10))["item_id"].to_pylist())
    expected = 300
    assert sum((counts[i] - expected) ** 2 / expected for i in range(10)) < 33.7


def test_large_ids_are_kept_whole():
    big = [2**62 + 1, 2**62 + 3]
    assert sorted(set(ranked(items=big, k=2)["item_id"].to_pylist())) == big
