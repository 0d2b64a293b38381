"""At a tag or a moment something is closed if what was declared then, or what is declared now, says so."""

from __future__ import annotations

import datetime as dt

import pytest

from counterbalance.engine.catalog import runs
from counterbalance.engine.errors import CounterbalanceError, SensitiveError

OPEN = "SELECT label_id, image_id, value FROM labels WHERE attribute = 'scene'"


@pytest.fixture
def then(closed):
    """The closed lake with a tag; a function gives it and a moment of that time."""
    closed.tag("then")
    moment = dt.datetime.now(dt.UTC).isoformat()
    return closed, ("then", moment)


def test_a_column_that_was_dropped(then, build):
    lake, times = then
    lake.drop_column("captions", "perceived_gender", cascade=True)
    lake.ingest({"images": build.images(image_id=[99], key=["99"])})
    for at in times:
        assert "perceived_gender" not in lake.sql("FROM captions", at=at).columns
        with pytest.raises(CounterbalanceError):
            lake.sql("SELECT perceived_gender FROM captions", at=at).fetchall()
        with pytest.raises(CounterbalanceError):
            lake.sql("SELECT count(*) FROM captions WHERE perceived_gender IS NULL", at=at).fetchall()


def test_a_column_that_was_declared_anew_as_open(then, why):
    lake, times = then
    lake.drop_column("captions", "perceived_gender", cascade=True)
    lake.add_column("captions", "perceived_gender", "length(text)", sensitive=False, purpose=why)
    lake.refresh("captions.perceived_gender", executor="inline")
    assert lake.sql("SELECT max(perceived_gender) FROM captions").fetchall()[0][0] > 0
    for at in times:
        assert "perceived_gender" not in lake.sql("FROM captions", at=at).columns


def test_a_view_that_was_replaced_and_refreshed(then, why):
    lake, times = then
    lake.create_materialized_view("pg", OPEN, "label_id", replace=True, purpose=why, sensitive=False)
    lake.refresh(executor="inline")
    assert lake.sql("FROM pg").fetchall() == []
    for at in times:
        with pytest.raises(SensitiveError):
            lake.sql("FROM pg", at=at).fetchall()
        assert len(lake.sql("FROM pg", at=at, sensitive=why).fetchall()) == 40


def test_a_view_that_was_open_then_and_is_closed_now(marked, why):
    marked.create_materialized_view("v", "SELECT caption_id, text FROM captions", "caption_id")
    marked.refresh(executor="inline")
    marked.tag("then")
    text = "SELECT caption_id, text || 'MARK' AS text FROM captions"
    marked.create_materialized_view("v", text, "caption_id", replace=True, sensitive=True)
    with pytest.raises(SensitiveError):
        marked.sql("FROM v", at="then").fetchall()


def test_what_was_open_then_and_is_open_now(closed, why):
    closed.create_materialized_view("v", "SELECT caption_id, text FROM captions", "caption_id")
    closed.refresh(executor="inline")
    closed.tag("then")
    assert len(closed.sql("FROM v", at="then").fetchall()) == 40


def test_listings_of_the_past_do_not_show_it(then):
    lake, times = then
    lake.drop_column("captions", "perceived_gender", cascade=True)
    for at in times:
        with lake.session(at=at) as session:
            shown = next(r for r in session.relations() if r.name == "captions")
            assert "perceived_gender" not in dict(shown.columns)


def test_readers_who_wait_for_an_ingest_see_what_was_closed_then(then, why, build, spawn):
    """A killed ingest keeps readers on older versions, whatever is declared and refreshed meanwhile."""
    lake, _ = then
    before = lake.session().pinned
    run = runs.Run(lake.location, "ingest", "somewhere")
    run.open(before, ())
    lake.drop_column("captions", "perceived_gender", cascade=True)
    lake.add_column("captions", "perceived_gender", "length(text)", sensitive=False, purpose=why)
    lake.create_materialized_view("pg", OPEN, "label_id", replace=True, purpose=why, sensitive=False)
    lake.refresh(executor="inline")
    lake.create_materialized_view("pg", OPEN + " AND image_id > 0", "label_id", replace=True)
    assert lake.session().versions["captions"] == before["captions"]
    assert "perceived_gender" not in lake.sql("FROM captions").columns
    with pytest.raises(SensitiveError):
        lake.sql("FROM pg").fetchall()
    lake.ingest({"images": build.images(image_id=[99], key=["99"])})
    assert lake.sql("SELECT max(perceived_gender) FROM captions").fetchall()[0][0] > 0
    lake.refresh(executor="inline")
    assert lake.sql("FROM pg").fetchall() == []
