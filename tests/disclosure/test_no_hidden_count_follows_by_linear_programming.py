"""What is hidden in random tables stays within bounds at least min_count wide: linear programming over all that is shown.

The attack is written anew here, as tau-ARGUS and sdcTable do it: every fact that a reader has is an equation or an inequality
over the counts, and the least and the largest value of each small count are looked for.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from counterbalance.engine.disclosure.cells import Cells
from counterbalance.engine.disclosure.suppression import hidden_rows

K = 10
COUNTS = st.one_of(st.integers(0, 12), st.integers(0, 60))


def widths(counts, hidden, equal, at_most):
    """Width of what is known of every small hidden count; facts are (places with a sign, right side)."""
    at = {c: i for i, c in enumerate(np.flatnonzero(hidden).tolist())}

    def matrix(facts):
        rows, right = [], []
        for members, total in facts:
            row = np.zeros(len(at))
            for place, sign in members:
                if place in at:
                    row[at[place]] += sign
            rows.append(row)
            right.append(total - sum(sign * counts[place] for place, sign in members if place not in at))
        return (np.array(rows), np.array(right)) if rows else (None, None)

    (a_eq, b_eq), (a_ub, b_ub) = matrix(equal), matrix(at_most)
    found = {}
    for cell, place in at.items():
        if 0 < counts[cell] < K:
            ends = []
            for sign in (1, -1):
                aim = np.zeros(len(at))
                aim[place] = sign
                solved = linprog(aim, A_ub=a_ub, b_ub=b_ub, A_eq=a_eq, b_eq=b_eq, bounds=(0, None), method="highs")
                assert solved.status in {0, 3}, solved.message
                ends.append(np.inf if solved.status == 3 else sign * solved.fun)
            found[cell] = ends[1] - ends[0]
    return found


def assert_safe(counts, found, equal, at_most=(), is_lost=lambda _: False):
    """Every small count is hidden, and known no better than to K, but where even hiding all would not do."""
    counts, hidden = np.asarray(counts, float), np.asarray(found) > 0
    assert all(hidden[i] for i, c in enumerate(counts) if 0 < c < K)
    for cell, width in widths(counts, hidden, equal, at_most).items():
        assert width >= K - 1e-6 or is_lost(cell), (cell, width)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(COUNTS, min_size=1, max_size=6), min_size=1, max_size=4), st.integers(0, 30))
def test_siblings_with_a_known_total(record_property, tables, more):
    record_property("tables", 1)
    rows = [(f"c{t}", f"l{i}", n, sum(table) + more) for t, table in enumerate(tables) for i, n in enumerate(table)]
    names = ("concept", "label", "count", "n")
    made = pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})
    found = hidden_rows(made, Cells("count", of="n", by=("label",), within=("concept",)), K)
    counts = [row[2] for row in rows] + [more] * len(tables)  # what a table lacks of its total is seen by nobody
    hidden = [*found.tolist(), *([1] * len(tables) if more else [0] * len(tables))]
    equal = [
        ([(i, 1) for i, row in enumerate(rows) if row[0] == f"c{t}"] + [(len(rows) + t, 1)], sum(table) + more)
        for t, table in enumerate(tables)
    ]

    def is_lost(cell):
        concept = rows[cell][0] if cell < len(rows) else f"c{cell - len(rows)}"
        own = [i for i, row in enumerate(rows) if row[0] == concept]
        return all(hidden[i] for i in own)  # then the total is shown nowhere

    assert_safe(counts, hidden, equal, is_lost=is_lost)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=6), st.tuples(COUNTS, COUNTS))
def test_siblings_of_labels_whose_sizes_are_known(record_property, pairs, unseen):
    """Images with and without a concept, by label: both margins are known, and neither number may follow."""
    record_property("tables", 1)
    pairs = [(has, max(lacks, K - has)) for has, lacks in pairs]  # smaller labels take no part
    made = pa.table(
        {
            "label": [f"l{i}" for i in range(len(pairs))],
            "count": [has for has, _ in pairs],
            "n": [sum(pair) for pair in pairs],
            "whole": [sum(has for has, _ in pairs) + unseen[0]] * len(pairs),
        }
    )
    found = hidden_rows(made, Cells("count", of="whole", by=("label",), out_of="n"), K)
    if (found > 0).all():
        return  # then the total is shown nowhere
    all_pairs = [*pairs, unseen]
    counts = [*(has for has, _ in all_pairs), *(lacks for _, lacks in all_pairs)]
    size = len(all_pairs)
    hidden = np.array([*found.tolist(), unseen[0] > 0] * 2) > 0
    hidden[[size - 1, 2 * size - 1]] = True
    equal = [([(i, 1), (size + i, 1)], sum(pair)) for i, pair in enumerate(all_pairs)]
    equal += [([(i, 1) for i in range(at, at + size)], sum(counts[at : at + size])) for at in (0, size)]
    widest = {i: min(K, sum(all_pairs[i % size])) for i in range(2 * size)}
    for cell, width in widths(counts, hidden, equal, ()).items():
        assert cell % size == size - 1 or width >= widest[cell] - 1e-6, (cell, width)
    assert all(hidden[i] for i in range(size - 1) if 0 < counts[i] < K or 0 < counts[size + i] < K)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(2, 6), st.integers(2, 6), st.data())
def test_two_way_tables_with_known_margins(record_property, height, width, data):
    record_property("tables", 1)
    counts = data.draw(st.lists(COUNTS, min_size=height * width, max_size=height * width))
    places = [(i, j) for i in range(height) for j in range(width)]
    made = pa.table({"a": [f"r{i}" for i, _ in places], "b": [f"c{j}" for _, j in places], "count": counts})
    found = hidden_rows(made, Cells("count", by=("a", "b")), K)
    lines = [[p for p, (i, _) in enumerate(places) if i == line] for line in range(height)]
    lines += [[p for p, (_, j) in enumerate(places) if j == line] for line in range(width)]
    equal = [([(p, 1) for p in line], sum(counts[p] for p in line)) for line in lines]
    # a line that adds up to less than K cannot hide its cells from who knows its margin: then nothing is shown
    assert_safe(counts, found, equal, is_lost=lambda _: bool((found > 0).all()))


def test_cells_that_follow_though_all_their_lines_are_hidden():
    """Templates u and v of all labels, and those of a and of b, leave three: so t of another label is hidden, too."""
    lines = {
        "all": (200, 98, 88, 14),
        "a": (102, 50, 44, 8),
        "b": (84, 37, 42, 5),
        "c": (8, 6, 1, 1),
        "d": (6, 5, 1, 0),
    }
    rows = [(label, template, n) for label, own in lines.items() for template, n in zip("*tuv", own, strict=True)]
    made = pa.table({name: [row[i] for row in rows] for i, name in enumerate(("label", "template", "n"))})
    found = hidden_rows(made, Cells("n", by=("label", "template")), K)
    counts = np.array([n for *_, n in rows], float)
    equal = [([(4 * i, -1), *((4 * i + j, 1) for j in (1, 2, 3))], 0) for i in range(5)]
    equal += [([(j, -1), *((4 * i + j, 1) for i in range(1, 5))], 0) for j in range(4)]
    assert all(width >= K for width in widths(counts, found > 0, equal, ()).values())
    assert (found == 0).sum() > 3


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_levels_of_a_hierarchy(record_property, data):
    """Images with words of classes: a class is the union of its words, the pooled row that of all."""
    record_property("tables", 1)
    labels, classes = ["f", "m"], data.draw(st.integers(1, 3))
    rows, equal, at_most = [], [], []
    words = {c: data.draw(st.integers(1, 3)) for c in range(classes)}
    for label in labels:
        sets = {(c, w): data.draw(st.sets(st.integers(0, 40), max_size=30)) for c in words for w in range(words[c])}
        pooled = len(rows)
        rows.append((None, None, label, len(set().union(*sets.values()))))
        above = []
        for c, n_words in words.items():
            whole = len(rows)
            above.append(whole)
            rows.append((f"c{c}", None, label, len(set().union(*(sets[c, w] for w in range(n_words))))))
            own = []
            for w in range(n_words):
                own.append(len(rows))
                rows.append((f"c{c}", f"c{c}w{w}", label, len(sets[c, w])))
            at_most.append(([(whole, 1), *((p, -1) for p in own)], 0))
            at_most += [([(p, 1), (whole, -1)], 0) for p in own]
        at_most.append(([(pooled, 1), *((p, -1) for p in above)], 0))
        at_most += [([(p, 1), (pooled, -1)], 0) for p in above]
    counts = [row[3] for row in rows]
    totals = {}
    for row in rows:
        totals[row[:2]] = totals.get(row[:2], 0) + row[3]
    made = pa.table(
        {
            **{name: [row[i] for row in rows] for i, name in enumerate(("class", "term", "label", "count"))},
            "n": [totals[row[:2]] for row in rows],
        }
    )
    found = hidden_rows(made, Cells("count", of="n", by=("label",), totals=("class", "term")), K)
    groups = {}
    for place, row in enumerate(rows):
        groups.setdefault(row[:2], []).append(place)
    shown = {key for key, own in groups.items() if any(found[p] == 0 for p in own)}
    equal = [([(p, 1) for p in own], totals[key]) for key, own in groups.items() if key in shown]
    assert_safe(counts, found, equal, at_most, is_lost=lambda cell: bool((found > 0).all()))


@pytest.mark.parametrize(("k", "more"), [(10, 25), (10, 100)])
def test_a_larger_least_count_hides_no_less(k, more):
    rng = np.random.default_rng(0)
    for _ in range(200):
        counts = rng.integers(0, 60, 5)
        made = pa.table({"label": list("abcde"), "count": counts, "n": [int(counts.sum())] * 5})
        cells = Cells("count", of="n", by=("label",))
        assert ((hidden_rows(made, cells, k) > 0) <= (hidden_rows(made, cells, more) > 0)).all()


def test_what_other_cells_hide_does_not_follow():
    """Two of three labels are hidden for another reason; of two concepts one is: the other would give it away."""
    made = pa.table({"label": list("abc"), "count": [40, 50, 60], "n": [150] * 3})
    cells = Cells("count", of="n", by=("label",))
    assert hidden_rows(made, cells, K).tolist() == [0, 0, 0]
    assert hidden_rows(made, cells, K, np.array([False, True, False])).tolist() == [2, 2, 0]


def test_counts_from_below_on_are_shown():
    made = pa.table({"label": list("abc"), "count": [9, 50, 200]})
    assert hidden_rows(made, Cells("count", below=10), 100).tolist() == [1, 0, 0]
    assert hidden_rows(made, Cells("count"), 100).tolist() == [1, 1, 0]
