"""A call whose result is stored fresh is answered from the column; a stale, hidden or other column is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import counterbalance as cb
from counterbalance.engine.errors import SqlError

if TYPE_CHECKING:
    from counterbalance.engine.lake import Lake

CALLS: list[int] = []


@cb.udf(returns=pa.int32(), parameters={"text": pa.string()}, version="1")
def counted_length(text: pa.Array) -> pa.Array:
    """Length, counting its calls."""
    CALLS.append(len(text))
    return pc.utf8_length(text)


@pytest.fixture
def stored(lake: Lake) -> Lake:
    lake.add_column("captions", "long", "counted_length( Text ) -- how long")
    lake.refresh(executor="inline")
    CALLS.clear()
    return lake


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(counted_length(text)) FROM captions",
        "SELECT sum(COUNTED_LENGTH(c.text)) FROM captions AS c",
        "SELECT sum(counted_length(captions.text)) FROM captions JOIN images USING (image_id)",
        "WITH x AS (SELECT counted_length(text) AS n FROM captions) SELECT sum(n) FROM x",
        "SELECT (SELECT sum(counted_length(text)) FROM captions)",
    ],
)
def test_it_is_not_called(stored: Lake, sql: str) -> None:
    assert stored.sql(sql).fetchall() == [(135,)]
    assert CALLS == []


def test_the_plan_shows_the_column(stored: Lake) -> None:
    plan = stored.session().explain("SELECT counted_length(text) FROM captions")
    assert "long" in plan
    assert "counted_length" not in plan


def test_the_result_is_named_as_it_was_written(stored: Lake) -> None:
    assert stored.sql("SELECT counted_length(text) FROM captions").columns == ["counted_length(text)"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT counted_length(lower(text)) FROM captions LIMIT 1",
        "SELECT counted_length(text) FROM (SELECT text FROM captions) LIMIT 1",
        "SELECT counted_length(key) FROM images LIMIT 1",
        "SELECT counted_length(c.text || i.key) FROM captions c JOIN images i USING (image_id) LIMIT 1",
    ],
)
def test_other_calls_are_computed(stored: Lake, sql: str) -> None:
    stored.sql(sql).fetchall()
    assert CALLS != []


def test_an_error_names_the_call_as_it_was_written(stored: Lake) -> None:
    with pytest.raises(SqlError, match=r'^"counted_length\(text\)" must appear in the GROUP BY clause') as caught:
        stored.sql("SELECT 1, counted_length(text), count(*) FROM captions").fetchall()
    assert (caught.value.line, caught.value.column) == (1, 11)
    with pytest.raises(SqlError, match='column "long" must appear'):
        stored.sql("SELECT long, count(*) FROM captions").fetchall()


def test_a_stale_column_answers_nothing(stored: Lake) -> None:
    stored.ingest({"captions": pa.table({"caption_id": [11], "image_id": [1], "text": ["changed"]})})
    sql = "SELECT counted_length(text) FROM captions WHERE caption_id = 11"
    assert stored.sql(sql).fetchall() == [(7,)]
    assert CALLS != []
    stored.refresh(executor="inline")
    CALLS.clear()
    assert stored.sql(sql).fetchall() == [(7,)]
    assert CALLS == []


def test_a_session_sees_its_own_versions(stored: Lake) -> None:
    with stored.session() as before:
        stored.ingest({"captions": pa.table({"caption_id": [11], "image_id": [1], "text": ["changed"]})})
        sql = "SELECT counted_length(text) FROM captions WHERE caption_id = 11"
        assert before.sql(sql).fetchall() == [(19,)]
        assert CALLS == []
        assert stored.sql(sql).fetchall() == [(7,)]
