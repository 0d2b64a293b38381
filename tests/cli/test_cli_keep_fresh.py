"""``status``, ``schedule``, ``lineage``, ``index``, ``gc``, ``errors`` and ``history`` of what was declared."""

from __future__ import annotations

import datetime as dt
import json
import re

import numpy as np
import pyarrow as pa
import pytest
from copies import filled

from counterbalance.__main__ import main
from counterbalance.engine.store import tables


@pytest.fixture
def declared(kept, disk_lake, build):
    def fill(lake):
        ids = list(range(20))
        lake.ingest(
            {
                "images": build.images(image_id=ids, key=[str(i) for i in ids]),
                "captions": build.captions(caption_id=ids, image_id=ids, text=[f"text {i}" for i in ids]),
            }
        )
        lake.add_column("captions", "shout", "upper(text)", schedule="@daily")
        lake.create_materialized_view(
            "v", "SELECT image_id, max(shout) AS m FROM captions GROUP BY image_id", "image_id"
        )
        lake.create_index("captions", "text", "btree", name="texts")

    return filled(kept, disk_lake, fill)


def printed(capsys, *words, code=0):
    assert main([str(w) for w in words]) == code
    return capsys.readouterr().out


def as_json(capsys, *words, code=0):
    return json.loads(printed(capsys, *words, "--json", code=code))


def cells(text):
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]


def test_status(declared, capsys):
    lines = cells(printed(capsys, "status", declared.uri))
    assert lines[0] == ["target", "kind", "state", "stale", "errors", "covered", "size", "due since", "next", "why"]
    assert lines[2][:4] == ["captions.shout", "column", "stale", "20"]
    printed(capsys, "status", declared.uri, "--check", code=3)
    declared.refresh()
    out = printed(capsys, "status", declared.uri, "--check")
    assert "why" not in out
    assert all(line[2] == "fresh" for line in cells(out)[2:])
    found = {r["target"]: r for r in as_json(capsys, "status", declared.uri)}
    assert found["texts"]["coverage"] == 1.0
    assert found["captions.shout"]["next_due"].endswith("T00:00:00Z")
    assert found["v"]["next_due"] is None


def test_status_of_nothing(disk_lake, build, capsys):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    assert printed(capsys, "status", disk_lake.uri, "--check") == "nothing is declared\n"
    assert as_json(capsys, "status", disk_lake.uri) == []
    assert printed(capsys, "schedule", disk_lake.uri) == "nothing has a schedule\n"
    assert printed(capsys, "index", disk_lake.uri) == "no index is declared\n"
    assert printed(capsys, "gc", disk_lake.uri) == "nothing can go\n"


def test_schedule(declared, capsys):
    (row,) = as_json(capsys, "schedule", declared.uri)
    assert (row["target"], row["schedule"], row["tried"], row["due"]) == ("captions.shout", "@daily", None, True)
    now = dt.datetime.now(dt.UTC).isoformat()
    assert row["due_since"] <= now < row["next_due"]
    printed(capsys, "refresh", declared.uri, "--due", "--executor", "inline")
    (row,) = as_json(capsys, "schedule", declared.uri)
    assert (row["due"], row["due_since"]) == (False, None)
    assert row["next_due"] > now
    (header, _, line) = cells(printed(capsys, "schedule", declared.uri))
    assert header == ["target", "schedule", "tried", "due", "due_since", "next_due"]
    assert line[3:5] == ["false", "NULL"]


def test_lineage_as_a_tree(declared, capsys):
    assert printed(capsys, "lineage", declared.uri, "v.m").splitlines() == [
        "v.m (column)  max(shout)",
        "made of:",
        "  └── captions.shout (column)  upper(text)",
        "      └── captions.text (column)",
        "read by: nothing",
    ]
    assert printed(capsys, "lineage", declared.uri, "v").splitlines() == [
        "v (view)  SELECT image_id, max(shout) AS m FROM captions GROUP BY image_id",
        "made of:",
        "  ├── captions.image_id (column)",
        "  └── captions.shout (column)  upper(text)",
        "      └── captions.text (column)",
        "read by: nothing",
    ]
    assert printed(capsys, "lineage", declared.uri, "captions.text").splitlines()[:4] == [
        "captions.text (column)",
        "made of: nothing",
        "read by:",
        "  ├── captions.shout (column)  upper(text)",
    ]


def test_lineage_as_rows_and_as_a_chart(declared, capsys):
    found = {
        (r["name"], r["direction"], r["depth"]) for r in as_json(capsys, "lineage", declared.uri, "captions.shout")
    }
    assert {("captions.text", "upstream", 1), ("v", "downstream", 1)} <= found
    chart = printed(capsys, "lineage", declared.uri, "captions.shout", "--mermaid")
    assert chart.startswith("flowchart LR\n")
    assert '"captions.text"' in chart
    main(["lineage", declared.uri, "captions.shoot"])
    assert "did you mean 'captions.shout'" in capsys.readouterr().err


def test_index_lists_coverage(declared, build, capsys):
    (row,) = as_json(capsys, "index", declared.uri)
    assert (row["state"], row["indexed"], row["unindexed"], row["bytes"]) == ("not built", 0, 20, None)
    declared.refresh()
    declared.ingest({"captions": build.captions(caption_id=[90], image_id=[1], text=["new"])})
    (row,) = as_json(capsys, "index", declared.uri, "texts")
    assert (row["kind"], row["state"], row["indexed"], row["unindexed"]) == ("btree", "built", 20, 1)
    assert row["bytes"] > 0
    assert main(["index", declared.uri, "text"]) == 1
    assert "no index 'text'; did you mean 'texts'?" in capsys.readouterr().err


def test_recall_of_an_index(disk_lake, build, capsys):
    draw = np.random.default_rng(0)
    count, width = 400, 8
    ids = list(range(count))
    disk_lake.ingest({"images": build.images(image_id=ids, key=[str(i) for i in ids])})
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(draw.normal(size=count * width).astype(np.float32)), width)
    tables.open_table(disk_lake.location, "images").add_columns(
        pa.RecordBatchReader.from_batches(
            pa.schema([("embedding", vectors.type)]), [pa.record_batch([vectors], names=["embedding"])]
        )
    )
    disk_lake.create_index("images", "embedding", "ivf_flat", name="by_look")
    disk_lake.refresh()
    rows = as_json(capsys, "index", disk_lake.uri, "by_look", "--recall", "-k", "5", "--queries", "20")
    assert {(r["name"], r["kind"], r["k"], r["queries"]) for r in rows} == {("by_look", "ivf_flat", 5, 20)}
    assert max(r["recall"] for r in rows) == 1.0  # all partitions are searched
    assert main(["index", disk_lake.uri, "--recall"]) == 2


def test_errors_of_a_target(declared, capsys):
    declared.refresh()
    assert as_json(capsys, "errors", declared.uri, "captions.shout") == []
    assert main(["errors", declared.uri, "captions.text"]) == 1
    err = capsys.readouterr().err
    assert "error[E1034]: no generated column 'captions.text'" in err
    assert "captions.shout" in err


def test_history_of_a_target(declared, capsys):
    declared.refresh()
    (declaring, stage) = as_json(capsys, "history", declared.uri, "--target", "CAPTIONS.SHOUT")
    assert (declaring["kind"], stage["kind"], stage["mode"]) == ("declare", "refresh", "rebuild")
    assert (stage["rows_read"], stage["updated"], stage["rejected"]) == (20, 20, 0)
    assert re.fullmatch("[0-9a-f]{16}", stage["fingerprint"])
    before, after = json.loads(stage["versions_in"]), json.loads(stage["versions"])
    assert before["captions"] < after["captions"]


def test_gc(declared, capsys):
    declared.refresh()
    tables.delete(declared.location, "captions", "caption_id = 3")
    out = printed(capsys, "gc", declared.uri, "--older-than", "0")
    assert "1 deleted row" in out
    assert out.endswith(" can be freed; nothing was removed: add --apply\n")
    found = as_json(capsys, "gc", declared.uri, "--older-than", "0", "--apply")
    assert found["applied"]
    assert found["bytes"] == sum(f["bytes"] for f in found["findings"]) > 0
    assert printed(capsys, "gc", declared.uri, "--older-than", "0", "--apply") == "nothing can go\n"
    assert declared.sql("SELECT count(*) FROM captions").fetchall() == [(19,)]
    assert {"gc"} <= {r["kind"] for r in as_json(capsys, "history", declared.uri)}


def test_history_of_an_unknown_name(declared, capsys):
    assert main(["history", declared.uri, "--target", "captions.shoot"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "error[E1052]: nothing is named 'captions.shoot'; did you mean 'captions.shout'?" in said.err
    assert "names with a history: arrow, captions.shout, texts, v" in said.err
    assert main(["history", str(declared.uri) + "x", "--target", "captions.shout"]) == 1
    assert "no lake" in capsys.readouterr().err


def test_history_of_a_name_without_runs(declared, capsys):
    assert main(["history", declared.uri, "--target", "captions", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == []
    assert said.err == "note: no run is about captions alone; ingests are listed by their source\n"


@pytest.mark.parametrize("age", ["7", "x", "-1d", "d", "1y", ""])
def test_gc_knows_what_an_age_is(declared, age, capsys):
    assert main(["gc", declared.uri, "--older-than", age]) == 2
    assert "is not an age" in capsys.readouterr().err
