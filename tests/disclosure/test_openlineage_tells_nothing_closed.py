"""Events of a refresh say of closed things that they were made: no SQL, no columns, no text of an error, no numbers."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

CREATE_VIEW = import_module("counterbalance.engine.catalog.ddl.create_view")  # its package has a function of that name


@pytest.mark.parametrize("purpose", [None, "a test of events"])
def test_closed_views_and_columns(marked, why, tmp_path, monkeypatch, purpose):
    monkeypatch.setattr(CREATE_VIEW, "_refuse_repeated_keys", lambda *_: None)
    select = "SELECT label_id, value AS secret_column FROM labels WHERE value <> 'MARKliteral'"
    marked.create_materialized_view("known", select, "label_id", purpose=why)
    bad = "SELECT label_id, CAST(value AS INTEGER) AS n FROM labels"
    marked.create_materialized_view("bad", bad, "label_id", purpose=why)
    marked.add_column("captions", "perceived_race", "upper(text)")
    marked.create_materialized_view("open", "SELECT caption_id, text FROM captions", "caption_id")
    path = tmp_path / "events.jsonl"
    report = marked.refresh(executor="inline", openlineage=str(path), sensitive=purpose)
    assert {s.target: s.mode for s in report.stages}["bad"] == "failed"
    text = path.read_text()
    for told in ("MARK", "secret_column", "INTEGER", "upper", "sensitive", '"perceived_race"'):
        assert told not in text
    ended = {e["job"]["name"]: e for e in map(json.loads, text.splitlines()) if e["eventType"] != "START"}
    assert ended.keys() == {"refresh.known", "refresh.bad", "refresh.captions.perceived_race", "refresh.open"}
    failed = ended["refresh.bad"]["run"]["facets"]["errorMessage"]["message"]
    assert failed.startswith("bad failed (E")
    for name in ("known", "bad", "captions.perceived_race"):
        event = ended[f"refresh.{name}"]
        assert event["job"]["facets"] == {}
        assert [(d["name"], d["facets"]) for d in event["outputs"]] == [(name, {})]
    assert ended["refresh.open"]["outputs"][0]["facets"]["schema"]["fields"]
