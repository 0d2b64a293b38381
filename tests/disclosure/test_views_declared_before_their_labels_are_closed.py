"""A view of perceived labels that is declared with a purpose before there are any is closed from the start, and filled later."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import SensitiveError

PURPOSE = "a test of the wall"


def test_it_is_closed_and_filled(disk_lake, build, tmp_path):
    disk_lake.ingest({"images": build.images(image_id=[1, 2])})
    body = "SELECT image_id, label FROM image_labels('perceived_gender')"
    disk_lake.create_materialized_view("who", body, "image_id", purpose=PURPOSE)
    disk_lake.refresh()
    labels = {"label_id": [1, 2], "image_id": [1, 2], "attribute": ["perceived_gender"] * 2, "value": ["a", "b"]}
    disk_lake.ingest({"labels": build.labels(**labels, annotator=["z"] * 2)})
    disk_lake.refresh(sensitive=PURPOSE)
    with disk_lake.session() as session, pytest.raises(SensitiveError):
        session.sql("FROM who").fetchall()
    assert not (tmp_path / "test.lake" / "who.lance").exists()
    with disk_lake.session(sensitive=PURPOSE) as session:
        assert session.sql("FROM who ORDER BY image_id").fetchall() == [(1, "a"), (2, "b")]
