"""Over hidden labels as one, rankings that were not given are made anew of texts or vectors that no parameter declares."""

from __future__ import annotations

import random


def test_default_rankings_beside_a_hidden_label(disk_lake, build):
    chance = random.Random(2)
    values = ["a"] * 60 + ["b"] * 50 + ["c"] * 7 + ["d"] * 14
    ids = [*range(len(values))]
    texts = [f"a {chance.choice(['dog', 'cat', 'car'])} by a {chance.choice(['tree', 'wall', 'lake'])}" for _ in ids]
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
        }
    )
    query = "SELECT caption_id AS item_id, image_id, label, text FROM captions JOIN image_labels('perceived_gender') USING (image_id)"
    disk_lake.create_materialized_view("items", query, "item_id", purpose="test of rankings")
    disk_lake.create_materialized_view(
        "asked", "SELECT caption_id AS query_id, image_id, text FROM captions", "query_id"
    )
    disk_lake.refresh(executor="inline")
    rows = disk_lake.sql(
        "FROM retrieval_bias_sets(asked, items, items, items, ranker := 'tfidf', positive := 'a', negative := 'b')"
    ).to_arrow()
    assert {row["n"] for row in rows.to_pylist() if row["value"] is not None} == {len(ids)}
