"""Two calls of an audit that differ by few images, because of an argument that leaves them out, are not both answered."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

G = "image_labels('perceived_gender')"


def lake_of(build, name, **labels):
    lake = cb.connect(f"memory://{name}")
    values = [value for value, count in labels.items() for _ in range(count)]
    ids = list(range(len(values)))
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=["a dog" for _ in ids]),
            "detections": build.detections(detection_id=ids, image_id=ids, category=["person" if i % 2 else "dog" for i in ids]),
            "labels": build.labels(
                label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values, annotator=["x"] * len(ids)
            ),
        }
    )  # fmt: skip
    return lake


@pytest.fixture(scope="module")
def few_unclear(build):
    return lake_of(build, "few-unclear", female=70, male=100, unclear=5)


@pytest.fixture(scope="module")
def many_unclear(build):
    return lake_of(build, "many-unclear", female=70, male=100, unclear=40)


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    "call",
    [
        f"demographics(groups := clear_labels({G}))",
        f"demographics(clear_labels(groups := {G}))",
        f"demographics(clear_labels(clear_labels({G})))",
        "demographics('clear_labels(image_labels(''perceived_gender''))')",
        f"cooccurrence(groups := {G}, population := 'labelled')",
        f"compare_demographics(groups := caption_gender, others := clear_labels({G}))",
        f"compare_demographics(groups := clear_labels({G}), others := caption_gender)",
    ],
)
def test_refused_where_few_are_left_out(few_unclear, many_unclear, call):
    with pytest.raises(SensitiveError, match="fewer than 10 of a cell") as caught:
        few_unclear.sql(f"FROM {call}").fetchall()
    assert caught.value.code == "E3321"
    assert many_unclear.sql(f"FROM {call}").fetchall()
    assert few_unclear.sql(f"FROM {call}", sensitive="a test").fetchall()


def test_the_total_does_not_tell_of_few_unclear_images(few_unclear, many_unclear):
    """The images of both labels, taken from all, are the unclear ones."""
    call = f"SELECT DISTINCT label, n_label, n FROM cooccurrence(groups := {G}) ORDER BY label"
    assert many_unclear.sql(call).fetchall() == [("female", 70, 210), ("male", 100, 210)]
    assert len(few_unclear.sql(call).fetchall()) < 2


def test_refused_where_both_together_tell_of_a_small_label(build):
    """Of all labelled images one call shows both large labels; of the clear ones the other would tell the sum of all three."""
    lake = lake_of(build, "small-label", female=70, male=100, other=6, unclear=40)
    vectors = "SELECT image_id, [image_id % 7, 1]::FLOAT[2] AS embedding FROM images"
    lake.create_materialized_view("vectors", vectors, "image_id")
    lake.refresh(executor="inline")
    call = "SELECT label, images FROM self_similarity(groups := {}, images := vectors) WHERE images IS NOT NULL ORDER BY label"
    assert lake.sql(call.format(G)).fetchall() == [("female", 70), ("male", 100)]
    with pytest.raises(SensitiveError, match="would together tell of fewer than 10") as caught:
        lake.sql(call.format(f"clear_labels({G})")).fetchall()
    assert caught.value.code == "E3321"


def test_the_refusal_does_not_tell_which_label_is_small(build):
    """Few unclear images, and few of a clear label beside many unclear ones, are refused in the same words."""
    told = set()
    for name, unclear, other in (("few-unclear", 5, 0), ("few-other", 40, 6)):
        lake = lake_of(build, name, female=70, male=100, other=other, unclear=unclear)
        with pytest.raises(SensitiveError) as caught:
            lake.sql(f"SELECT * FROM demographics(groups := clear_labels({G}))").fetchall()
        told.add((caught.value.code, caught.value.message))
    assert len(told) == 1
