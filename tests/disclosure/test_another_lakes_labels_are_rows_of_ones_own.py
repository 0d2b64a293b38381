"""A table called labels of an attached lake is the caller's own: two of them that differ in one image would tell its label."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError


@pytest.fixture(scope="module")
def session(build):
    ids = list(range(1, 41))
    lake, mine = cb.connect("memory://two-labels"), cb.connect("memory://two-labels-mine")
    gender = build.labels(
        label_id=ids, image_id=ids, attribute=["perceived_gender"] * 40, value=[("a", "b")[i % 2] for i in ids]
    )
    topic = build.labels(label_id=ids, image_id=ids, attribute=["topic"] * 40, value=["t"] * 40)
    lake.ingest({"images": build.images(image_id=ids), "labels": gender})
    mine.ingest({"images": build.images(image_id=ids), "labels": topic})
    with lake.session(attach={"mine": mine}) as opened:
        yield opened


@pytest.mark.parametrize(
    "text",
    [
        "cooccurrence(groups := image_labels('perceived_gender'), concepts := label_concepts('topic', labels := mine.labels))",
        "cooccurrence(groups := image_labels('perceived_gender'), concepts := mine.label_concepts('topic'))",
        "intersections(groups := image_labels('perceived_gender'), others := image_labels('topic', labels := mine.labels))",
    ],
)
def test_refused(session, text):
    with pytest.raises(SensitiveError) as caught:
        session.sql(f"SELECT * FROM {text}").fetchall()
    assert caught.value.code == "E3306"
