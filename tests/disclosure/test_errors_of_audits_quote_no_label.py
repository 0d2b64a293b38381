"""An audit that fails over perceived labels says which kind of error it was, and quotes none of them."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.sql import queries, query_files

PURPOSE = "a test of errors"


@pytest.fixture
def lake(build, monkeypatch):
    ids = list(range(1, 41))
    lake = cb.connect("memory://errors-quote")
    values = [f"planted-secret-{i}" for i in ids]
    labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 40, value=values)
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    header = '/*--- toml\nanswers = "Mine."\n[[cells]]\ncount = "n"\n---*/\n'
    bodies = {
        "converts": "SELECT sum(CAST(value AS INTEGER)) AS n FROM labels",
        "raises": "SELECT count(error(value)) AS n FROM labels",
        "divides": "SELECT count(*) AS n, sum(length(value) // CAST(substr(value, 1, 3) AS INTEGER)) AS s FROM labels",
    }
    mine = {name: query_files.parse(header + sql, "audit", f"{name}.sql") for name, sql in bodies.items()}
    known = queries.queries()
    monkeypatch.setattr(queries, "queries", lambda: {**known, **mine})
    return lake


@pytest.mark.parametrize("audit", ["converts", "raises", "divides"])
def test_no_value(lake, audit):
    with pytest.raises(CounterbalanceError) as caught:
        lake.sql(f"SELECT * FROM {audit}()").fetchall()
    told = (
        f"{caught.value!r} {caught.value} {caught.value.hint} {caught.value.__cause__!r} {caught.value.__context__!r}"
    )
    assert "planted" not in told
    assert caught.value.code == "E3324"
    with pytest.raises(CounterbalanceError, match="pla"):
        lake.sql(f"SELECT * FROM {audit}()", sensitive=PURPOSE).fetchall()
