"""What a session of ``sql`` reads: other lakes, the past, sensitive labels; and what would run."""

from __future__ import annotations

import json

import pytest

import counterbalance as cb
from counterbalance.__main__ import main


def rows(capsys):
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def other(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[7], key=["seven"])})
    return disk_lake


def test_attach(lake, other, capsys):
    query = "SELECT (SELECT count(*) FROM images) AS here, (SELECT count(*) FROM o.images) AS there"
    assert main(["sql", lake.uri, query, "--attach", f"o={other.uri}", "--json"]) == 0
    assert rows(capsys) == [{"here": 6, "there": 1}]


def test_at_a_tag(other, build, capsys):
    assert main(["tag", other.uri, "before"]) == 0
    assert capsys.readouterr().out == "before: images 1\n"
    cb.connect(other.uri).ingest({"images": build.images(image_id=[8], key=["eight"])})
    query = "SELECT count(*) AS n FROM images"
    assert main(["sql", other.uri, query, "--json", "--at", "before"]) == 0
    assert rows(capsys) == [{"n": 1}]
    assert main(["sql", other.uri, query, "--json"]) == 0
    assert rows(capsys) == [{"n": 2}]
    assert main(["sql", other.uri, query, "--at", "after"]) == 1
    assert "no tag 'after'" in capsys.readouterr().err


def test_sensitive_labels_need_a_purpose(other, build, capsys):
    labels = build.labels(
        label_id=[1], image_id=[7], attribute=["perceived_gender"], value=["female"], annotator=["ann"]
    )
    other.ingest({"labels": labels})
    query = "SELECT value FROM labels"
    assert main(["sql", other.uri, query, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == []
    assert "--sensitive" in err
    assert main(["sql", other.uri, query, "--json", "--sensitive", "test of the log"]) == 0
    assert rows(capsys) == [{"value": "female"}]
    assert main(["sql", other.uri, "SELECT purpose FROM meta.access", "--json", "--sensitive", "read the log"]) == 0
    assert "test of the log" in {r["purpose"] for r in rows(capsys)}


def test_expand_prints_sql_and_runs_nothing(lake, capsys):
    assert main(["sql", lake.uri, "SELECT error('ran') FROM caption_gender", "--expand"]) == 0
    text = capsys.readouterr().out
    assert "FROM captions" in text.replace('"', "")


def test_explain_prints_the_plan(lake, capsys):
    assert (
        main(["sql", lake.uri, "SELECT error('ran') FROM captions WHERE caption_id > $x", "--explain", "-p", "x=3"])
        == 0
    )
    assert "projection" in capsys.readouterr().out.lower()
