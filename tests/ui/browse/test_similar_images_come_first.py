"""Images near to one by the lake's own vectors come nearest first, narrowed by the other filters; its page shows some."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.functions import Parameter, udf


@udf(returns=pa.list_(pa.float32(), 2), parameters=[Parameter("n", pa.int64())], version="1")
def angle_of_browse(n: pa.Array) -> pa.Array:
    """Vectors that turn by 0.1 with each number; none for 6."""
    import math

    values = [None if i == 6 else [math.cos(i / 10), math.sin(i / 10)] for i in n.to_pylist()]
    return pa.array(values, pa.list_(pa.float32(), 2))


@pytest.fixture
def client(lake, serve):
    with lake.session() as session:
        session.sql("ALTER TABLE images ADD COLUMN look AS (angle_of_browse(image_id))").to_arrow()
        session.sql("REFRESH images").to_arrow()
    return serve(lake)


def test_order(client):
    def ids(address):
        return [i["image_id"] for i in client.get(f"/api/lakes/demo/images?{address}").json()["images"]]

    assert ids("similar=5") == [4, 3, 2, 1]
    assert ids("similar=5&split=train") == [2, 1]
    text = client.get("/lakes/demo/images/5").text
    assert "Similar images" in text
    assert "/lakes/demo/browse?similar=5" in text
    assert "Similar images" not in client.get("/lakes/demo/images/6").text


def test_lists_of_any_length_are_no_vectors(empty_lake, build, serve):
    empty_lake.ingest({"images": build.images(image_id=[1, 2])})
    empty_lake.sql("ALTER TABLE images ADD COLUMN look AS ([CAST(image_id AS FLOAT), 1.0::FLOAT])")
    empty_lake.refresh("images")
    client = serve(empty_lake)
    error = client.get("/api/lakes/demo/images?similar=1").json()["error"]
    assert error["code"] == "E3744"
    assert "look (list<item: float>)" in error["message"]
    empty_lake.sql(error["hint"].partition(": ")[2].replace("512", "2"))
    empty_lake.refresh("images")
    assert [i["image_id"] for i in client.get("/api/lakes/demo/images?similar=1").json()["images"]] == [2]
