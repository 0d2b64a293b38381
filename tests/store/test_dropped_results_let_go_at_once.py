"""A result that nobody holds any more lets its versions go at once, not when garbage is collected some day: a purge waits."""

from __future__ import annotations

import gc

import pytest

from counterbalance.engine.store import pins

QUERIES = {
    "rows": "SELECT * FROM captions",
    "a count": "SELECT count(*) FROM captions",
    "a count by value": "SELECT split, count(*) FROM images GROUP BY 1",
    "a count by image": "SELECT image_id, count(*) FILTER (WHERE value = 'indoor') AS n FROM labels GROUP BY 1",
    "a condition on codes": "SELECT * FROM images WHERE split = 'train'",
    "a view": "SELECT * FROM caption_gender",
    "a view with a kernel": "SELECT * FROM image_labels('scene')",
    "a function": "SELECT vader(text) FROM captions",
    "an audit": "SELECT * FROM demographics(groups := image_labels('scene'), min_count := 1)",
    "an audit over a view": "SELECT * FROM sentiment(groups := caption_gender, min_count := 1)",
    "a system table": "SELECT * FROM meta.runs",
    "an explanation": "EXPLAIN SELECT count(*) FROM captions",
    "a search": "WITH v AS (SELECT caption_id, [similarity, 1.0]::FLOAT[2] AS embedding FROM captions WHERE similarity > 0) "
    "SELECT * FROM knn(v, v, k := 2)",
}


@pytest.fixture
def no_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.cases(5)
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_read_or_not(lake, no_collection, query):
    held = lake.sql(query)
    assert len(pins.readers(lake.location)) == 1
    assert held.columns
    del held
    assert pins.readers(lake.location) == []
    assert lake.sql(query).fetchall() is not None
    assert pins.readers(lake.location) == []


def test_a_mistake(lake, no_collection):
    with pytest.raises(Exception, match="nowhere"):
        lake.sql("SELECT * FROM nowhere").fetchall()
    assert pins.readers(lake.location) == []
