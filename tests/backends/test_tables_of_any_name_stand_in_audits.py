"""Rows of an audit are kept under a name that no table of a lake can have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.store import tables


@pytest.mark.parametrize("name", ["few rows", "rows"])
def test_of_another_tool(disk_lake, build, name):
    disk_lake.ingest({"images": build.images(image_id=[1, 2])})
    tables.append(disk_lake.location, name, pa.table({"image_id": [1, 2], "label": ["a", "b"]}))
    rows = disk_lake.sql(f'SELECT label, count FROM demographics("{name}", min_count := 1) ORDER BY label').fetchall()
    assert rows == [("a", 1), ("b", 1)]
