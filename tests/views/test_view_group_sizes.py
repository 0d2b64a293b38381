"""group_sizes: small numbers are hidden, and so many others that nobody finds them by subtraction."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

UNCLEAR = ("mixed", "unclear", "undefined")


def sizes(session, counts, least=10):
    labels = [label for label, n in counts.items() for _ in range(n)]
    groups = pa.table({"image_id": pa.array(range(len(labels)), pa.int64()), "label": labels})
    rows = session.sql(
        f"SELECT * FROM group_sizes({session.bind('groups', groups)}, {least}) ORDER BY label"
    ).to_arrow()
    return {r["label"]: r for r in rows.to_pylist()}


def shown(session, counts, least=10):
    return {label for label, row in sizes(session, counts, least).items() if row["shown"]}


@pytest.mark.parametrize(
    ("counts", "labels"),
    [
        ({"f": 50, "m": 60}, {"f", "m"}),
        ({"f": 10, "m": 60}, {"f", "m"}),
        ({"f": 9, "m": 60}, set()),
        ({"f": 9, "m": 60, "x": 70}, {"x"}),
        ({"f": 9, "m": 60, "unclear": 500}, {"m"}),  # the unclear go first, however many they are
        ({"f": 9, "m": 60, "mixed": 20, "unclear": 500}, {"m", "mixed"}),  # but mixed and unknown ones
        ({"f": 9, "m": 60, "unknown": 20, "x": 70}, {"unknown", "x"}),
        ({"f": 1, "m": 2, "x": 70, "y": 80}, {"y"}),  # 1 + 2 alone would say almost all
        ({"f": 6, "m": 6, "x": 70}, {"x"}),
        (dict.fromkeys("abcdefghijkl", 1) | {"z": 50, "zz": 60}, {"zz"}),  # twelve ones would add up to twelve
    ],
)
def test_by_hand(session, counts, labels):
    assert shown(session, counts) == labels


@pytest.mark.parametrize(
    ("counts", "labels"),
    [
        ({"f": 40, "m": 60, "unclear": 3}, {"f", "m"}),  # few unclear images are no secret of a clear label
        ({"f": 9, "m": 60}, set()),
        ({"f": 9, "m": 60, "unclear": 5}, {"m"}),
        ({"f": 2, "m": 60, "unclear": 5}, set()),
        ({"f": 2, "m": 60, "x": 70, "unclear": 5}, {"x"}),
    ],
)
def test_labels_that_comparisons_use(session, counts, labels):
    assert {label for label, row in sizes(session, counts).items() if row["used"]} == labels


def test_counts_and_clearness(session):
    rows = sizes(session, {"f": 3, "mixed": 4, "unclear": 5, "undefined": 6}, least=0)
    assert {label: (r["images"], r["clear"]) for label, r in rows.items()} == {
        "f": (3, True),
        "mixed": (4, False),
        "unclear": (5, False),
        "undefined": (6, False),
    }


def test_images_count_once_a_label_and_missing_labels_not_at_all(session):
    groups = pa.table({"image_id": pa.array([1, 1, 1, 2], pa.int64()), "label": ["f", "f", "m", None]})
    rows = session.sql(f"SELECT label, images FROM group_sizes({session.bind('g', groups)}, 0) ORDER BY 1").fetchall()
    assert rows == [("f", 1), ("m", 1)]


labels = st.sampled_from(["a", "b", "c", "d", "e", "mixed", "unclear"])
counts_of = st.dictionaries(labels, st.one_of(st.integers(1, 15), st.integers(1, 300)), min_size=1)


@given(counts=counts_of, least=st.sampled_from([2, 5, 10]))
def test_no_hidden_number_follows_from_the_total(session, counts, least):
    rows = sizes(session, counts, least)
    assert {label: r["images"] for label, r in rows.items()} == counts
    hidden = [label for label, r in rows.items() if not r["shown"]]
    assert {label for label, n in counts.items() if n < least} <= set(hidden)
    assert bool(hidden) == (min(counts.values()) < least)
    if not hidden or len(hidden) == len(counts):
        return  # no total is given when nothing is shown
    rest = sum(counts[label] for label in hidden)
    assert len(hidden) >= 2
    assert rest >= least
    for at in range(len(hidden)):  # an attacker knows the total and that each hidden label has an image
        goal = np.eye(len(hidden))[at]
        ends = [
            linprog(s * goal, A_eq=np.ones((1, len(hidden))), b_eq=[rest], bounds=(1, None)).fun * s for s in (1, -1)
        ]
        assert ends[1] - ends[0] >= 1


@given(counts=counts_of)
def test_nothing_more_is_hidden_than_needed(session, counts):
    """Of all but 'mixed', which is hidden for its own few images only."""
    rows = sizes(session, counts)
    order = sorted(counts.keys() - {"mixed"}, key=lambda c: (counts[c] >= 10, c not in UNCLEAR, counts[c], c))
    hidden = [label for label in order if not rows[label]["shown"]]
    assert hidden == order[: len(hidden)]
    if hidden and counts[hidden[-1]] >= 10:
        less = hidden[:-1]
        rest = sum(counts[c] for c in less)
        assert len(less) < 2 or rest < 10 or rest == len(less)
