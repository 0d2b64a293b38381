"""A refresh tells OpenLineage of its stages where that is asked for, as the published shape wants it, and never fails by it."""

from __future__ import annotations

import datetime as dt
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from counterbalance.__main__ import main
from counterbalance.engine.errors import CounterbalanceError

SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
VIEW = "SELECT image_id, max(twice) AS most FROM captions GROUP BY image_id"


@pytest.fixture
def declared(lake):
    lake.add_column("captions", "size", "length(text)")
    lake.add_column("captions", "twice", "size * 2")
    lake.create_materialized_view("sizes", VIEW, "image_id")
    return lake


@pytest.fixture
def endpoint():
    """A receiver: what was posted, and the status it answers with."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.posted.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(self.server.status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self):
            self.do_POST()

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.posted, server.status = [], 201
        server.url = f"http://127.0.0.1:{server.server_port}/api/v1/lineage"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def events(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def is_address(text):
    return bool(urlsplit(text).scheme) and text == text.strip()


def check_facets(facets):
    for facet in facets.values():
        assert is_address(facet["_producer"])
        assert facet["_schemaURL"].startswith("https://openlineage.io/spec/facets/")


def check_shape(event):
    """What the specification requires of a run event."""
    assert event.keys() == {
        "eventType", "eventTime", "run", "job", "inputs", "outputs", "producer", "schemaURL",
    }  # fmt: skip
    assert event["eventType"] in {"START", "COMPLETE", "ABORT", "FAIL"}
    assert dt.datetime.fromisoformat(event["eventTime"]).tzinfo is not None
    assert str(uuid.UUID(event["run"]["runId"])) == event["run"]["runId"]
    assert is_address(event["producer"])
    assert event["schemaURL"] == SPEC
    for thing in (event["job"], *event["inputs"], *event["outputs"]):
        assert is_address(thing["namespace"])
        assert thing["name"]
        check_facets(thing["facets"])
    check_facets(event["run"]["facets"])
    for dataset in (*event["inputs"], *event["outputs"]):
        assert all(f["name"] and f["type"] for f in dataset["facets"].get("schema", {"fields": []})["fields"])


def test_every_stage_begins_and_ends(declared, tmp_path):
    path = tmp_path / "events.jsonl"
    report = declared.refresh(openlineage=str(path), executor="inline")
    told = events(path)
    for event in told:
        check_shape(event)
    assert [(e["eventType"], e["job"]["name"]) for e in told] == [
        (kind, f"refresh.{stage.target}") for stage in report.stages for kind in ("START", "COMPLETE")
    ]
    assert [e["run"]["runId"] for e in told[::2]] == [e["run"]["runId"] for e in told[1::2]]
    assert len({e["run"]["runId"] for e in told}) == 3
    assert report.notes == ()


def test_what_goes_in_and_out(declared, tmp_path):
    path = tmp_path / "events.jsonl"
    declared.refresh(openlineage=str(path), executor="inline")
    ended = {e["job"]["name"]: e for e in events(path) if e["eventType"] == "COMPLETE"}
    names = {job: [[d["name"] for d in e[way]] for way in ("inputs", "outputs")] for job, e in ended.items()}
    assert names == {
        "refresh.captions.size": [["captions"], ["captions.size"]],
        "refresh.captions.twice": [["captions", "captions.size"], ["captions.twice"]],
        "refresh.sizes": [["captions", "captions.twice"], ["sizes"]],
    }
    assert {d["namespace"] for e in ended.values() for d in (e["job"], *e["inputs"], *e["outputs"])} == {declared.uri}
    sql = {job: e["job"]["facets"]["sql"]["query"] for job, e in ended.items()}
    assert sql["refresh.captions.twice"] == 'SELECT size * 2 AS "twice" FROM "captions"'
    assert sql["refresh.sizes"] == VIEW
    view = ended["refresh.sizes"]
    types = [
        [(f["name"], f["type"]) for f in d["facets"]["schema"]["fields"]] for d in view["inputs"] + view["outputs"]
    ]
    assert types[0][:2] == [("caption_id", "int64"), ("image_id", "int64")]
    assert not {"size", "twice"} & {name for name, _ in types[0]}
    assert types[1:] == [[("twice", "int64")], [("image_id", "int64"), ("most", "int64")]]


def test_a_folder_is_named_by_its_address(disk_lake, build, tmp_path):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    disk_lake.create_materialized_view("v", "SELECT image_id FROM images", "image_id")
    path = tmp_path / "events.jsonl"
    disk_lake.refresh(openlineage=str(path))
    assert {e["job"]["namespace"] for e in events(path)} == {(tmp_path / "test.lake").as_uri()}


def test_a_stage_that_fails(declared, tmp_path):
    path = tmp_path / "events.jsonl"
    declared.create_materialized_view("bad", "SELECT caption_id, text::INTEGER AS n FROM captions", "caption_id")
    report = declared.refresh("bad", openlineage=str(path))
    started, failed = events(path)
    check_shape(failed)
    assert (started["eventType"], failed["eventType"]) == ("START", "FAIL")
    facet = failed["run"]["facets"]["errorMessage"]
    assert facet["programmingLanguage"] == "PYTHON"
    assert facet["message"] == f"{report.stages[0].message} ({report.stages[0].code})"


def test_a_stage_that_is_interrupted(declared, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setitem(__import__("counterbalance.engine.refresh.runner", fromlist=["_RUN"])._RUN, "column", interrupt)
    path = tmp_path / "events.jsonl"
    with pytest.raises(KeyboardInterrupt):
        declared.refresh(openlineage=str(path))
    assert [e["eventType"] for e in events(path)] == ["START", "ABORT"]


def test_lines_are_added(declared, tmp_path):
    path = tmp_path / "events.jsonl"
    for _ in range(2):
        declared.refresh("captions.size", openlineage=str(path), executor="inline")
    assert [e["eventType"] for e in events(path)] == ["START", "COMPLETE"] * 2


def test_an_endpoint_gets_a_post_an_event(declared, endpoint, capfd):
    assert main(["refresh", declared.uri, "captions.size", "--openlineage", endpoint.url]) == 0
    assert [(path, kind, e["eventType"]) for path, kind, e in endpoint.posted] == [
        ("/api/v1/lineage", "application/json", kind) for kind in ("START", "COMPLETE")
    ]
    assert "note:" not in capfd.readouterr().err


@pytest.mark.parametrize(("status", "said"), [(500, "it answers 500"), (302, "it answers 302")])
def test_an_endpoint_that_refuses_is_told_once_and_asked_no_more(declared, endpoint, status, said, capfd):
    endpoint.status = status
    assert main(["refresh", declared.uri, "captions.size", "--openlineage", endpoint.url]) == 0
    told = " ".join(capfd.readouterr().err.split())
    assert f"note: 127.0.0.1 takes no OpenLineage events: {said}; none is sent from START of captions.size on" in told
    assert len(endpoint.posted) == 1
    assert declared.sql("SELECT count(size) > 0 FROM captions").fetchall() == [(True,)]


def test_an_endpoint_that_is_not_there_or_does_not_answer(declared, monkeypatch):
    import socket

    monkeypatch.setattr("counterbalance.engine.refresh.openlineage._SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
        slow = declared.refresh("captions.size", openlineage=address, executor="inline")
    gone = declared.refresh("captions.twice", openlineage=address, executor="inline")
    assert [r.mode for r in (slow, gone)] == ["rebuild", "rebuild"]
    assert "timed out" in slow.notes[0]
    assert "refused" in gone.notes[0]


@pytest.mark.parametrize("to", ["ftp://example.org/x", "http://", "s3://bucket/events.jsonl"])
def test_other_addresses_are_refused_before_anything_is_done(declared, to):
    with pytest.raises(CounterbalanceError) as caught:
        declared.refresh(openlineage=to)
    assert caught.value.code == "E3058"
    assert {row["state"] for row in declared.status().to_pylist()} == {"stale"}


def test_a_file_that_cannot_be_written_is_told_before_anything_is_done(declared, tmp_path):
    with pytest.raises(CounterbalanceError, match="No such file or directory") as caught:
        declared.refresh(openlineage=str(tmp_path / "none" / "events.jsonl"))
    assert caught.value.code == "E6010"


def test_nothing_is_told_unasked_or_in_a_dry_run(declared, tmp_path, monkeypatch):
    path = tmp_path / "events.jsonl"
    declared.refresh(openlineage=str(path), dry_run=True)
    assert not path.exists()
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9")
    assert declared.refresh(executor="inline").notes == ()
