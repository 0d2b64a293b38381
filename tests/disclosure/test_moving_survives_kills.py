"""A table that is moved to the closed folder lies in one place at every moment; a kill loses and opens nothing."""

from __future__ import annotations

import signal

import pytest


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_while_a_closed_column_is_declared(marked, why, spawn, when, record_property):
    record_property("kills", 1)
    process = spawn("enclose_and_die", marked.uri, when)
    process.communicate(timeout=500)
    assert process.returncode == -signal.SIGKILL
    path = marked.location.path
    places = [p for p in (path / "captions.lance", path / "sensitive/tables/captions.lance") if p.is_dir()]
    assert len(places) == 1
    assert marked.sql("SELECT count(*), count(text) FROM captions").fetchall() == [(40, 40)]
    marked.refresh(executor="inline")
    assert not (path / "captions.lance").exists()
    assert marked.sql("SELECT count(*) FROM captions").fetchall() == [(40,)]
    assert marked.sql("SELECT count(perceived_gender) FROM captions", sensitive=why).fetchall() == [(40,)]
    assert "perceived_gender" not in marked.sql("FROM captions").columns


def test_what_is_there_twice_is_refused(closed):
    """Two tables of a name: none is taken for the other, and none is overwritten."""
    from counterbalance.engine.errors import StorageError

    (closed.location.path / "pg.lance").mkdir()
    with pytest.raises(StorageError, match="cannot move table 'pg'") as caught:
        closed.refresh(executor="inline")
    assert caught.value.code == "E6043"
