"""Rows of an image lie together in a view, whatever its key, so that functions over them can share what they make of it."""

from __future__ import annotations

import lance
import pyarrow as pa

import counterbalance as cb

VIEW = """
CREATE MATERIALIZED VIEW asked WITH (key = 'edit_id') AS
SELECT CAST(md5_number_lower(concat(image_id, ':', n)) >> 1 AS BIGINT) AS edit_id, n, image_id
FROM (SELECT image_id, unnest(range(5)) AS n FROM images)
"""


def rows(folder):
    stored = lance.dataset(str(folder / "asked.lance")).to_table(columns=["image_id", "edit_id"])
    return list(zip(*stored.to_pydict().values(), strict=True))


def test_first_rows_and_those_that_come_later(tmp_path):
    lake = cb.connect(tmp_path)
    lake.ingest({"images": pa.table({"image_id": [3, 1, 2], "key": ["c", "a", "b"]})})
    lake.sql(VIEW)
    lake.refresh(executor="inline")
    first = rows(tmp_path)
    assert len(first) == 15
    assert first == sorted(first)
    lake.ingest({"images": pa.table({"image_id": [5, 4], "key": ["e", "d"]})})
    lake.refresh(executor="inline")
    assert rows(tmp_path)[:15] == first
    assert rows(tmp_path)[15:] == sorted(rows(tmp_path)[15:])
    assert len(rows(tmp_path)) == 25
