"""Another user of the machine reads no closed value from any file of a lake, nor from any table that opens."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import FunctionError


def test_open_values_can_be_read(marked, seen_by_others):
    found = seen_by_others("OPEN caption 3")
    assert [table.rsplit("/", 1)[-1] for table in found["tables"]] == ["captions.lance"]
    assert min(found["read"]) > 3


def test_labels_cannot(marked, seen_by_others):
    found = seen_by_others("MARK")
    assert (found["files"], found["tables"]) == ([], [])


def test_nor_closed_views_and_columns(closed, seen_by_others):
    closed.tag("kept")
    closed.ingest({"images": _one_more_image()})
    found = seen_by_others("MARK")
    assert (found["files"], found["tables"]) == ([], [])
    assert not [name for name in found["names"] if "pg.lance" in name or "captions.lance" in name]


def test_nor_what_a_refresh_has_not_published(marked, why, break_later, seen_by_others, monkeypatch):
    break_later(25)
    monkeypatch.setattr("counterbalance.engine.refresh.compute._SUSPICIOUS", 5)
    marked.add_column("captions", "perceived_race", "breaks_later(text)")
    with pytest.raises(FunctionError):
        marked.sql("REFRESH captions.perceived_race WITH (executor = 'inline')")
    left = [p for p in marked.location.path.rglob("*.arrows") if b"MARKspooled" in p.read_bytes()]
    assert left
    found = seen_by_others("MARK")
    assert (found["files"], found["tables"]) == ([], [])


def test_nor_what_is_left_of_older_versions(closed, why, seen_by_others):
    closed.drop_column("captions", "perceived_gender", cascade=True)
    closed.create_materialized_view("pg", "SELECT label_id, image_id, value FROM labels", "label_id", replace=True)
    closed.refresh(executor="inline")
    found = seen_by_others("MARK")
    assert (found["files"], found["tables"]) == ([], [])


def test_modes_of_what_lies_there(closed):
    inside = [closed.location.path / "sensitive", *(closed.location.path / "sensitive").rglob("*")]
    assert len(inside) > 50
    assert {p.stat().st_mode & 0o777 for p in inside if p.is_dir()} == {0o700}
    assert {p.stat().st_mode & 0o777 for p in inside if p.is_file()} == {0o600}


def _one_more_image():
    import pyarrow as pa

    return pa.table({"image_id": [99], "key": ["99"]})
