"""``doctor LAKE`` lists what is there, what each audit needs, and what to type next."""

from __future__ import annotations

import json

import pytest

import counterbalance as cb
from counterbalance.__main__ import main


@pytest.fixture(scope="module")
def before():
    """What was told of the lake as it is made, by the first test that asked."""
    return []


@pytest.fixture
def told(disk_lake, build, capsys):
    images, captions = build.images(image_id=[1]), build.captions(caption_id=[1], image_id=[1], text=["a man"])

    def ask():
        if not disk_lake.location.path.exists():
            disk_lake.ingest({"images": images, "captions": captions})
        assert main(["doctor", disk_lake.uri, "--json"]) == 0
        out, err = capsys.readouterr()
        return {r["name"]: r for r in json.loads(out)}, err, disk_lake

    return ask


def test_tables_and_what_fills_them(told):
    found, _, lake = told()
    assert found["images"] == {
        "part": "table",
        "name": "images",
        "rows": 1,
        "needs": None,
        "status": "ok",
        "next": None,
    }
    assert (found["detections"]["rows"], found["detections"]["status"]) == (0, "empty")
    assert found["detections"]["next"] == f"counterbalance ingest {lake.uri} boxes.csv"


@pytest.mark.parametrize(
    ("audit", "needs", "status", "then"),
    [
        ("crime_words", "captions", "runs", "counterbalance audit {} crime_words"),
        ("leakage", "captions, detections", "no detections", "counterbalance ingest {} boxes.csv"),
        (
            "cluster_representation",
            "captions, clusters=…",
            "runs on your rows",
            "counterbalance recipe {} caption_clusters",
        ),
        ("weat", "vectors=…", "runs on your rows", "counterbalance audit --list weat"),
        ("agreement", "labels, attribute=…", "no labels", "counterbalance ingest {} labels.csv"),
    ],
)
def test_audits_and_what_to_type(told, before, audit, needs, status, then):
    if not before:
        before.append(told())
    found, _, lake = before[0]
    row = found[audit]
    assert (row["part"], row["needs"], row["status"], row["next"]) == ("audit", needs, status, then.format(lake.uri))


def test_every_audit_stands_once_and_is_counted(told):
    found, err, lake = told()
    status = {name: r["status"] for name, r in found.items() if r["part"] == "audit"}
    assert status.keys() == cb.audits().keys()
    runs, given = (sum(s == wanted for s in status.values()) for wanted in ("runs", "runs on your rows"))
    assert f"note: of {len(status)} audits {runs} run as they are, {given} on rows that you give" in err
    result = lake.audit("cooccurrence")
    result.fetchall()
    assert result.notes[-1].startswith(f"{runs} audits run on this lake as it is, {given} on rows that you give: ")


def test_what_runs_has_rows_or_small_cells(told):
    """Nothing that is said to run lacks a table."""
    found, _, lake = told()
    for name in ("balance", "crime_words", "geography", "sentiment"):
        assert found[name]["status"] == "runs"
        result = lake.audit(name)
        result.fetchall()
        assert not any(" need" in note for note in result.notes), name


def test_perceived_labels_are_named_not_counted(told, build):
    _, _, lake = told()
    lake.ingest({"labels": build.labels(label_id=[1], image_id=[1], attribute=["perceived_gender"], value=["male"])})
    found, _, _ = told()
    assert (found["labels"]["rows"], found["labels of perceived_gender"]["rows"]) == (0, None)
    assert found["labels of perceived_gender"]["status"] == "read by audits only"
    assert found["labels"]["status"] == "empty"
    assert found["agreement"]["status"] == "runs on your rows"
