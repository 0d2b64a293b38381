"""markedness, self_similarity and so_b_it: as a script over all cosines has them; suppression."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from counterbalance.engine.errors import CounterbalanceError

N, D = 240, 6
DRAW = np.random.default_rng(11)
LABELS = np.array(["female", "male", "unclear", "male"])[np.arange(N) % 4]
MATRIX = (DRAW.normal(size=(N, D)) + 0.4 * (LABELS == "male")[:, None]).astype(np.float32)
PROMPTS = DRAW.normal(size=(4, D)).astype(np.float32)
NAMES = ["person", "a female person", "a male person", "person"]


def vectors(matrix):
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), D)


IMAGES = pa.table({"image_id": np.arange(N)[::-1], "embedding": vectors(MATRIX[::-1])})
GROUPS = pa.table({"image_id": np.arange(N), "label": LABELS.tolist()})
GIVEN = pa.table({"category": NAMES, "embedding": vectors(PROMPTS)})


def units(matrix):
    matrix = matrix.astype(np.float64)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


COSINES = units(MATRIX) @ units(PROMPTS).T


@pytest.fixture
def audit(lake):
    return lambda name, **given: lake.audit(name, **given).to_arrow().to_pylist()


def test_markedness_is_the_share_that_takes_the_unmarked_prompt(audit):
    rows = audit("markedness", images=IMAGES, prompts=GIVEN, groups=GROUPS)
    taken = np.array(NAMES)[COSINES.argmax(axis=1)] == "person"
    assert [r["label"] for r in rows] == ["female", "male"]
    for row in rows:
        own = taken[row["label"] == LABELS]
        assert (row["count"], row["n"], row["share"]) == (own.sum(), len(own), own.mean())
        assert 0 < row["share_low"] < row["share"] < row["share_high"] < 1


def test_markedness_ties_go_to_the_first_name(audit):
    same = pa.table({"category": ["person", "a person"], "embedding": vectors(PROMPTS[[0, 0]])})
    assert [r["count"] for r in audit("markedness", images=IMAGES, prompts=same, groups=GROUPS)] == [0, 0]
    rows = audit("markedness", images=IMAGES, prompts=same, groups=GROUPS, unmarked="a person")
    assert [r["share"] for r in rows] == [1, 1]


def test_markedness_hides_few(audit):
    taken = (np.array(NAMES)[COSINES.argmax(axis=1)] == "person") & (LABELS == "female")
    few = np.flatnonzero(taken)[9:]
    kept = GROUPS.filter(pa.array(~np.isin(np.arange(N), few)))
    rows = {r["label"]: r for r in audit("markedness", images=IMAGES, prompts=GIVEN, groups=kept)}
    assert rows["female"]["suppressed"]
    assert {rows["female"][c] for c in ("count", "n", "share", "share_low", "share_high")} == {None}
    assert rows["male"]["reason"] == "complementary"  # both together are known from the same call without groups


def test_markedness_refuses_vectors_of_another_length(audit):
    short = pa.table({"category": ["person"], "embedding": [[1.0, 2.0]]})
    with pytest.raises(CounterbalanceError, match="6 dimensions, items 2"):
        audit("markedness", images=IMAGES, prompts=short, groups=GROUPS)


def test_self_similarity_is_the_mean_over_pairs(audit):
    rows = audit("self_similarity", images=IMAGES, groups=GROUPS)
    assert [r["label"] for r in rows] == ["female", "male"]
    for row in rows:
        own = units(MATRIX[row["label"] == LABELS])
        pairs = (own @ own.T)[~np.eye(len(own), dtype=bool)]
        assert row["value"] == pytest.approx(pairs.mean(), abs=1e-9)
        assert row["n"] == len(own)
        n = len(own)
        without = [(own[k] @ own[k].T)[~np.eye(n - 1, dtype=bool)].mean() for k in ~np.eye(n, dtype=bool)]
        spread = np.sqrt((n - 1) / n * np.sum((np.array(without) - np.mean(without)) ** 2))
        for side in (row["high"] - row["value"], row["value"] - row["low"]):
            assert side == pytest.approx(stats.t.ppf(0.975, n - 1) * spread, rel=1e-5)
    assert [r["suppressed"] for r in audit("self_similarity", images=IMAGES, groups=GROUPS, min_count=61)] == [
        True,
        False,
    ]


def test_self_similarity_of_few_vectors_is_suppressed(audit):
    """A label of 60 images, of which nine have vectors; some unclear ones have none, either, or those without would be its own."""
    few = [*np.flatnonzero(LABELS == "female")[9:], *np.flatnonzero(LABELS == "unclear")[:20]]
    seen = IMAGES.filter(pa.array(~np.isin(IMAGES["image_id"].to_numpy(), few)))
    rows = audit("self_similarity", images=seen, groups=GROUPS)
    assert [(r["suppressed"], r["value"] is None) for r in rows] == [(True, True), (False, False)]


def test_self_similarity_of_opposite_vectors(audit):
    both = np.zeros((20, D), np.float32)
    both[:, 0] = [1, -1] * 10
    table = pa.table({"image_id": np.arange(20), "embedding": vectors(both)})
    labels = pa.table({"image_id": np.arange(20), "label": ["female"] * 20})
    (row,) = audit("self_similarity", images=table, groups=labels)
    assert row["value"] == pytest.approx(-1 / 19)


def test_so_b_it_is_the_distribution_of_the_first_k(audit):
    rows = audit("so_b_it", images=IMAGES, words=GIVEN, groups=GROUPS, k=50, min_count=1)
    clear = np.flatnonzero(LABELS != "unclear")
    assert [(r["category"], r["label"]) for r in rows] == [(n, g) for n in sorted(NAMES) for g in ("female", "male")]
    for number in (1, 2):
        first = clear[np.argsort(-COSINES[clear, number], kind="stable")[:50]]
        shares = [(LABELS[first] == g).mean() for g in ("female", "male")]
        own = [r for r in rows if r["category"] == NAMES[number]]
        assert [r["share"] for r in own] == pytest.approx(shares)
        assert {r["n"] for r in own} == {50}
        assert [r["base_share"] for r in own] == pytest.approx([1 / 3, 2 / 3])
        entropy = -sum(p * np.log(p) for p in shares if p) / np.log(2)
        assert [r["entropy"] for r in own] == pytest.approx([entropy] * 2)


def test_so_b_it_hides_small_counts_and_their_entropy(audit):
    own = {"images": IMAGES, "words": GIVEN, "groups": GROUPS}
    rows = audit("so_b_it", k=20, **own)
    shown = {(r["category"], r["label"]): r["count"] for r in audit("so_b_it", k=20, min_count=1, **own)}
    small = {c for (c, _), count in shown.items() if 0 < count < 10}
    assert small
    for row in rows:
        if row["category"] in small - {"person"}:
            assert row["suppressed"]
            assert row["count"] is row["share"] is row["entropy"] is None


def test_so_b_it_takes_any_ranking(audit):
    ranks = pa.array([*range(1, 41)] * 2, pa.int32())
    hits = pa.table({"query_id": [1] * 40 + [2] * 40, "item_id": [*range(40)] * 2, "rank": ranks})  # nobody asked for 2
    asked = pa.table({"query_id": [1], "category": ["word"]})
    rows = audit("so_b_it", images=IMAGES, words=GIVEN, groups=GROUPS, asked=asked, hits=hits, k=20, min_count=1)
    first = [label for label in LABELS[:40] if label != "unclear"][:20]
    assert [(r["category"], r["label"], r["count"]) for r in rows] == [
        ("word", "female", first.count("female")),
        ("word", "male", first.count("male")),
    ]


def test_nearest_items_is_top_k_of_vectors(lake):
    words = pa.table({"query_id": np.arange(4), "embedding": vectors(PROMPTS)})
    with lake.session() as session:
        names = [session.bind(n, t) for n, t in (("v", IMAGES), ("w", words), ("g", GROUPS))]
        v, w, g = names
        one = session.sql(
            f"FROM nearest_items({v}, {w}, (SELECT * FROM {g} WHERE label = 'male'), k := 9) ORDER BY ALL"
        )
        among = f"among := (SELECT image_id FROM {g} WHERE label = 'male')"
        two = session.sql(f"FROM top_k({w}, {v}, 'vector', 9, {among}) ORDER BY ALL")
        assert one.to_arrow().equals(two.to_arrow())
        with pytest.raises(CounterbalanceError, match="k must be at least 1"):
            session.sql(f"FROM nearest_items({v}, {w}, {g}, k := 0)").fetchall()
