"""``tables``, ``history`` and ``functions`` say what there is."""

from __future__ import annotations

import json

import pytest

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.catalog import runs
from counterbalance.engine.search import SIGNATURES
from counterbalance.engine.store.lock import writer_lock
from counterbalance.engine.write.ingest import _Ingest


def rows(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_tables(lake, capsys):
    found = {r["name"]: r for r in rows(capsys, "tables", lake.uri)}
    assert {n: found[n]["rows"] for n in ("images", "captions", "detections", "labels")} == {
        "images": 6,
        "captions": 8,
        "detections": 4,
        "labels": 5,
    }
    assert found["images"]["kind"] == "table"
    assert found["images"]["version"] >= 1
    assert found["captions"]["columns"] == "caption_id, image_id, text, origin, similarity"
    assert found.keys() == {"images", "captions", "detections", "labels"}


def test_tables_tell_views_that_are_kept_from_tables(disk_lake, build, capsys):
    disk_lake.ingest({"images": build.images(image_id=[1, 2])})
    for name in ("done", "later"):
        disk_lake.sql(f"CREATE MATERIALIZED VIEW {name} WITH (key = 'image_id') AS SELECT image_id FROM images")
    disk_lake.sql("REFRESH done").fetchall()
    found = {r["name"]: (r["kind"], r["rows"], r["columns"]) for r in rows(capsys, "tables", disk_lake.uri)}
    assert found["done"] == ("materialized view", 2, "image_id")
    assert found["later"] == ("materialized view", None, "not computed yet: REFRESH later")
    assert disk_lake.sql("SELECT doc FROM meta.tables WHERE name = 'done'").fetchall() == [("materialized view",)]
    assert main(["tables", disk_lake.uri]) == 0
    assert "--all" in capsys.readouterr().err


def test_tables_all(lake, capsys):
    kinds = {r["name"]: r["kind"] for r in rows(capsys, "tables", lake.uri, "--all")}
    assert kinds["caption_gender"] == "view"
    assert kinds["meta.runs"] == "meta"
    assert kinds["retrieval_bias"] == "audit"
    assert "function" not in kinds.values()


def test_tables_at_a_tag(disk_lake, build, capsys):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    disk_lake.tag("one")
    disk_lake.ingest({"images": build.images(image_id=[2], key=["b"])})
    then = {r["name"]: r["rows"] for r in rows(capsys, "tables", disk_lake.uri, "--at", "one")}
    now = {r["name"]: r["rows"] for r in rows(capsys, "tables", disk_lake.uri)}
    assert (then["images"], now["images"]) == (1, 2)


def test_history(disk_lake, build, capsys):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    disk_lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"])})
    runs = rows(capsys, "history", disk_lake.uri)
    assert [r["written"] for r in runs] == [1, 1]
    assert all(r["kind"] == "ingest" and r["started"].endswith("Z") for r in runs)


def test_history_tells_a_killed_load_from_one_that_is_running(disk_lake, build, capsys, monkeypatch):
    def states():
        return [r["state"] for r in rows(capsys, "history", disk_lake.uri)]

    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    with monkeypatch.context() as patched:
        patched.setattr(_Ingest, "_finish", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            disk_lake.ingest({"images": build.images(image_id=[2], key=["b"])})
    assert states() == ["finished", "interrupted"]
    with writer_lock(disk_lake.location, "a test"):
        runs.Run(disk_lake.location, "ingest", "c.csv").open({"images": 1}, ())
        assert states()[-1] == "running"
    assert states()[-1] == "interrupted"
    disk_lake.ingest({"images": build.images(image_id=[3], key=["c"])})
    assert states() == ["finished", "interrupted", "interrupted", "finished"]


def test_tag_twice(disk_lake, build, capsys):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    assert main(["tag", disk_lake.uri, "v1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"name": "v1", "versions": {"images": 1}}
    assert main(["tag", disk_lake.uri, "v1"]) == 1
    assert "is taken" in capsys.readouterr().err


def test_functions(capsys):
    found = {r["name"]: r for r in rows(capsys, "functions")}
    kinds = {kind: {n for n, r in found.items() if r["kind"] == kind} for kind in ("function", "table function")}
    assert kinds["function"] == cb.functions().keys()
    assert kinds["table function"] == SIGNATURES.keys()
    assert "ranker := 'tfidf'" in found["top_k"]["signature"]
    others = {n for n, f in cb.functions().items() if not f.call.__module__.startswith("counterbalance.udfs.")}
    assert all(r["doc"] or name in others for name, r in found.items())
    assert all(r["signature"].startswith(name + "(") for name, r in found.items())
    assert main(["functions"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert all(r["signature"] in text for r in found.values())
    assert [r["name"] for r in rows(capsys, "functions", "Vader")] == ["vader"]
    assert main(["functions", "vadr"]) == 1
    assert "did you mean 'vader'" in capsys.readouterr().err
