"""Perceived labels that a view numbered are counted with a purpose only: numbers of hidden ones could not be made one label."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import SensitiveError

NUMBERED = "CASE label WHEN 'a' THEN 1 WHEN 'b' THEN 2 WHEN 'c' THEN 3 ELSE 4 END"
VIEWS = {"words": "label", "numbers": NUMBERED, "bytes": "label::BLOB"}
CALLS = ("demographics({})", "sentiment({})", "balance({})")


@pytest.fixture
def viewed(disk_lake, build):
    values = ["a"] * 60 + ["b"] * 50 + ["c"] * 7 + ["d"] * 14
    ids = [*range(len(values))]
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values),
            "captions": build.captions(caption_id=ids, image_id=ids, text=["a bad walk"] * len(ids)),
        }
    )
    for name, label in VIEWS.items():
        query = f"SELECT image_id, {label} AS label, {label} AS concept FROM image_labels('perceived_gender')"
        disk_lake.create_materialized_view(name, query, "image_id", purpose="test of numbered labels")
        disk_lake.refresh(name, executor="inline")
    return disk_lake


def test_a_closed_view_of_numbers(viewed):
    with viewed.session() as session:
        for call in (*CALLS, "cooccurrence(concepts := {})"):
            session.sql(f"FROM {call.format('words')}").to_arrow()  # is answered
            for view in ("numbers", "bytes"):
                with pytest.raises(SensitiveError) as caught:
                    session.sql(f"FROM {call.format(view)}").to_arrow()
                assert caught.value.code == "E3332"
