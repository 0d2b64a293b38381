"""persons: boxes of people with their size, and nothing that was perceived about them."""

from __future__ import annotations

import pytest


@pytest.fixture
def persons(empty_lake, build):
    empty_lake.ingest(
        {
            "images": build.images(image_id=[1, 2], width=[100, None], height=[50, None]),
            "detections": build.detections(
                detection_id=[11, 12, 13],
                image_id=[1, 1, 2],
                category=["person", "dog", "person"],
                x=[0.0, 0.0, 1.0],
                y=[0.0, 0.0, 1.0],
                width=[20.0, 5.0, 40.0],
                height=[25.0, 5.0, 30.0],
                is_crowd=[False, False, True],
            ),
        }
    )
    return empty_lake.sql("SELECT * FROM persons ORDER BY detection_id").to_arrow().to_pylist()


def test_only_persons(persons):
    assert [p["detection_id"] for p in persons] == [11, 13]


def test_sizes(persons):
    assert [p["min_side"] for p in persons] == [20.0, 30.0]
    assert [p["image_share"] for p in persons] == [0.1, None]


def test_no_perceived_attribute_is_in_it(persons):
    assert not {"label", "value", "attribute", "annotator"} & set(persons[0])
