"""Audits that count persons hide what few images hold, however many persons each of them shows."""

from __future__ import annotations

import functools
import os

import pytest
from repeats import again

import counterbalance as cb

MANY = 24
"""Persons in an image of a crowd."""
PERSONS = "person_labels('perceived_gender')"
WHAT = ("female", "male", "nonbinary")


def lake_of(build, name, crowds):
    """80 images with one person each, and 30 with one whom nobody else is like; ``crowds``: images of these with ``MANY``.

    Where there is a crowd the text names a crime and a country; so it does under half of the others.
    """
    boxes = [(i, WHAT[i % 2]) for i in range(80)]
    boxes += [(i, "nonbinary") for i in range(80, 110) for _ in range(MANY if i < 80 + crowds else 1)]
    ids, count = list(range(110)), len(boxes)
    named = {i for i in range(80) if i // 2 % 2 == 0} | set(range(80, 80 + crowds))
    images, labels = [i for i, _ in boxes], [v for _, v in boxes]
    roles = [WHAT[i % 3] for i in ids]  # open, and of nobody's look
    lake = cb.connect(f"memory://crowds-{os.getpid()}-{name}-{crowds}")
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(
                caption_id=ids, image_id=ids, text=["a thief in France" if i in named else "a dog" for i in ids]
            ),
            "detections": build.detections(
                detection_id=list(range(count)), image_id=images, category=["person"] * count, width=[100.0] * count,
                height=[100.0] * count,
            ),
            "labels": build.labels(
                label_id=list(range(2 * count + len(ids))), image_id=images * 2 + ids,
                detection_id=[*range(count)] * 2 + [None] * len(ids),
                attribute=["perceived_gender"] * count + ["perceived_age"] * count + ["role"] * len(ids),
                value=labels + ["adult"] * count + roles, annotator=["m"] * (2 * count + len(ids)),
            ),
        }
    )  # fmt: skip
    return lake


@pytest.fixture(scope="module")
def lakes(build):
    return functools.cache(lambda crowds: lake_of(build, "named", crowds))


CALLS = [
    (f"crime_words({PERSONS}, unit := 'person')", "level = 'pooled'", "count"),
    (f"geography({PERSONS}, unit := 'person')", "label <> 'all'", "count"),
    (
        f"compare_crime_words({PERSONS}, image_labels('role'), other_texts := captions, unit := 'person')",
        "item = 'any'",
        "count_a",
    ),
]


@pytest.mark.parametrize(
    ("call", "where", "number", "crowds"),
    [*((*call, crowds) for call in CALLS for crowds in (1, 12)[: 1 + (call != CALLS[2])]), *again((*CALLS[2], 12))],
)
def test_persons_whose_text_names_something(lakes, call, where, number, crowds):
    """One image of 24 persons is hidden, with all labels of the word, in comparisons with one of them; 12 of them are not."""
    rows = dict(lakes(crowds).sql(f"SELECT label, {number} FROM {call} WHERE {where}").fetchall())
    assert rows == (
        {"female": 20, "male": 20, "nonbinary": 12 * MANY}
        if crowds == 12
        else {"female": None, "male": 20 if "compare" in call else None, "nonbinary": None}
    )


def test_persons_whose_text_names_nothing_in_few_images(build):
    """The same by the images that are left: 27 of 30 have the word, and in the three without stand 72 persons."""
    lake = lake_of(build, "rest", 3)
    texts = "(SELECT image_id, CASE WHEN text = 'a dog' THEN 'a thief' ELSE 'a dog' END AS text FROM captions)"
    lake.create_materialized_view("turned", f"SELECT * FROM {texts}", "image_id")
    lake.refresh(executor="inline")
    call = f"crime_words({PERSONS}, turned, unit := 'person')"
    rows = dict(lake.sql(f"SELECT label, count FROM {call} WHERE level = 'pooled'").fetchall())
    assert rows["nonbinary"] is None


@pytest.mark.parametrize("images", [4, 36, 48])
def test_persons_who_were_validated(build, images):
    """20 persons in each image; the model says one of two labels and an annotator one, each two in a quarter of the images."""
    boxes = [i for i in range(images) for _ in range(20)]
    count = len(boxes)
    lake = cb.connect(f"memory://validated-{os.getpid()}-{images}")
    lake.ingest(
        {
            "images": build.images(image_id=list(range(images))),
            "detections": build.detections(
                detection_id=list(range(count)), image_id=boxes, category=["person"] * count, width=[100.0] * count,
                height=[100.0] * count,
            ),
            "labels": build.labels(
                label_id=list(range(2 * count)), image_id=boxes * 2, detection_id=[*range(count)] * 2,
                attribute=["perceived_gender"] * 2 * count,
                value=[WHAT[i % 2] for i in boxes] + [WHAT[i // 2 % 2] for i in boxes], annotator=["model"] * count + ["a1@s"] * count,
            ),
        }
    )  # fmt: skip
    model = "person_units('perceived_gender', annotator := 'model')"
    rows = lake.sql(
        f"SELECT metric, count, n, value, low, high FROM label_validation({model}, 'perceived_gender', unit := 'person')"
    ).fetchall()
    metrics = {"agreement", "cohen_kappa", "confusion", "covered", "precision", "recall", "weighted_agreement"}
    assert {metric for metric, *_ in rows} == metrics
    told = {metric for metric, *numbers in rows if any(n is not None for n in numbers)}
    assert told == {4: set(), 36: {"agreement", "covered"}, 48: metrics}[images]


@pytest.mark.parametrize(("images", "told"), [((3, 1), False), ((12, 3), False), ((12, 12), True)])
def test_boxes_of_a_size(build, images, told):
    """20 boxes in each of so many images, of which two labels are the same, and others, of which they differ."""
    same, other = images
    boxes = [i for i in range(same + other) for _ in range(20)]
    count = len(boxes)
    first = [WHAT[i % 2] for i in boxes]
    second = [v if i < same else WHAT[(i + 1) % 2] for i, v in zip(boxes, first, strict=True)]
    lake = cb.connect(f"memory://sizes-{os.getpid()}-{same}-{other}")
    lake.ingest(
        {
            "images": build.images(image_id=list(range(same + other))),
            "detections": build.detections(
                detection_id=list(range(count)), image_id=boxes, category=["person"] * count, width=[100.0] * count,
                height=[100.0] * count,
            ),
            "labels": build.labels(
                label_id=list(range(2 * count)), image_id=boxes * 2, detection_id=[*range(count)] * 2,
                attribute=["perceived_gender"] * 2 * count, value=first + second,
                annotator=["x"] * count + ["y"] * count,
            ),
        }
    )  # fmt: skip
    sides = (f"person_labels('perceived_gender', annotator := '{a}')" for a in "xy")
    rows = lake.sql(f"SELECT count, n, value FROM min_size_study({', '.join(sides)})").fetchall()
    assert rows == ([(240, 480, 0.5)] if told else [(None, None, None)])
