"""top_k over texts equals scikit-learn's TF-IDF and cosine over the dense matrix."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.search import statement_cache, tfidf
from counterbalance.engine.search.ranking import top_k

TINY = 1e-9


def relation(name, texts, images=None):
    ids = sorted(texts)
    columns = {name: ids, "text": pa.array([texts[i] for i in ids], pa.string())}
    if images is not None:
        columns["image_id"] = [images[i] for i in ids]
    return pa.table(columns)


def dense(queries, items):
    """Similarities of all pairs as scikit-learn gives them."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    try:
        b = vectorizer.fit_transform([items[i] or "" for i in sorted(items)])
    except ValueError:
        return np.zeros((len(queries), len(items)))
    a = vectorizer.transform([queries[q] or "" for q in sorted(queries)])
    return (a @ b.T).toarray()


def check(hits, queries, items, k, excluded=lambda q, i: False):
    """Scores are right, the best are there, ranks run from 1, equal texts come by item id."""
    scores = dense(queries, items)
    rows = list(zip(*(c.to_pylist() for c in hits.columns), strict=True))
    assert rows == sorted(rows, key=lambda r: (r[0], r[2]))
    for row, query in enumerate(sorted(queries)):
        mine = [r for r in rows if r[0] == query]
        allowed = {i: scores[row, column] for column, i in enumerate(sorted(items)) if not excluded(query, i)}
        assert [r[2] for r in mine] == list(range(1, min(k, len(allowed)) + 1))
        assert all(r[3] == pytest.approx(allowed[r[1]], abs=TINY) for r in mine)
        assert [r[3] for r in mine] == sorted((r[3] for r in mine), reverse=True)
        left = [s for i, s in allowed.items() if i not in {r[1] for r in mine}]
        assert not left or max(left) <= mine[-1][3] + TINY
        for first, second in itertools.pairwise(mine):
            if items[first[1]] == items[second[1]] or first[3] == second[3] == 0:
                assert first[1] < second[1]
        last = {
            i for i, s in allowed.items() if mine and abs(s - mine[-1][3]) < TINY and items[i] == items[mine[-1][1]]
        }
        shown = [r[1] for r in mine if r[1] in last]
        assert shown == sorted(last)[: len(shown)], "of equal texts at the cut the lowest ids stay"


words = st.sampled_from(["dog", "cat", "man", "woman", "runs", "sits", "the", "Dog", "é", "a", "x1", "..."])
texts = st.none() | st.lists(words, max_size=5).map(" ".join)
sides = st.dictionaries(st.integers(0, 60), texts, min_size=1, max_size=25)


@pytest.mark.parametrize("spare", [0, 12])
def test_any_texts(spare, monkeypatch):
    """Also where the short list decides nothing, and every row must be computed whole."""

    @given(queries=sides, items=sides, k=st.integers(1, 30))
    def compare(queries, items, k):
        check(top_k(relation("query_id", queries), relation("item_id", items), k=[k]), queries, items, k)

    monkeypatch.setattr(tfidf, "_SPARE", spare)
    compare()


@given(items=sides, k=st.integers(1, 8), groups=st.integers(1, 6))
def test_own_items_are_left_out(items, k, groups):
    images = {i: i % groups for i in items}
    rows = relation("caption_id", items, images)
    check(top_k(rows, rows, k=[k]), items, items, k, lambda q, i: images[q] == images[i])
    check(top_k(rows, rows, k=[k], exclude_own=False), items, items, k)


def test_many_equal_texts():
    """All tie: the ids decide, over several blocks."""
    items = dict.fromkeys(range(1000), "a dog runs") | {1000: "a cat"}
    hits = top_k(relation("query_id", {1: "dog"}), relation("item_id", items), k=[40])
    assert hits["item_id"].to_pylist() == list(range(40))


def test_vectors_are_fitted_on_all_items_even_if_some_are_ranked():
    items = {1: "dog runs", 2: "dog", 3: "runs", 4: "runs fast"}
    queries = {9: "dog runs"}
    whole = top_k(relation("query_id", queries), relation("item_id", items), k=[4])
    some = top_k(
        relation("query_id", queries), relation("item_id", items), k=[4], among=pa.table({"item_id": [2, 3, 4]})
    )
    score = dict(zip(whole["item_id"].to_pylist(), whole["score"].to_pylist(), strict=True))
    got = dict(zip(some["item_id"].to_pylist(), some["score"].to_pylist(), strict=True))
    assert got == {i: s for i, s in score.items() if i != 1}
    assert some["rank"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("queries", [{1: ""}, {1: None}, {1: "a . !"}, {1: "unknown words"}])
def test_a_query_without_known_words_ranks_by_id(queries):
    hits = top_k(relation("query_id", queries), relation("item_id", {7: "dog", 5: "cat", 6: "man"}), k=[2])
    assert hits.to_pylist() == [
        {"query_id": 1, "item_id": 5, "rank": 1, "score": 0.0},
        {"query_id": 1, "item_id": 6, "rank": 2, "score": 0.0},
    ]


def test_no_words_at_all():
    hits = top_k(relation("query_id", {1: "dog"}), relation("item_id", {1: "", 2: None}), k=[5])
    assert hits["item_id"].to_pylist() == [1, 2]


def test_empty_sides():
    full, empty = (
        relation("query_id", {1: "dog"}),
        pa.table({"id": pa.array([], pa.int64()), "text": pa.array([], pa.string())}),
    )
    assert top_k(full, empty).num_rows == top_k(empty, full).num_rows == 0


def test_real_captions(data_dir):
    """400 COCO captions against 2,000 others."""
    import json

    document = json.loads((data_dir / "coco" / "captions_val2017.json").read_text(encoding="utf-8"))
    texts = {a["id"]: a["caption"] for a in document["annotations"][:2400]}
    ids = sorted(texts)
    queries, items = {i: texts[i] for i in ids[:400]}, {i: texts[i] for i in ids[400:]}
    check(top_k(relation("query_id", queries), relation("item_id", items), k=[5, 10]), queries, items, 10)


@given(
    items=sides, queries=sides, k=st.integers(1, 8), deeper=st.integers(0, 4), seed=st.integers(0, 9), own=st.booleans()
)
def test_all_items_after_some_of_them_in_one_statement(items, queries, k, deeper, seed, own):
    """What was ranked among some items serves for all of them, and changes nothing."""
    draw = np.random.default_rng(seed)
    images = {n: int(draw.integers(0, 12)) for n in range(61)}
    asked, ranked = relation("query_id", queries, images), relation("item_id", items, images)
    among = pa.table({"item_id": draw.choice(sorted(items), max(1, len(items) // 2), replace=False)})
    with statement_cache.statement():
        some = top_k(asked, ranked, k=[k + deeper], among=among, exclude_own=own)
        both = top_k(asked, ranked, k=[k], exclude_own=own)
    assert both == top_k(asked, ranked, k=[k], exclude_own=own)
    assert some == top_k(asked, ranked, k=[k + deeper], among=among, exclude_own=own)
