"""image_labels and person_labels: one clear value is the label, several are mixed, none is unclear."""

from __future__ import annotations

import itertools
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterbalance as cb

UNCLEAR = {"mixed", "unclear", "undefined", None}
_names = itertools.count()


def wanted(values):
    """The rule, from the words of the paper."""
    clear = set(values) - UNCLEAR
    if "mixed" in values or len(clear) > 1:
        return "mixed"
    return clear.pop() if clear else "unclear"


def label_lake(build, persons, image_values=()):
    """``persons``: (image, shorter side, [values by annotator]); ``image_values``: (image, value) on the image itself."""
    lake = cb.connect(f"memory://image-labels-{os.getpid()}-{next(_names)}")
    images = sorted({i for i, *_ in persons} | {i for i, _ in image_values})
    labels = [(i, d, v, f"a{n}") for d, (i, _, values) in enumerate(persons) for n, v in enumerate(values)]
    labels += [(i, None, v, "whole") for i, v in image_values]
    lake.ingest(
        {
            "images": build.images(image_id=images),
            "detections": build.detections(
                detection_id=list(range(len(persons))),
                image_id=[i for i, *_ in persons],
                category=["person"] * len(persons),
                width=[side for _, side, _ in persons],
                height=[100.0] * len(persons),
            ),
            "labels": build.labels(
                label_id=list(range(len(labels))),
                image_id=[i for i, *_ in labels],
                detection_id=[d for _, d, *_ in labels],
                attribute=["colour"] * len(labels),
                value=[v for *_, v, _ in labels],
                annotator=[a for *_, a in labels],
            ),
        }
    )
    return lake


@pytest.mark.parametrize(
    ("values", "label"),
    [
        (["male"], "male"),
        (["male", "male", "unclear"], "male"),
        (["male", "female"], "mixed"),
        (["male", "mixed"], "mixed"),
        (["mixed", "unclear"], "mixed"),
        (["unclear", "undefined"], "unclear"),
        (["red", "green", "blue"], "mixed"),
    ],
)
def test_the_rule_by_hand(build, values, label):
    lake = label_lake(build, [(1, 50.0, [v]) for v in values])
    assert lake.sql("SELECT * FROM image_labels('colour')").fetchall() == [(1, label)]


def test_small_boxes_do_not_count(build):
    lake = label_lake(build, [(1, 30.0, ["male"]), (1, 29.9, ["female"]), (2, 10.0, ["male"])])
    assert lake.sql("SELECT * FROM image_labels('colour')").fetchall() == [(1, "male")]
    assert lake.sql("SELECT image_id, label FROM image_labels('colour', min_side := 0) ORDER BY 1").fetchall() == [
        (1, "mixed"),
        (2, "male"),
    ]


def test_labels_on_the_image_itself_count(build):
    lake = label_lake(build, [(1, 50.0, ["male"])], [(1, "female"), (3, "female")])
    assert lake.sql("SELECT * FROM image_labels('colour') ORDER BY 1").fetchall() == [(1, "mixed"), (3, "female")]


def test_one_annotator(build):
    lake = label_lake(build, [(1, 50.0, ["male", "female"])])
    assert lake.sql("SELECT label FROM image_labels('colour', annotator := 'a1')").fetchall() == [("female",)]
    assert lake.sql("SELECT label FROM person_labels('colour', annotator := 'a0')").fetchall() == [("male",)]
    assert lake.sql("SELECT label FROM person_labels('colour')").fetchall() == [("mixed",)]


def test_other_attributes_do_not_count(build):
    lake = label_lake(build, [(1, 50.0, ["male"])])
    assert lake.sql("SELECT * FROM image_labels('shape')").fetchall() == []


value = st.sampled_from(["male", "female", "mixed", "unclear", "undefined", None])
person = st.tuples(
    st.integers(1, 4), st.sampled_from([10.0, 29.0, 30.0, 64.0]), st.lists(value, min_size=1, max_size=3)
)


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")))
@given(persons=st.lists(person, min_size=1, max_size=12), whole=st.dictionaries(st.integers(1, 4), value, max_size=3))
def test_agrees_with_python(build, persons, whole):
    lake = label_lake(build, persons, sorted(whole.items()))
    big = [(d, i, values) for d, (i, side, values) in enumerate(persons) if side >= 30]
    people = {(i, d): wanted(values) for d, i, values in big}
    given_values = {i: [v] for i, v in whole.items()}
    for _, i, values in big:
        given_values.setdefault(i, []).extend(values)
    with lake.session() as session:
        found = session.sql("SELECT image_id, detection_id, label FROM person_labels('colour')").fetchall()
        units = session.sql("SELECT image_id, label FROM person_units('colour')").fetchall()
        images = session.sql("SELECT image_id, label FROM image_labels('colour')").fetchall()
    assert {(i, d): label for i, d, label in found} == people
    assert dict(units) == {d: label for (_, d), label in people.items()}
    assert dict(images) == {i: wanted(values) for i, values in given_values.items()}
    assert len(images) == len(given_values)
