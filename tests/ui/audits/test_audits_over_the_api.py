"""Programs list audits, read their parameters, and get rows in JSON or Arrow."""

from __future__ import annotations

import pyarrow as pa
import pytest

ADDRESS = "/api/lakes/demo/audits/demographics"


def test_parameters_come_with_their_types(ask):
    found = ask.get("/api/lakes/demo/audits/bias_transfer").json()
    degree = next(p for p in found["parameters"] if p["name"] == "degree")
    assert (degree["type"], degree["default"], degree["min"], degree["max"]) == ("integer", "1", 1, 3)
    assert found["source"]


def test_rows_are_those_of_the_audit(ask, counted_lake):
    rows = counted_lake.audit("demographics", min_count=2).to_arrow()
    found = ask.post(ADDRESS, json={"parameters": {"min_count": 2}}).json()
    assert [c["name"] for c in found["columns"]] == rows.column_names
    assert found["rows"] == [list(row.values()) for row in rows.to_pylist()]
    assert found["sql"] == "SELECT * FROM demographics(min_count := 2)"
    assert found["images"][0].startswith("SELECT DISTINCT image_id")
    asked = ask.post(
        ADDRESS, json={"parameters": {"min_count": "2"}}, headers={"accept": "application/vnd.apache.arrow.stream"}
    )
    assert pa.ipc.open_stream(asked.content).read_all().equals(rows)


@pytest.mark.parametrize("body", [b"[", b"[]", b'{"parameters": [1]}'])
def test_another_body_is_refused(ask, body):
    answer = ask.post(ADDRESS, content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "E3750")
