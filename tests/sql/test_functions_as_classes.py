"""A model is a class: constants to its constructor, opened once, called with batches by one thread at a time, closed."""

from __future__ import annotations

import threading
import time
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import counterbalance as cb
from counterbalance.engine.functions import Partial, functions

LOG: list[Any] = []


@cb.udf(
    returns=pa.int64(),
    parameters=[cb.Parameter("a", pa.int64()), cb.Parameter("times", pa.int64(), default=2, constant=True)],
    version="1",
)
class class_scaled:  # noqa: N801 - its name in SQL
    """A number, several times."""

    busy = False

    def __init__(self, times: int) -> None:
        self.times = times

    def open(self, device: str) -> None:
        LOG.append(("open", self.times, device))

    def __call__(self, a: pa.Array) -> pa.Array:
        assert not class_scaled.busy
        class_scaled.busy = True
        time.sleep(0.001)
        class_scaled.busy = False
        return pc.multiply(a, self.times)

    def close(self) -> None:
        LOG.append(("close", self.times))


@cb.udf(returns=pa.string(), parameters={"x": pa.int64(), "y": pa.string()}, version="1")
def class_joined(batch: pa.RecordBatch) -> list[str]:
    """Both as text, from a record batch."""
    assert batch.schema.names == ["x", "y"]
    return [f"{x}{y}" for x, y in zip(*batch.to_pydict().values(), strict=True)]


@cb.udf(returns=pa.int64(), parameters={"x": pa.int64()}, version="1")
def class_partial(x: pa.Array) -> Partial:
    """Fails in its odd rows."""
    return Partial(x, {i: f"odd: {v}" for i, v in enumerate(x.to_pylist()) if v is not None and v % 2})


def test_it_is_opened_once_a_set_of_constants_and_closed_with_the_session() -> None:
    LOG.clear()
    lake = cb.connect("memory://classes")
    lake.ingest({"images": pa.table({"image_id": range(10_000), "key": [str(i) for i in range(10_000)]})})
    with lake.session() as session:
        sql = "SELECT sum(class_scaled(image_id)) AS a, sum(class_scaled(image_id, times := 3)) AS b FROM images"
        total = sum(range(10_000))
        assert session.sql(sql).fetchall() == [(2 * total, 3 * total)]
        assert session.sql(sql).fetchall() == [(2 * total, 3 * total)]
        assert sorted(LOG) == [("open", 2, "cpu"), ("open", 3, "cpu")]
    assert sorted(LOG[2:]) == [("close", 2), ("close", 3)]


def test_threads_take_turns() -> None:
    opened = functions()["class_scaled"].open({"times": 2})
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                assert opened([pa.array([1, 2])]).to_pylist() == [2, 4]
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_parameter_named_batch_gets_a_record_batch() -> None:
    opened = functions()["class_joined"].open({})
    assert opened([pa.array([1, 2]), pa.array(["a", "b"])]) == ["1a", "2b"]


def test_a_partial_result_fails_a_query_with_its_message() -> None:
    lake = cb.connect("memory://partial")
    lake.ingest({"images": pa.table({"image_id": [2, 4], "key": ["a", "b"]})})
    assert lake.sql("SELECT class_partial(image_id) FROM images ORDER BY 1").fetchall() == [(2,), (4,)]
    with pytest.raises(cb.CounterbalanceError, match="odd: 3"):
        lake.sql("SELECT class_partial(image_id + 1) FROM images").fetchall()
