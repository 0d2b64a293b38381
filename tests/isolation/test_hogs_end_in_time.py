"""Queries that never end, or want all the memory, end at their limit, and the session goes on."""

from __future__ import annotations

import gc
import tempfile
import threading
import time

import pytest
from runaway_queries import ENDLESS

import counterbalance as cb
from counterbalance.engine.errors import LimitError, RequestError


@pytest.fixture
def session(lake):
    with lake.session(timeout=0.5, memory="400MB", threads=2) as opened:
        yield opened


@pytest.mark.parametrize("name", ENDLESS)
def test_ends_at_the_limit(session, name, answer, record_property):
    record_property("queries", 1)
    with pytest.raises(LimitError) as caught:
        session.sql(ENDLESS[name]).fetchall()
    assert caught.value.code in {"E5001", "E5002"}
    assert caught.value.hint
    assert answer(session, "SELECT count(*) FROM images") == [(6,)]


def test_the_message_names_the_limit(session):
    with pytest.raises(LimitError, match=r"longer than 0\.5 s"):
        session.sql(ENDLESS["arithmetic"]).fetchall()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT list(range) FROM range(200000000)",
        "SELECT string_agg(repeat('x', 1000), ',') FROM range(2000000)",
        "SELECT list(hash(range) ORDER BY sin(range)) FROM range(100000000)",
    ],
)
def test_memory_has_a_limit(lake, query, record_property):
    record_property("queries", 1)
    with lake.session(timeout=60, memory="150MB", threads=2) as session:
        with pytest.raises(LimitError) as caught:
            session.sql(query).fetchall()
        assert (caught.value.code, caught.value.exit_code) == ("E5002", 1)
        assert "--memory" in caught.value.hint
        assert session.sql("SELECT count(*) FROM images").fetchall() == [(6,)]


def test_large_sorts_spill(lake):
    with lake.session(memory="150MB", threads=2) as session:
        query = "SELECT max(h) FROM (SELECT hash(range) AS h, range FROM range(8000000) ORDER BY h LIMIT 7999999)"
        assert session.sql(query).fetchall()[0][0] > 0


def test_a_stream_that_is_read_slowly_is_stopped_too(session, answer):
    reader = session.sql("SELECT range FROM range(2000000000)").to_batches()

    def read():
        for _ in reader:
            time.sleep(0.02)

    with pytest.raises(LimitError):
        read()
    assert answer(session, "SELECT 1") == [(1,)]


def test_a_stream_that_is_given_up_stops(lake):
    session = lake.session(threads=2)
    reader = session.sql("SELECT range FROM range(2000000000)").to_batches()
    assert reader.read_next_batch().num_rows
    del reader
    gc.collect()
    assert session.sql("SELECT 1").fetchall() == [(1,)]
    session.close()


def test_row_limits_stop_endless_answers(lake):
    result = lake.sql("SELECT range FROM range(100000000000)", max_rows=70_000)
    assert len(result) == 70_000
    assert result.notes == ["stopped after 70000 rows"]


def test_interrupt_from_another_thread(lake):
    with lake.session() as session:
        timer = threading.Timer(0.3, session.interrupt)
        timer.start()
        with pytest.raises(LimitError, match="cancelled"):
            session.sql(ENDLESS["arithmetic"]).fetchall()
        timer.join()
        session.interrupt()
        assert session.sql("SELECT 1").fetchall() == [(1,)]


def test_a_quick_query_is_not_touched_by_its_limit(session, answer):
    for _ in range(3):
        assert answer(session, "SELECT count(*) FROM captions") == [(8,)]
    time.sleep(0.6)
    assert answer(session, "SELECT count(*) FROM captions") == [(8,)]


def test_a_limit_counts_for_what_is_evaluated_on_the_way(session):
    with pytest.raises(LimitError):
        session.sql(
            "SELECT * FROM top_k((SELECT range AS id, 'x' AS text FROM range(20000000000) WHERE sin(range) > 2), captions)"
        )


@pytest.mark.parametrize("memory", ["much", "12 parsecs"])
def test_a_limit_that_is_none_is_refused(lake, memory):
    with pytest.raises(RequestError, match="cannot open a session"):
        lake.session(memory=memory)


def test_deep_nesting_is_an_error():
    lake = cb.connect("memory://deep")
    lake.ingest({})
    for text in (
        "SELECT " + "(" * 4000 + "1" + ")" * 4000,
        "SELECT 1" + " + 1" * 20_000,
        "SELECT " + "NOT " * 4000 + "1",
    ):
        with pytest.raises(cb.CounterbalanceError):
            lake.sql(text).fetchall()


def test_spill_space_is_given_back(lake, tmp_path, monkeypatch, spill_of):
    monkeypatch.setattr(
        tempfile, "tempdir", str(tmp_path)
    )  # other processes have sessions of their own in the usual place
    lake.sql("SELECT count(*) FROM images", threads=1).fetchall()
    with lake.session(threads=1) as session:
        session.sql("SELECT 1").fetchall()
        assert spill_of(session).parent == tmp_path
        assert spill_of(session).is_dir()
    result = lake.sql("SELECT * FROM images", threads=1)
    assert len(result) == 6
    del result
    gc.collect()
    assert not list(tmp_path.iterdir())
