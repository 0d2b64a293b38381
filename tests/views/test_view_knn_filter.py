"""knn_filter: shares of real and of like-labelled neighbours, and what is accepted, by hand and by brute force."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st


def vectors(rows):
    return pa.array([None if r is None else [float(x) for x in r] for r in rows], pa.list_(pa.float32(), 2))


def filtered(session, real, edited, columns="edit_id, p_real, p_group, accepted", **options):
    """Real: (id, label, vector); edited: (id, image, label, vector)."""
    r = pa.table(
        {
            "detection_id": pa.array([x[0] for x in real], pa.int64()),
            "label": pa.array([x[1] for x in real], pa.string()),
            "embedding": vectors([x[2] for x in real]),
        }
    )
    s = pa.table(
        {
            "edit_id": pa.array([x[0] for x in edited], pa.int64()),
            "image_id": pa.array([x[1] for x in edited], pa.int64()),
            "label": pa.array([x[2] for x in edited], pa.string()),
            "embedding": vectors([x[3] for x in edited]),
        }
    )
    more = "".join(f", {k} := {v!r}" for k, v in options.items())
    call = f"knn_filter({session.bind('r', r)}, {session.bind('s', s)}{more})"
    return session.sql(f"SELECT {columns} FROM {call} ORDER BY edit_id").fetchall()


REAL = [(1, "male", (0, 0)), (2, "male", (1, 0)), (3, "female", (10, 0)), (4, "female", (11, 0))]
EDITED = [
    (11, 1, "male", (0.4, 0)),  # 0.2 to edit 12, 0.4 and 0.6 to the men
    (12, 1, "female", (0.6, 0)),  # 0.2 to edit 11, 0.4 and 0.6 to the men
    (13, 3, "female", (10.4, 0)),  # 0.4 and 0.6 to the women, 9.4 to a man
    (14, 3, "male", (30, 0)),  # 19 and 20 to the women, 19.6 to edit 13
]
THREE = {"k_r": 3, "k_g": 3, "metric": "l2"}


def test_by_hand(session):
    assert filtered(session, REAL, EDITED, **THREE) == [
        (11, 2 / 3, 2 / 3, True),
        (12, 2 / 3, 0.0, False),
        (13, 1.0, 2 / 3, True),
        (14, 2 / 3, 0.0, False),
    ]


def test_without_other_edits_of_the_same_image(session):
    assert filtered(session, REAL, EDITED, leave_out="source", **THREE) == [
        (11, 1.0, 2 / 3, True),  # the men, and a woman at 9.6
        (12, 1.0, 1 / 3, False),  # the men, and a woman at 9.4
        (13, 1.0, 2 / 3, True),
        (14, 1.0, 1 / 3, False),  # the women, and a man at 29
    ]


def test_an_edit_that_counts_itself(session):
    rows = filtered(session, REAL, EDITED, leave_out="none", **THREE)
    assert rows[0] == (11, 1 / 3, 2 / 3, True)  # itself, edit 12, one man
    assert rows[3] == (14, 1 / 3, 1 / 3, False)  # itself, a woman, edit 13


def test_thresholds_are_strict(session):
    assert filtered(session, REAL, EDITED, "accepted", tau_r=2 / 3, **THREE) == [(False,), (False,), (True,), (False,)]
    assert filtered(session, REAL, EDITED, "accepted", tau_r=0.66, tau_g=2 / 3, **THREE)[0] == (False,)
    assert filtered(session, REAL, EDITED, "accepted", tau_r=0.66, tau_g=0.66, **THREE)[0] == (True,)


def test_a_number_of_neighbours_for_each_share(session):
    rows = filtered(session, REAL, EDITED, "p_real, p_group, neighbours", **{**THREE, "k_r": 1})
    assert rows[0] == (0.0, 2 / 3, 1)
    assert rows[2] == (1.0, 2 / 3, 1)


def test_vectors_of_length_one_or_as_they_are(session):
    real = [(1, "male", (1, 0)), (2, "female", (0, 1))]
    edited = [(11, 1, "male", (0.1, 0.01))]
    assert filtered(session, real, edited, "p_group", k_r=1, k_g=1) == [(1.0,)]
    assert filtered(session, [(1, "male", (9, 0)), real[1]], edited, "p_group", k_r=1, k_g=1, metric="l2") == [(0.0,)]


def test_an_edit_without_a_vector_is_not_accepted(session):
    columns = "edit_id, neighbours, p_real, p_group, accepted"
    rows = filtered(session, REAL, [*EDITED, (15, 9, "male", None)], columns, **THREE)
    assert rows[:4] == filtered(session, REAL, EDITED, columns, **THREE)
    assert rows[4] == (15, None, None, None, False)
    assert filtered(session, [], EDITED[:1], columns, **THREE) == [(11, None, None, None, False)]


def test_fewer_neighbours_than_asked_for(session):
    assert filtered(session, REAL, EDITED[:1], "neighbours, p_real, p_group") == [(4, 1.0, 0.5)]


def by_definition(real, edited, k_r, k_g, tau, leave_out):
    """All distances in numpy, sorted whole with ids; shares as fractions."""
    union = [(i, "real", None, label, v) for i, label, v in real]
    union += [(i, "edit", image, label, v) for i, image, label, v in edited]
    points = np.array([u[4] for u in union], np.int64)
    found = []
    for edit, image, label, vector in edited:
        distance = ((points - np.array(vector)) ** 2).sum(axis=1)
        near = [union[i] for i in np.lexsort(([u[0] for u in union], distance))]
        if leave_out != "none":
            near = [u for u in near if u[:2] != (edit, "edit")]
        if leave_out == "source":
            near = [u for u in near if u[2] != image]
        if not near:
            found.append((edit, None, None, False))
            continue
        p_real = Fraction(sum(u[1] == "real" for u in near[:k_r]), len(near[:k_r]))
        p_group = Fraction(sum(u[3] == label for u in near[:k_g]), len(near[:k_g]))
        found.append((edit, float(p_real), float(p_group), p_real > tau[0] and p_group > tau[1]))
    return found


number = st.integers(-3, 3)
point = st.tuples(number, number)
group = st.sampled_from(["male", "female"])


@given(
    real=st.lists(st.tuples(group, point), min_size=1, max_size=12),
    edited=st.lists(st.tuples(st.integers(0, 3), group, point), min_size=1, max_size=12),
    k_r=st.integers(1, 9),
    k_g=st.integers(1, 9),
    tau=st.sampled_from(
        [(Fraction(8, 100), Fraction(1, 2)), (Fraction(0), Fraction(0)), (Fraction(1, 3), Fraction(2, 5))]
    ),
    leave_out=st.sampled_from(["self", "source", "none"]),
)
def test_by_brute_force(session, real, edited, k_r, k_g, tau, leave_out):
    real = [(i, *r) for i, r in enumerate(real)]
    edited = [(100 + i, *e) for i, e in enumerate(edited)]
    options = {"k_r": k_r, "k_g": k_g, "tau_r": float(tau[0]), "tau_g": float(tau[1]), "leave_out": leave_out}
    got = filtered(session, real, edited, metric="l2", **options)
    assert got == by_definition(real, edited, k_r, k_g, tau, leave_out)
