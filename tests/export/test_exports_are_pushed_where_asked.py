"""``export --to hf --push OWNER/NAME`` uploads what was written, privately; without ``--push`` nothing goes to the network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import counterbalance as cb
from counterbalance.engine.errors import RequestError

pytest.importorskip("huggingface_hub")
ADDRESS = "/api/datasets/me/pictures"
LEFT = "data/train-00007.parquet"


class Hub(ThreadingHTTPServer):
    """A hub that knows the calls of an upload, and has a shard of an earlier one; what it was told."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.made, self.committed, self.tokens, self.status = [], [], set(), 200


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        hub = self.server
        hub.tokens.add(self.headers.get("Authorization"))
        if hub.status != 200:
            self.answer({"error": "not yours"}, hub.status)
        elif self.path == "/api/repos/create":
            hub.made.append(json.loads(data))
            self.answer({"url": f"{hub.url}/datasets/me/pictures"})
        elif self.path == f"{ADDRESS}/preupload/main":
            files = [
                {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in json.loads(data)["files"]
            ]
            self.answer({"files": files})
        elif self.path == f"{ADDRESS}/commit/main":
            hub.committed += [json.loads(line) for line in data.splitlines()]
            self.answer(
                {"success": True, "commitUrl": f"{hub.url}/datasets/me/pictures/commit/1", "commitOid": "1" * 40}
            )
        else:
            self.answer({"errors": [], "warnings": []})

    def do_GET(self):
        if self.server.status != 200:
            self.answer({"error": "not yours"}, self.server.status)
        elif self.path.startswith(f"{ADDRESS}/tree/"):
            self.answer([{"type": "file", "path": LEFT, "oid": "2" * 40, "size": 1}])
        else:
            self.answer({"id": "me/pictures", "sha": "3" * 40, "siblings": [{"rfilename": LEFT}]})

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub():
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def lake(tmp_path, build):
    made = cb.connect(tmp_path / "a.lake")
    made.ingest({"images": build.images(image_id=[1, 2, 3], key=list("abc"))})
    return made


@pytest.fixture
def export(lake, tmp_path):
    """Run the command with a hub of one's own; how it ended."""

    def ended(*words, endpoint="http://127.0.0.1:9", before=(), **environment):
        command = [sys.executable, "-m", "counterbalance", "export", lake.uri, "images", "out", *words]
        told = {"HF_ENDPOINT": endpoint, "HF_TOKEN": "hf_secret", "HF_HOME": str(tmp_path / "hf"), **environment}
        return subprocess.run(
            [*before, *command],
            cwd=tmp_path,
            env={k: v for k, v in {**os.environ, **told}.items() if v},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return ended


def test_what_was_written_is_uploaded_to_a_private_repository(export, hub, tmp_path):
    done = export("--to", "hf", "--push", "me/pictures", endpoint=hub.url)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"pushed to {hub.url}/datasets/me/pictures"
    (made,) = hub.made
    assert (made["name"], made["type"]) == ("pictures", "dataset")
    assert made.get("private") is True or made.get("visibility") == "private"
    told = {line["value"]["path"]: line["key"] for line in hub.committed if line["key"] != "header"}
    there = {str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert {path for path, key in told.items() if key == "file"} == {p for p in there if not p.startswith(".")}
    assert {path for path, key in told.items() if key == "deletedFile"} == {LEFT}
    assert hub.tokens == {"Bearer hf_secret"}


def test_a_refusal_of_the_hub_is_our_error_and_the_export_is_whole(export, hub, tmp_path):
    hub.status = 403
    done = export("--to", "hf", "--push", "me/pictures", endpoint=hub.url)
    assert done.returncode == 1
    assert re.match(r"error\[E3683\]: .*out is written, and was not pushed to me/pictures: .*403", done.stderr)
    assert "hf_secret" not in done.stderr + done.stdout
    assert (tmp_path / "out/README.md").is_file()
    assert hub.committed == []


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("words", "environment", "why"),
    [
        (["--to", "parquet", "--push", "me/pictures"], {}, "an export to parquet cannot be pushed"),
        (["--to", "hf", "--push", "a/b/c"], {}, "'a/b/c' is no name of a repository"),
        (["--to", "hf", "--push", "me/pictures"], {"HF_TOKEN": ""}, "nothing says who pushes to me/pictures"),
    ],
)
def test_what_cannot_be_pushed_is_refused_before_anything_is_written(export, tmp_path, words, environment, why):
    done = export(*words, **environment)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, f"error[E3682]: {why}")
    assert not (tmp_path / "out").exists()


def test_the_library_is_an_extra(lake, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(RequestError, match=r"counterbalance\[hf\]") as caught:
        lake.export("images", tmp_path / "out", "hf", push="me/pictures")
    assert caught.value.code == "E3501"


def test_without_it_nothing_goes_to_the_network(export, without_network, hub):
    if not without_network:
        pytest.skip("the kernel does not stop calls here")
    done = export("--to", "hf", endpoint=hub.url, before=without_network)
    assert done.returncode == 0, done.stderr
    assert hub.tokens == set()
    assert (
        export("--to", "hf", "--overwrite", "--push", "me/x", endpoint=hub.url, before=without_network).returncode < 0
    )
