"""Calls of an audit of closed labels with two smallest counts are of the same rows, so that no total tells what one leaves out."""

from __future__ import annotations

import pytest

import counterbalance as cb

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


def rows(lake, more, **given):
    call = f"FROM cooccurrence(groups := {G}, concepts := category_concepts, population := 'labelled'{more})"
    kept = "label, concept, count, n_label, n_concept, n"
    return set(lake.sql(f"SELECT {kept} {call} WHERE count IS NOT NULL", **given).fetchall())


def test_a_larger_one_shows_less_of_the_same(lake):
    few, many = rows(lake, ""), rows(lake, ", min_count := 45")
    assert many < few
    assert {row[-1] for row in many} == {214}


def test_a_purpose_leaves_small_labels_out_of_totals(lake):
    """As its help says: labels of fewer images take no part."""
    assert {row[-1] for row in rows(lake, ", min_count := 45", sensitive="a test")} == {100}
