"""Audits that count the images of a label, and those of them that have a vector, hide both where few have none."""

from __future__ import annotations

import pytest

import counterbalance as cb

CALLS = {
    "casc": "casc(images := vectors, categories := texts, groups := image_labels('perceived_gender'))",
    "self_similarity": "self_similarity(images := vectors, groups := image_labels('perceived_gender'))",
}


def shown(build, folder, call, without):
    """Numbers of images with a label, and with a vector, too, that a call shows; so many of 100 of each label have no vector."""
    lake = cb.connect(str(folder))
    labels = ["female" if i % 2 else "male" for i in range(200)]
    lake.ingest(
        {
            "images": build.images(image_id=[*range(200)]),
            "labels": build.labels(
                label_id=[*range(200)], image_id=[*range(200)], attribute=["perceived_gender"] * 200, value=labels
            ),
        }
    )
    of_image = f"SELECT image_id, [image_id % 7, 1, image_id % 3]::FLOAT[3] AS embedding FROM images WHERE image_id >= {2 * without}"
    texts = "SELECT c::VARCHAR AS category, [c, 1, 2]::FLOAT[3] AS embedding FROM range(2) AS r(c)"
    lake.create_materialized_view("vectors", of_image, "image_id")
    lake.create_materialized_view("texts", texts, "category")
    lake.refresh(executor="inline")
    rows = lake.sql(f"SELECT DISTINCT images, images_label FROM {CALLS[call]}").fetchall()
    return {(images, with_one) for images, with_one in rows if images is not None or with_one is not None}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("without", "is_told"), [(0, True), (1, False), (9, False), (12, True)])
def test_few_without_one_hide_both(build, tmp_path, call, without, is_told):
    assert shown(build, tmp_path / "a.lake", call, without) == ({(100, 100 - without)} if is_told else set())
