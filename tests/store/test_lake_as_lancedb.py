from __future__ import annotations


def test_the_lake_hands_out_a_lancedb_connection(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1, 2], key=["1", "2"])})
    rows = disk_lake.lancedb().open_table("images").search().select(["image_id"]).to_list()
    assert sorted(row["image_id"] for row in rows) == [1, 2]
