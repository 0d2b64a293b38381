"""EXPLAIN on the command line draws the plan in lines, as DuckDB's own shell does."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("word", ["EXPLAIN", "EXPLAIN ANALYZE"])
def test_sql(spawn_cli, disk_lake, build, word):
    disk_lake.ingest({"images": build.images(image_id=[1, 2])})
    done = spawn_cli("sql", disk_lake.uri, f"{word} SELECT max(key) FROM images")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) > 5
    assert any("│" in line for line in lines)
    assert "\\n" not in done.stdout
