"""Calls of an audit of closed labels with two smallest counts are of the same rows, so that no total tells what one leaves out."""

from __future__ import annotations

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
