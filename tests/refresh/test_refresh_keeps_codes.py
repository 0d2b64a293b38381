"""After a refresh the codes of a table's columns are trusted as before, and grouped queries say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from counterbalance.engine.catalog import meta, snapshot
from counterbalance.engine.store import columns, tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.engine.lake import Lake

_GROUPS = "SELECT origin, count(*) AS n, count(size) AS m FROM captions GROUP BY 1 ORDER BY 1"
_FOUND = [("alt_text", 3, 3), ("generated", 1, 0), ("human", 4, 4)]


def _length(text: str | None) -> int | None:
    return None if text is None else len(text)


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_after_a_refresh(lake: Lake, disk_lake: Lake, row_function: Callable[..., Any], place: str) -> None:
    if place == "disk":
        for name in ("images", "captions"):
            found = tables.open_table(lake.location, name)
            assert found is not None
            kept = [c for c in found.schema.names if not c.endswith("__code") and c != "image"]
            disk_lake.ingest({name: found.to_table(columns=kept)})
        lake = disk_lake
    function = row_function("c_size", _length)
    lake.add_column("captions", "size", "c_size(text)")
    for options in ({}, {}, {"full": True}):
        lake.refresh(executor="inline", **options)
        assert {"images", "captions"} <= snapshot.take(lake.location).coded
        assert lake.sql(_GROUPS).fetchall() == _FOUND
    function.declare(version="2")
    lake.refresh(executor="inline")
    assert "captions" in snapshot.take(lake.location).coded
    rows = pa.table({"caption_id": [19], "image_id": [1], "text": ["new"], "origin": ["human"]})
    lake.ingest({"captions": rows})
    lake.refresh(executor="inline")
    assert "captions" in snapshot.take(lake.location).coded
    assert lake.sql(_GROUPS).fetchall() == [*_FOUND[:2], ("human", 5, 5)]


def test_after_a_refresh_that_was_taken_back(lake: Lake, row_function: Callable[..., Any], monkeypatch: Any) -> None:
    row_function("c_back", _length)
    lake.add_column("captions", "size", "c_back(text)")

    class Full(BaseException):
        pass

    def fail(*arguments: Any, **named: Any) -> bool:
        fill(*arguments, **named)
        raise Full

    fill = columns.fill
    with monkeypatch.context() as patch:
        patch.setattr(columns, "fill", fail)
        with pytest.raises(Full):
            lake.refresh(executor="inline")
    assert "captions" in snapshot.take(lake.location).coded
    assert lake.sql("SELECT count(size) FROM captions").fetchall() == [(0,)]
    lake.refresh(executor="inline")
    assert lake.sql(_GROUPS).fetchall() == _FOUND


def test_foreign_strings_are_not_trusted(lake: Lake, row_function: Callable[..., Any]) -> None:
    """Another tool wrote strings without their codes: a refresh does not make the codes trusted."""
    row_function("c_foreign", _length)
    lake.add_column("captions", "size", "c_foreign(text)")
    dataset = tables.open_table(lake.location, "captions")
    assert dataset is not None
    dataset.update({"origin": "'other'"}, where="caption_id = 11")
    lake.refresh(executor="inline")
    assert "captions" not in snapshot.take(lake.location).coded
    assert lake.sql(_GROUPS).fetchall() == [("alt_text", 3, 3), ("generated", 1, 0), ("human", 3, 3), ("other", 1, 1)]


def test_journal_of_a_refresh(lake: Lake, row_function: Callable[..., Any]) -> None:
    """A row a stage: mode, rows, errors, seconds, fingerprint, versions in and out."""
    function = row_function("c_journal", lambda text: len(text) if text else 1 // 0)
    lake.add_column("captions", "size", "c_journal(text)")
    lake.create_materialized_view("v", "SELECT image_id, sum(size)::BIGINT AS s FROM captions GROUP BY 1", "image_id")
    before = len(lake.sql("SELECT * FROM meta.runs").fetchall())
    report = lake.refresh(executor="inline")
    runs = [r for r in meta.read(lake.location, "runs").to_pylist() if r["state"] != "running"][-2:]
    assert len(lake.sql("SELECT * FROM meta.runs").fetchall()) == before + 2
    assert [(r["target"], r["kind"], r["mode"], r["rows_read"], r["updated"], r["rejected"]) for r in runs] == [
        ("captions.size", "refresh", "rebuild", 8, 8, 2),
        ("v", "refresh", "rebuild", 6, 0, 0),
    ]
    assert [r["fingerprint"] for r in runs] == [s.fingerprint for s in report.stages]
    for run, stage in zip(runs, report.stages, strict=True):
        assert {v["table"]: v["version"] for v in run["versions_in"]} == stage.versions_in
        assert {v["table"]: v["version"] for v in run["versions_out"]} == stage.versions_out
        assert run["seconds"] > 0
    assert report.stages[1].versions_in == report.stages[0].versions_out
    lake.refresh(executor="inline")
    runs = meta.read(lake.location, "runs").to_pylist()[-2:]
    assert [(r["state"], r["mode"], r["updated"]) for r in runs] == [("finished", "no_op", 0)] * 2
    function.of = lambda text: 1 // 0
    function.declare(version="2")
    lake.refresh(executor="inline")
    last = meta.read(lake.location, "runs").to_pylist()[-1]
    assert (last["target"], last["mode"], last["updated"]) == ("captions.size", "failed", 0)
    assert "ZeroDivisionError" in last["details"]
