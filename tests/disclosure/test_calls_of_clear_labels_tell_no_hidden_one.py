"""A call on labels of which a view leaves the unclear ones out is refused where any label is hidden: it would tell these apart."""

from __future__ import annotations

import random

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

G, S = "image_labels('perceived_gender')", "image_labels('scene')"
CALLS = (
    "cooccurrence(groups := {0}, concepts := category_concepts)",
    "demographics({0})",
    "crime_words(groups := {0})",
    f"intersections({{0}}, {S})",
)
VIEWS = (f"clear_labels({G})", f"labels_and_others(groups := {G}, others := 'all')")


def lake_of(build, name, values, scenes=()):
    """A lake in which image after image has a label, a dog and, the first of them, a scene."""
    ids = [*range(len(values))]
    lake = cb.connect(f"memory://{name}")
    labels = build.labels(
        label_id=[*range(len(values) + len(scenes))],
        image_id=[*ids, *ids[: len(scenes)]],
        attribute=["perceived_gender"] * len(values) + ["scene"] * len(scenes),
        value=[*values, *scenes],
    )
    boxes = build.detections(detection_id=ids, image_id=ids, category=["dog" if i % 3 else "car" for i in ids])
    captions = build.captions(caption_id=ids, image_id=ids, text=["a thief"] * len(ids))
    lake.ingest({"images": build.images(image_id=ids), "labels": labels, "detections": boxes, "captions": captions})
    return lake


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("view", VIEWS)
def test_the_number_of_a_hidden_label_is_not_told(build, call, view):
    """Labelled images less those of a and b were c, which is hidden with the unclear ones."""
    values = ["a"] * 60 + ["b"] * 50 + ["c"] * 4 + ["unclear"] * 40
    lake = lake_of(build, "clear", values, ["in"] * len(values))
    assert lake.sql(f"FROM {call.format(G)}").to_arrow().num_rows
    with pytest.raises(SensitiveError) as caught:
        lake.sql(f"FROM {call.format(view)}").to_arrow()
    assert caught.value.code == "E3321"


@pytest.mark.parametrize("view", VIEWS)
def test_it_is_answered_where_none_is_hidden(build, view):
    lake = lake_of(build, "none-hidden", ["a"] * 60 + ["b"] * 50 + ["unclear"] * 40)
    assert lake.sql(f"FROM demographics({view})").to_arrow()["label"].to_pylist()


def test_which_hidden_label_images_have_does_not_decide_it(build):
    """Five images of c and six of d have no scene, and so each is hidden."""
    draw, seen = random.Random(3), set()
    base = ["a"] * 80 + ["b"] * 60 + ["unclear"] * 60
    scenes = [draw.choice(["in", "out", "far"]) for _ in range(len(base) + 60)]
    for order in range(3):
        hidden = ["c"] * 30 + ["d"] * 30
        draw.shuffle(hidden)
        lake = lake_of(build, f"order-{order}", base + hidden + ["c"] * 5 + ["d"] * 6, scenes)
        try:
            seen.add(str(lake.sql(f"FROM intersections(clear_labels({G}), {S})").to_arrow().to_pylist()))
        except SensitiveError as error:
            seen.add(error.code)
    assert seen == {"E3321"}


@pytest.mark.parametrize("view", ["clear_labels({})", "balanced_subset({})"])
def test_views_of_open_labels_leave_nothing_closed_out(build, view):
    """Where they leave nobody out, or enough, a label of others that is hidden is no reason to refuse them."""
    values = ["a"] * 60 + ["b"] * 50 + ["c"] * 4 + ["d"] * 40
    lake = lake_of(build, f"open-{view[:5]}", values, ["in", "out"] * (len(values) // 2))
    rows = lake.sql(f"FROM intersections({G}, {view.format(S)})").to_arrow().to_pylist()
    assert {row["label"] for row in rows if row["count"] is not None} == {"a", "b"}
