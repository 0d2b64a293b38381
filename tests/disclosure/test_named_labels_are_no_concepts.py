"""A view that reads open labels reads open ones of the table that a caller names, too, inside of an audit."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

CALL = (
    "SELECT attribute, n_concept FROM spurious_correlations(groups := image_labels('scene'), "
    "attributes := known_attributes({}), top := NULL)"
)


@pytest.fixture(scope="module")
def lake(build):
    """200 images: sea or city, and an age that a model told; its attribute has no name of the usual ones."""
    ids = list(range(200))
    lake = cb.connect("memory://named-labels")
    labels = build.labels(
        label_id=list(range(600)),
        image_id=ids * 3,
        attribute=["scene"] * 200 + ["pred_age"] * 200 + ["weather"] * 200,
        value=["sea", "city"] * 100 + ["young", "adult", "adult", "young"] * 50 + ["sun", "sun", "rain", "snow"] * 50,
    )
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    return lake


def test_only_open_ones_count(lake):
    default = sorted(lake.sql(CALL.format("")).fetchall())
    assert {attribute.partition(":")[0] for attribute, _ in default} == {"scene", "weather"}
    assert sorted(lake.sql(CALL.format("labels := labels")).fetchall()) == default
    assert sorted(lake.sql(CALL.format("labels := main.labels")).fetchall()) == default


def test_with_a_purpose_all_do(lake):
    with_purpose = lake.sql(CALL.format("labels := labels"), sensitive="a test").fetchall()
    assert {attribute.partition(":")[0] for attribute, _ in with_purpose} == {"scene", "weather", "pred_age"}


def test_a_closed_view_is_not_named_so(lake):
    query = "SELECT label_id, image_id, attribute, value, score FROM labels WHERE attribute = 'pred_age'"
    lake.create_materialized_view("ages", query, "label_id", purpose="a test")
    lake.refresh("ages", executor="inline")
    with pytest.raises(SensitiveError):
        lake.sql(CALL.format("labels := ages")).fetchall()
