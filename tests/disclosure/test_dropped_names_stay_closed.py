"""A closed view or column that is dropped leaves nothing behind that a new one of its name would open."""

from __future__ import annotations

import shutil

import pytest

from counterbalance.engine.errors import CounterbalanceError, SensitiveError

OPEN = "SELECT label_id, image_id, value FROM labels WHERE attribute = 'scene'"


def test_a_view_declared_anew_is_closed(closed, build):
    scene = build.labels(label_id=[91], image_id=[1], attribute=["scene"], value=["OPEN park"], annotator=["x"])
    closed.ingest({"labels": scene})
    closed.drop_materialized_view("pg", cascade=True)
    closed.create_materialized_view("pg", OPEN, "label_id")
    closed.refresh(executor="inline")
    with pytest.raises(SensitiveError):
        closed.sql("FROM pg").fetchall()
    assert not (closed.location.path / "pg.lance").exists()


def test_a_purpose_opens_it(closed, why):
    closed.drop_materialized_view("pg", cascade=True)
    closed.create_materialized_view("pg", OPEN, "label_id", purpose=why, sensitive=False)
    closed.refresh(executor="inline")
    assert closed.sql("FROM pg").fetchall() == []


def test_rows_that_a_drop_could_not_remove(closed, why, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        closed.drop_materialized_view("pg", cascade=True)
    with pytest.raises(SensitiveError):
        closed.sql("FROM pg").fetchall()
    with pytest.raises(CounterbalanceError):
        closed.create_materialized_view("pg", OPEN, "label_id", purpose=why, sensitive=False)
    with pytest.raises(SensitiveError):
        closed.sql("FROM pg").fetchall()


def test_a_column_declared_anew_is_closed(closed):
    closed.drop_column("captions", "perceived_gender", cascade=True)
    closed.add_column("captions", "perceived_gender", "length(text)", sensitive=False)
    closed.refresh("captions.perceived_gender", executor="inline")
    assert "perceived_gender" not in closed.sql("FROM captions").columns


def test_a_drop_that_was_taken_back_shows_nothing(closed, monkeypatch):
    """The stored column comes back, its definition does not."""
    monkeypatch.setattr("counterbalance.engine.catalog.ddl.drop._forget", _fail)
    with pytest.raises(OSError, match="gone"):
        closed.drop_column("captions", "perceived_gender", cascade=True)
    assert "perceived_gender" not in closed.sql("FROM captions").columns


def _fail(*_):
    raise OSError("the disk is gone")
