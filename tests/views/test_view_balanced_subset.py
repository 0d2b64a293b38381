"""balanced_subset: every label equally often, drawn with a seed, the same draw everywhere."""

from __future__ import annotations

import hashlib
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.errors import SqlError


def draw(session, labels, **options):
    groups = pa.table({"image_id": pa.array(range(len(labels)), pa.int64()), "label": pa.array(labels, pa.string())})
    given_options = "".join(f", {k} := {v!r}" for k, v in {"min_count": 1, **options}.items())
    return session.sql(f"SELECT * FROM balanced_subset({session.bind('g', groups)}{given_options})").fetchall()


LABELS = ["m"] * 40 + ["f"] * 15 + ["unclear"] * 90 + ["mixed"] * 20


def test_under(session):
    rows = draw(session, LABELS)
    assert Counter(label for _, label, _ in rows) == {"m": 15, "f": 15}
    assert {copies for *_, copies in rows} == {1}
    assert all(LABELS[i] == label for i, label, _ in rows)


def test_over(session):
    rows = draw(session, LABELS, method="over")
    assert Counter(label for _, label, _ in rows) == {"m": 40, "f": 15}
    assert sum(copies for _, label, copies in rows if label == "f") == 40
    assert {copies for _, label, copies in rows if label == "f"} == {2, 3}


def test_the_rest(session):
    assert Counter(label for _, label, _ in draw(session, LABELS, rest="all")) == {
        "m": 15,
        "f": 15,
        "unclear": 90,
        "mixed": 20,
    }
    rows = draw(session, LABELS, rest="proportional")
    assert sum(label in {"unclear", "mixed"} for _, label, _ in rows) == 110 * 30 // 55


def test_the_rest_is_repeated_with_the_rare(session):
    rows = draw(session, LABELS, method="over", rest="proportional")
    rest = [copies for _, label, copies in rows if label in {"unclear", "mixed"}]
    assert sum(rest) == 110 * 80 // 55
    assert {*rest} <= {1, 2}
    assert len(rest) == 110


def test_the_draw_is_the_order_of_a_digest(session):
    def lot(i):
        return hashlib.md5(f"7:{i}".encode(), usedforsecurity=False).hexdigest()

    rows = draw(session, LABELS, seed=7)
    assert {i for i, label, _ in rows if label == "m"} == set(sorted(range(40), key=lot)[:15])


def test_seeds(session):
    draws = [frozenset(draw(session, LABELS, seed=seed)) for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


def test_small_labels_are_left_out(session):
    rows = draw(session, LABELS + ["x"] * 3, min_count=10)
    assert Counter(label for _, label, _ in rows) == {"m": 15, "f": 15}


@pytest.mark.parametrize("wrong", [{"method": "smote"}, {"rest": "some"}])
def test_an_unknown_method_is_refused(session, wrong):
    with pytest.raises(SqlError, match="cannot be"):
        draw(session, LABELS, **wrong)


@given(labels=st.lists(st.sampled_from(["a", "b", "c", "unclear", None]), max_size=60), seed=st.integers(0, 5))
def test_every_label_is_equally_frequent(session, labels, seed):
    counts = Counter(label for label in labels if label not in {"unclear", None})
    under, over = (draw(session, labels, seed=seed, method=m) for m in ("under", "over"))
    assert Counter(label for _, label, _ in under) == {c: min(counts.values()) for c in counts}
    totals = Counter()
    for _, label, copies in over:
        totals[label] += copies
    assert totals == {c: max(counts.values()) for c in counts}
    assert Counter(label for _, label, _ in over) == counts
    for label in counts:
        copies = [c for _, own, c in over if own == label]
        assert max(copies) - min(copies) <= 1
