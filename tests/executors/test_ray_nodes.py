"""A refresh on a Ray cluster of three nodes over an object store: a node that is killed costs no row, and none is lost."""

from __future__ import annotations

import importlib.util
import json

import pytest

pytestmark = pytest.mark.slow


def test_a_node_that_is_killed_costs_no_row(jobs, s3_lake, build, spawn):
    if (
        importlib.util.find_spec("ray") is None
    ):  # importing it here would leave out what the executor sets before it does
        pytest.skip("Ray is not installed")
    jobs.captions(s3_lake, build, [f"text {i}" for i in range(600)], parts=6)
    s3_lake.add_column("captions", "node", "x_node(text)")
    out, err = spawn("refresh_on_ray_nodes", s3_lake.uri, jobs.udfs).communicate(timeout=500)
    assert out, err
    (told,) = (line for line in out.splitlines() if line.startswith("{"))
    assert json.loads(told) == {"mode": "rebuild", "errors": 0, "killed": True}
    rows = s3_lake.sql("SELECT node, count(*) AS n FROM captions GROUP BY node").to_arrow().to_pylist()
    assert sum(row["n"] for row in rows) == 600
    assert None not in {row["node"] for row in rows}
    assert len(rows) >= 2
