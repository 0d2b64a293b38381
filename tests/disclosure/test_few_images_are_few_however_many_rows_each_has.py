"""Audits that count vectors, boxes or texts hide what few images have, however many of these each image has."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.store import tables

LABELS = ("female", "male", "nonbinary")
GROUPS = "image_labels('perceived_gender')"
FEW = 6
"""Images with vectors, boxes and negative texts; ten of each."""


@pytest.fixture(scope="module")
def lake(build, tmp_path_factory):
    """90 images, 30 of each label."""
    ids = list(range(90))
    lake = cb.connect(str(tmp_path_factory.mktemp("few") / "a.lake"))
    few = [i for i in range(FEW) for _ in range(10)]
    texts = ["awful horrible crime"] * len(few) + ["a nice day"] * 90
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=list(range(len(texts))), image_id=few + ids, text=texts),
            "detections": build.detections(
                detection_id=list(range(len(few))), image_id=few, category=["dog"] * len(few),
                x=[20.0 * (i % 10) for i in range(len(few))], y=[0.0] * len(few), width=[10.0] * len(few),
                height=[10.0] * len(few),
            ),
            "labels": build.labels(
                label_id=ids, image_id=ids, attribute=["perceived_gender"] * 90, value=[LABELS[i // 2 % 3] for i in ids]
            ),
        }
    )  # fmt: skip
    draw = np.random.default_rng(3)
    many = pa.array(draw.normal(size=(len(few), 4)).astype(np.float32).tolist(), pa.list_(pa.float32(), 4))
    tables.append(lake.location, "vectors", pa.table({"image_id": few, "embedding": many}))
    prompts = pa.array(draw.normal(size=(2, 4)).astype(np.float32).tolist(), pa.list_(pa.float32(), 4))
    tables.append(lake.location, "prompts", pa.table({"category": ["person", "other"], "embedding": prompts}))
    return lake


@pytest.mark.parametrize(
    ("call", "counts"),
    [
        (f"association(vectors, prompts, {GROUPS})", ("n_label", "n_against", "value")),
        (f"similarity_bias(vectors, prompts, {GROUPS})", ("n_label", "n_against", "value")),
        (f"casc(vectors, prompts, {GROUPS})", ("n_label", "value")),
        (f"self_similarity(vectors, {GROUPS})", ("n", "value")),
        (f"markedness(vectors, prompts, {GROUPS})", ("n", "count", "share", "images", "count_images")),
        (f"ieat(vectors, {GROUPS}, {GROUPS}, 'female', 'male', 'female', 'male')", ("n_x", "n_a", "value")),
        (f"sentiment({GROUPS})", ("negative", "negative_ratio")),
    ],
)
def test_rows_of_few_images_are_hidden(lake, call, counts):
    query = f"SELECT {', '.join(counts)} FROM {call}"
    assert {value for row in lake.sql(query).fetchall() for value in row} <= {None}
    assert any(
        lake.sql(query.replace(call, f"{call[:-1]}, min_count := 0)"), sensitive="a test of the wall").fetchall()
    )


def test_boxes_of_few_images(lake):
    truth = "(SELECT * FROM detections)"
    with lake.session(sensitive="a test of the wall") as session:
        seen = session.sql(
            f"SELECT label, n FROM detection_recall(detections, {truth}, {GROUPS}, min_count := 0)"
        ).fetchall()
    assert ("female", 20) in seen
    told = lake.sql(
        f"SELECT label, n, images, smallest FROM detection_recall(detections, detections, {GROUPS})"
    ).fetchall()
    assert {n for label, *numbers in told if label != "all" for n in numbers} == {None}


@pytest.mark.parametrize(("images", "told"), [(4, False), (12, True)])
def test_labels_of_boxes(build, images, told):
    """Two annotators say something else of 10 boxes in each of so many images, and the same of 60 boxes in as many images."""
    boxes = [i for i in range(images) for _ in range(10)] + list(range(images, images + 60))
    first = ["female", "male"] * (len(boxes) // 2)
    second = ["male" if i < images else value for i, value in zip(boxes, first, strict=True)]
    lake = cb.connect(f"memory://boxes-{os.getpid()}-{images}")
    lake.ingest(
        {
            "images": build.images(image_id=list(range(images + 60))),
            "detections": build.detections(detection_id=list(range(len(boxes))), image_id=boxes, category=["person"] * len(boxes)),
            "labels": build.labels(
                label_id=list(range(2 * len(boxes))), image_id=boxes * 2, detection_id=[*range(len(boxes))] * 2,
                attribute=["perceived_gender"] * (2 * len(boxes)), value=first + second,
                annotator=["x"] * len(boxes) + ["y"] * len(boxes),
            ),
        }
    )  # fmt: skip
    rows = lake.sql("SELECT metric, value, count FROM agreement('perceived_gender')").fetchall()
    assert {m for m, *shown in rows if any(v is not None for v in shown)} == (
        {"agreement", "annotator", "cohen_kappa", "confusion", "fleiss_kappa", "jaccard", "krippendorff_alpha"}
        if told
        else set()
    )
