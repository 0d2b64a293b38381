"""Status, lineage and clean-up as methods of a lake say what the command line says."""

from __future__ import annotations

import datetime as dt
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import counterbalance as cb

if TYPE_CHECKING:
    from counterbalance.engine.lake import Lake


@cb.udf(returns=pa.int64(), parameters={"text": pa.string()}, version="1")
def tells_noisy(text: pa.Array) -> list[int]:
    """One, and a word on stdout."""
    sys.stdout.write("a word\n")
    return [1] * len(text)


@pytest.fixture
def declared(disk_lake: Lake) -> Lake:
    rows = {
        "images": pa.table({"image_id": [1, 2], "key": ["a", "b"]}),
        "captions": pa.table({"caption_id": [1, 2], "image_id": [1, 2], "text": ["x", "yy"]}),
    }
    disk_lake.ingest(rows)
    disk_lake.add_column("captions", "n", "length(text)")
    disk_lake.create_materialized_view("v", "SELECT image_id, max(n) AS n FROM captions GROUP BY 1", "image_id")
    return disk_lake


def test_status(declared: Lake) -> None:
    assert declared.status().select(["target", "state"]).to_pylist() == [
        {"target": "captions.n", "state": "stale"},
        {"target": "v", "state": "stale"},
    ]
    declared.refresh(executor="inline")
    rows = declared.status().to_pylist()
    assert [r["state"] for r in rows] == ["fresh", "fresh"]
    assert all(r["bytes"] > 0 for r in rows)


def test_lineage(declared: Lake) -> None:
    found = declared.lineage("v")
    upstream = {(r["relation"], r["column"]) for r in found.to_pylist() if r["direction"] == "upstream"}
    assert {("captions", "n"), ("captions", "text"), ("captions", "image_id")} <= upstream


def test_clean_up_only_looks_unless_told(declared: Lake) -> None:
    declared.refresh(executor="inline")
    declared.refresh(full=True, executor="inline")
    found = declared.gc(dt.timedelta(0))
    assert found.bytes > 0
    assert not found.applied
    assert declared.gc(dt.timedelta(0)).bytes == found.bytes
    assert declared.gc(dt.timedelta(0), apply=True).applied
    assert declared.sql("SELECT * FROM v ORDER BY 1").fetchall() == [(1, 1), (2, 2)]


def test_what_a_function_prints_is_no_result(declared: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    declared.add_column("captions", "noise", "tells_noisy(text)")
    declared.refresh(executor="inline")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "a word\n"
