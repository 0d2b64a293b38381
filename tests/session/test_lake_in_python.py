"""What Python users expect: ``with``, iteration over rows, values as a mapping, hints in the text of an exception."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import BusyError, NotFoundError, RequestError, StorageError

IMAGES = pa.table({"image_id": [1, 2, 3], "key": ["a", "b", "c"]})


def test_a_lake_in_a_with_block(tmp_path):
    with cb.connect(tmp_path / "x.lake") as lake:
        lake.ingest({"images": IMAGES})
        read, unread = (lake.sql("SELECT count(*) FROM images") for _ in range(2))
        assert read.fetchall() == [(3,)]
    assert read.fetchall() == [(3,)]
    with pytest.raises(RequestError, match="session is closed"):
        unread.fetchall()
    assert lake.sql("SELECT count(*) FROM images").fetchall() == [(3,)]


def test_an_error_in_the_block_gets_out(tmp_path):
    with pytest.raises(NotFoundError), cb.connect(tmp_path / "x.lake") as lake:
        lake.sql("SELECT 1")


def test_a_result_is_iterated_row_by_row(empty_lake):
    empty_lake.ingest({"images": IMAGES})
    result = empty_lake.sql("SELECT image_id, key FROM images ORDER BY 1")
    assert [f"{number} {key}" for number, key in result] == ["1 a", "2 b", "3 c"]
    assert list(result) == result.fetchall() == list(result)
    assert next(iter(empty_lake.sql("SELECT range FROM range(10000000)"))) == (0,)
    assert list(empty_lake.sql("SELECT 1 WHERE false")) == []


def test_values_as_a_mapping(empty_lake):
    empty_lake.ingest({"images": IMAGES})
    query = "SELECT image_id FROM images WHERE key = $w"
    assert empty_lake.sql(query, {"w": "b"}).fetchall() == [(2,)]
    assert empty_lake.sql(query, {"w": "b"}, w="c").fetchall() == [(3,)]
    assert empty_lake.sql("SELECT $at + $threads + $text", {"at": 1, "threads": 2, "text": 3}).fetchall() == [(6,)]
    assert empty_lake.sql("SELECT $text", text=3).fetchall() == [(3,)]
    with empty_lake.session() as session:
        assert session.sql(query, {"w": "b"}).fetchall() == [(2,)]


@pytest.mark.parametrize("values", ["b", 5, {1: "b"}])
def test_values_without_names(empty_lake, values):
    empty_lake.ingest({"images": IMAGES})
    with pytest.raises(RequestError, match="values are given by name or as a list") as caught:
        empty_lake.sql("SELECT $1", values)
    assert caught.value.code == "E3042"


@pytest.mark.parametrize("kind", [RequestError, NotFoundError, StorageError, BusyError])
def test_the_text_of_an_exception(kind):
    assert str(kind("it went wrong", hint="do this")) == "it went wrong\nhint: do this"
    assert str(kind("it went wrong")) == "it went wrong"
    assert kind("it went wrong", hint="do this").message == "it went wrong"
