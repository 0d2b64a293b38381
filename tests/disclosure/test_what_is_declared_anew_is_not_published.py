"""Rows that were computed for a closed definition are not published once another one has its name."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.refresh import commit, views

OPEN = "SELECT label_id, image_id, value FROM labels WHERE attribute = 'scene'"


@pytest.mark.parametrize("again", [False, True])
def test_a_view_that_is_opened_while_it_is_computed(closed, why, build, monkeypatch, again):
    label = build.labels(
        label_id=[91], image_id=[1], attribute=["perceived_gender"], value=["MARKlate"], annotator=["x"]
    )
    closed.ingest({"labels": label})
    compute = views._compute

    def and_open(*given):
        computed = compute(*given)
        closed.create_materialized_view("pg", OPEN, "label_id", replace=True, purpose=why, sensitive=False)
        return computed

    with monkeypatch.context() as patch:
        patch.setattr(views, "_compute", and_open)
        report = closed.refresh("pg", executor="inline")
    assert report.stages[0].code == "E3428"
    with pytest.raises(SensitiveError):
        closed.sql("FROM pg").fetchall()
    if again:
        closed.refresh(executor="inline")
        assert closed.sql("FROM pg").fetchall() == []


def test_a_column_that_is_declared_anew_while_it_is_computed(marked, why, monkeypatch):
    marked.add_column("captions", "gender", "'MARK' || text")
    run = commit.Publishing.run

    def and_declare(*given):
        marked.drop_column("captions", "gender")
        marked.add_column("captions", "gender", "lower(text)", sensitive=False, purpose=why)
        return run(*given)

    with monkeypatch.context() as patch:
        patch.setattr(commit.Publishing, "run", and_declare)
        report = marked.refresh(executor="inline")
    assert report.stages[0].code == "E3428"
    assert "gender" not in marked.sql("FROM captions").columns
    marked.refresh(executor="inline")
    assert "MARK" not in str(marked.sql("SELECT gender FROM captions").fetchall())
