"""An interrupt stops every query of a session that is being read, whatever began or ended after it."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import LimitError

MANY = "SELECT range AS x FROM range(400000000)"
BATCHES = 300
"""More than DuckDB keeps ahead of a reader, and far fewer than the query has."""


def read(batches):
    for _ in range(BATCHES):
        batches.read_next_batch()


@pytest.mark.parametrize("begun_later", ["SELECT 1 AS a", "SELECT count(*) FROM images"])
def test_a_query_that_began_later_and_ended(lake, begun_later):
    with lake.session() as session:
        batches = session.sql(MANY).to_batches()
        batches.read_next_batch()
        session.sql(begun_later).to_arrow()
        session.interrupt()
        with pytest.raises(LimitError, match="cancelled"):
            read(batches)


def test_two_queries_that_are_read_at_once(lake):
    with lake.session() as session:
        readers = [session.sql(MANY).to_batches() for _ in range(2)]
        for batches in readers:
            batches.read_next_batch()
        session.interrupt()
        for batches in readers:
            with pytest.raises(LimitError, match="cancelled"):
                read(batches)
        assert session.sql("SELECT 1").fetchall() == [(1,)]  # the session goes on
