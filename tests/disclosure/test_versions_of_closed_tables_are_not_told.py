"""Guesses that are taken in are not answered by versions: nothing tells that a closed view or column has a new one."""

from __future__ import annotations

import datetime as dt
import json

import pytest

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.refresh.gc import gc
from counterbalance.engine.store import digests

PURPOSE = "a test of versions"


@pytest.fixture(scope="module", params=["right", "wrong"])
def guessed(request, tmp_path_factory, build):
    """A lake in which image 1 has label a or b, after somebody said that it is a, and the view of labels was refreshed."""
    ids = list(range(70))
    values = ["a"] * 40 + ["b"] * 30
    values[1] = "a" if request.param == "right" else "b"
    lake = cb.connect(tmp_path_factory.mktemp("guess") / f"{request.param}.lake")
    whole = build.labels(
        label_id=ids, image_id=ids, attribute=["perceived_gender"] * 70, value=values, annotator=["x"] * 70
    )
    captions = build.captions(caption_id=ids, image_id=ids, text=["a dog"] * 70)
    lake.ingest({"images": build.images(image_id=ids), "labels": whole, "captions": captions})
    lake.create_materialized_view(
        "pg", "SELECT image_id, label FROM image_labels('perceived_gender')", "image_id", purpose=PURPOSE
    )
    lake.add_column("pg", "size", "length(label)", purpose=PURPOSE)
    lake.refresh(executor="inline")
    guess = build.labels(label_id=[1], image_id=[1], attribute=["perceived_gender"], value=["a"], annotator=["x"])
    lake.ingest({"labels": guess})
    lake.refresh(executor="inline")
    assert lake.session(sensitive=PURPOSE).versions["pg"] == {"right": 3, "wrong": 5}[request.param]
    return lake


def test_by_a_session_or_a_tag(guessed):
    with guessed.session() as session:
        told = session.versions
    assert told.keys() == {"images", "captions"}
    assert guessed.tag("now").versions == told


def test_by_an_export(guessed, tmp_path):
    assert (
        main(
            [
                "export",
                guessed.uri,
                "SELECT label, count FROM demographics(pg)",
                "--to",
                "parquet",
                str(tmp_path / "out"),
            ]
        )
        == 0
    )
    manifest = json.loads((tmp_path / "out" / ".counterbalance-export.json").read_text())
    assert manifest["versions"].keys() == {"images", "captions"}
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text()
    assert "| `pg` |  |  |" in sheet
    assert "pg 1" not in sheet
    assert "sensitive/labels " not in sheet


def test_by_a_report(guessed, tmp_path):
    assert main(["report", guessed.uri, "-o", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "<dt>images</dt>" in page
    assert "<dt>pg</dt><dd>version" not in page
    assert "sensitive/labels" not in page


def test_by_the_journal(guessed):
    """A refresh of a closed column that changes nothing notes no versions, also none of open tables."""
    with guessed.session() as session:
        told = session.sql(
            "SELECT DISTINCT mode, versions, versions_in, versions_out FROM meta.runs WHERE target LIKE 'pg%'"
        )
        rows = told.fetchall()
    assert {row[1:] for row in rows} == {("{}", "{}", None)}
    assert "no_op" not in {mode for mode, *_ in rows}


def test_by_a_clean_up(guessed):
    for apply in (False, True):
        report = gc(guessed.location, older_than=dt.timedelta(0), apply=apply)
        assert not [f for f in report.findings if f.kind == "table" and f.name not in {"images", "captions"}]
    with guessed.session() as session:
        (rows,) = session.sql("SELECT count(*) FROM meta.runs WHERE kind = 'gc' AND target LIKE '%pg%'").fetchall()
    assert rows == (0,)
    assert len(cb.connect(guessed.uri).session(sensitive=PURPOSE).sql("FROM pg").fetchall()) == 70


def test_by_a_verification(guessed, capsys):
    """Files of open tables are counted, which are as many whatever was guessed; those of others are read and not counted."""
    calls = []
    found = guessed.verify(progress=calls.append)
    assert found.sound
    assert (
        found.files
        == len(calls)
        == sum(len(digests.read(guessed.location, name).entries) for name in ("images", "captions"))
    )
    assert calls[-1].done == calls[-1].total == found.bytes
    assert main(["verify", guessed.uri]) == 0
    assert "those of closed tables and meta, which are not counted" in capsys.readouterr().out


def test_by_what_an_open_view_over_an_audit_was_made_of(build):
    ids = list(range(60))
    lake = cb.connect("memory://counted")
    labels = build.labels(
        label_id=ids, image_id=ids, attribute=["perceived_gender"] * 60, value=["a"] * 40 + ["b"] * 20
    )
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    counts = "SELECT label, count FROM demographics(image_labels('perceived_gender'))"
    lake.create_materialized_view("counts", counts, "label")
    (stage,) = lake.refresh(executor="inline").stages
    assert stage.written == 2
    assert not [name for name in stage.versions_in if "labels" in name]
