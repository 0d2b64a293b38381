"""Calls of an audit of closed labels with two smallest counts are of the same rows, so that no total tells what one leaves out."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.engine.disclosure.cells import Cells
from counterbalance.engine.disclosure.protection import protect

G = "image_labels('perceived_gender')"


@pytest.fixture(scope="module")
def lake(build):
    lake = cb.connect("memory://two-smallest-counts")
    values = ["female"] * 100 + ["male"] * 90 + ["other"] * 24
    ids = list(range(len(values)))
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "detections": build.detections(
                detection_id=ids, image_id=ids, category=["person" if i % 2 else "dog" for i in ids]
            ),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values),
        }
    )
    return lake


def rows(lake, more, **options):
    call = f"FROM cooccurrence(groups := {G}, concepts := category_concepts, population := 'labelled'{more})"
    kept = "label, concept, count, n_label, n_concept, n"
    return set(lake.sql(f"SELECT {kept} {call} WHERE count IS NOT NULL", **options).fetchall())


def test_a_larger_one_shows_less_of_the_same(lake):
    few, many = rows(lake, ""), rows(lake, ", min_count := 45")
    assert many < few
    assert {row[-1] for row in many} == {214}


def test_a_purpose_leaves_small_labels_out_of_totals(lake):
    """As its help says: labels of fewer images take no part."""
    assert {row[-1] for row in rows(lake, ", min_count := 45", sensitive="a test")} == {100}


TWO_WAY = (
    Cells("count", of="n_word", out_of="n_label", by=("label",), within=("word",), measures=("rest",)),
    Cells("count", of="n_label", by=("word",), within=("label",), measures=("rest",)),
    Cells("rest", measures=("count",)),
)


@given(st.lists(st.lists(st.integers(0, 40), min_size=3, max_size=3), min_size=1, max_size=4), st.integers(11, 40))
def test_every_smallest_count_hides_what_ten_hides(counts, min_count):
    words, labels = [sum(row) for row in counts], [sum(column) for column in zip(*counts, strict=True)]
    rows = pa.table(
        {
            "word": [f"w{i}" for i in range(len(counts)) for _ in range(3)],
            "label": list("abc") * len(counts),
            "count": [n for row in counts for n in row],
            "rest": [words[i] - n for i, row in enumerate(counts) for n in row],
            "n_word": [words[i] for i in range(len(counts)) for _ in range(3)],
            "n_label": labels * len(counts),
        }
    )
    ten, more = (
        protect(rows, TWO_WAY, least, "{}", closed=True, in_order=True)["count"].to_pylist()
        for least in (10, min_count)
    )
    assert all(one is not None for one, other in zip(ten, more, strict=True) if other is not None)


def shown(rows, cells, min_count):
    return repr(protect(rows, cells, min_count, "{}", closed=True, in_order=True).to_pydict())


@pytest.mark.parametrize("n", [90, None])
def test_what_a_larger_one_hides_follows_from_what_ten_shows(n):
    """Else the smallest count at which another label is hidden would tell how many the hidden ones are together."""
    cells = [Cells("count", of="n", by=("label",))]
    answers = {}
    for counts in itertools.combinations_with_replacement((0, 4, 9, 11, 12, 20), 4):
        whole = n or sum(c for c in counts if c >= 10)  # of labels that take part, as in balance
        rows = pa.table({"label": list("abcd"), "count": counts, "n": [whole] * 4})
        more = tuple(shown(rows, cells, least) for least in (16, 33))
        assert answers.setdefault(shown(rows, cells, 10), more) == more
    assert len(answers) < 100  # of 126 tables


def test_it_does_so_in_tables_of_two_ways():
    answers = {}
    for counts in itertools.product((0, 3, 9, 24), repeat=4):
        rows = pa.table(
            {
                "word": ["v", "v", "w", "w"],
                "label": list("abab"),
                "count": counts,
                "rest": [counts[1], counts[0], counts[3], counts[2]],
                "n_word": [counts[0] + counts[1]] * 2 + [counts[2] + counts[3]] * 2,
                "n_label": [counts[0] + counts[2], counts[1] + counts[3]] * 2,
            }
        )
        more = tuple(shown(rows, TWO_WAY, least) for least in (13, 33))
        assert answers.setdefault(shown(rows, TWO_WAY, 10), more) == more


def test_no_smallest_count_tells_a_small_label(build):
    """Two calls of ``balance`` told it: female was hidden as soon as the hidden labels together were fewer."""
    patterns = set()
    for other in (1, 5, 9):
        lake = cb.connect(f"memory://a-small-label-{other}")
        values = [
            v
            for v, n in {"female": 60, "male": 80, "fluid": 12, "unclear": 15, "other": other}.items()
            for _ in range(n)
        ]
        ids = list(range(len(values)))
        labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values)
        lake.ingest({"images": build.images(image_id=ids), "labels": labels})
        with lake.session() as session:
            calls = (session.audit("balance", groups=G, min_count=least) for least in range(10, 24, 3))
            patterns.add(tuple(str(call.to_arrow().drop_columns(["params"]).to_pydict()) for call in calls))
    assert len(patterns) == 1
