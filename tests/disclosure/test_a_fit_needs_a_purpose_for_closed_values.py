"""bias_transfer shows the values that it is given: those of a closed view need a purpose, those that audits show do not."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError


@pytest.fixture(scope="module")
def lake(build):
    """Twelve things, each in twenty images; shares of women by thing, as their owner keeps them."""
    ids = list(range(60))
    found = [(i, f"c{k:02}") for k in range(12) for i in ids if (i * 7 + k) % 3 == 0]
    lake = cb.connect("memory://fits")
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "detections": build.detections(
                detection_id=list(range(len(found))), image_id=[i for i, _ in found], category=[c for _, c in found]
            ),
            "labels": build.labels(
                label_id=ids, image_id=ids, attribute=["perceived_gender"] * 60, value=["a", "b"] * 30
            ),
        }
    )  # fmt: skip
    lake.create_materialized_view(
        "model",
        "SELECT category, CAST(substr(category, 2) AS INTEGER) * 0.1 AS value FROM detections GROUP BY category",
        "category",
    )
    lake.create_materialized_view(
        "shares",
        "SELECT d.category AS concept, avg(CASE WHEN l.value = 'a' THEN 1.0 ELSE 0.0 END) AS value FROM detections AS d "
        "JOIN labels AS l ON l.image_id = d.image_id GROUP BY d.category",
        "concept",
        purpose="the owner's",
    )
    lake.refresh(executor="inline")
    return lake


@pytest.mark.parametrize("show", ["summary", "categories", "all"])
def test_values_of_a_closed_view(lake, show):
    call = f"FROM bias_transfer(shares, model, show := '{show}')"
    with pytest.raises(SensitiveError) as caught:
        lake.sql(call).fetchall()
    assert caught.value.code == "E3329"
    assert lake.sql(call, sensitive="a test of the wall").fetchall()


def test_values_that_an_audit_shows(lake):
    ratio = "concept_ratio(image_labels('perceived_gender'), category_concepts, 'share', 'a', 'b', min_count := 10)"
    assert lake.sql(f"SELECT n FROM bias_transfer({ratio}, model, show := 'summary')").fetchall()
