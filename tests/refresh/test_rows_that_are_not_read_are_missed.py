"""A refresh counts the rows that it has to compute: those that a read leaves out are computed later, or are an error."""

from __future__ import annotations

import pytest

from counterbalance.engine.executors import worker
from counterbalance.engine.refresh import compute


@pytest.fixture
def texts(empty_lake, build, row_function):
    empty_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    for first in (0, 10):
        ids = list(range(first, first + 10))
        empty_lake.ingest({"captions": build.captions(caption_id=ids, image_id=[1] * 10, text=["t"] * 10)})
    row_function("x_counted_size", len)
    empty_lake.sql("ALTER TABLE captions ADD COLUMN c AS (x_counted_size(text))")
    return empty_lake


def _filled(lake) -> int:
    return lake.sql("SELECT count(c) FROM captions").fetchall()[0][0]


def test_a_fragment_that_is_left_out_is_computed_in_the_next_pass(texts, monkeypatch):
    tasks, calls = compute.Computing._tasks, []

    def forgetful(self):
        found = list(tasks(self))
        calls.append(found)
        return iter(found[:1] if len(calls) == 1 else found)

    monkeypatch.setattr(compute.Computing, "_tasks", forgetful)
    assert [(s.rows, s.errors) for s in texts.refresh("captions.c").stages] == [(20, 0)]
    assert _filled(texts) == 20
    assert len(calls) == 2


def test_rows_that_a_worker_does_not_read_are_an_error(texts, monkeypatch):
    stale = worker.Worker._stale

    def short(self, task):
        for rows, ids, stamps in stale(self, task):
            yield rows.slice(0, 7), ids[:7], stamps[:7]

    monkeypatch.setattr(worker.Worker, "_stale", short)
    (stage,) = texts.refresh("captions.c", executor="inline").stages
    assert stage.mode == "failed"
    assert stage.code == "E6047"
    assert "7 rows of fragment 0 of captions were read, and it has 10 to compute" in stage.message
    monkeypatch.setattr(worker.Worker, "_stale", stale)
    texts.refresh("captions.c")
    assert _filled(texts) == 20
