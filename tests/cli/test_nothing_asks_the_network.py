"""What does not ask for the network does not use it: here going there is death, also for DuckDB, Lance and what else is not Python.

README's commands run in the same way (``test_readme_commands.py``), and so do models (``models/test_no_model_asks_the_network.py``).
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import counterbalance as cb

PAGE = "https://example.org/x"
STATEMENTS = [
    f"SELECT * FROM '{PAGE}.csv'",
    f"SELECT * FROM '{PAGE}.parquet'",
    f"SELECT * FROM read_csv('{PAGE}.csv')",
    f"SELECT * FROM read_json('{PAGE}.json')",
    f"SELECT * FROM read_text('{PAGE}')",
    "SELECT * FROM read_parquet('s3://bucket/x.parquet')",
    "SELECT * FROM read_blob('gs://bucket/x')",
    "SELECT * FROM glob('s3://bucket/*')",
    "SELECT * FROM 'hf://datasets/a/b/c.parquet'",
    f"ATTACH '{PAGE}.duckdb' AS x",
    f"COPY images TO '{PAGE}.csv'",
    "INSTALL httpfs",
    "INSTALL spatial FROM community",
    "LOAD httpfs",
    f"INSTALL '{PAGE}.duckdb_extension'",
    f"SELECT * FROM caption_gender(words := '{PAGE}.csv')",
    "SELECT ST_Point(1, 2)",
    "SELECT uri FROM images WHERE uri LIKE 'https://%'",
    f"SELECT match_terms(text, '{PAGE}.csv') FROM captions",
    f"SELECT sum(length(concat(uri, '{PAGE}'))) FROM images",
]
PROGRAM = """
import json, sys
import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError
told = []
for isolated in (False, True):
    with cb.connect(sys.argv[1]).session(isolated=isolated) as session:
        for text in json.load(sys.stdin):
            try:
                told.append(len(session.sql(text).fetchall()))
            except CounterbalanceError as error:
                told.append(error.code)
    sys.stdin.seek(0)
print(json.dumps(told))
"""


@pytest.fixture
def run(without_network, tmp_path):
    """Run a command without a network; how it ended."""
    if not without_network:
        pytest.skip("the kernel does not stop calls here")

    def ended(*words):
        return subprocess.run(
            [*without_network, *map(str, words)], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )

    return ended


ALL = """
import json, sys
from counterbalance.__main__ import main
for words in json.loads(sys.argv[1]):
    assert main(words) == 0, words
"""
"""Runs commands one after the other."""


@pytest.fixture
def listed(run, tmp_path):
    """A list of pictures that are addresses, where going to the network is death."""
    (tmp_path / "l.csv").write_text(f"url,caption\n{PAGE}.jpg,a man\nhttp://example.org/y.png,a dog\n")
    return tmp_path / "l.csv"


@pytest.mark.parametrize(
    "words",
    [
        ["-c", "import socket; socket.create_connection(('127.0.0.1', 9))"],
        ["-c", "import socket; socket.getaddrinfo('example.org', 443)"],
        ["-c", "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))"],
        ["-c", "import socket; socket.socket().listen()"],
        ["-c", "import http.server; http.server.HTTPServer(('127.0.0.1', 0), None)"],
        ["-c", "import lance; lance.dataset('s3://bucket/x.lance')"],
        ["-m", "counterbalance", "ingest", "a.lake", f"{PAGE}.csv", "--format", "laion"],
        ["-m", "counterbalance", "sql", "s3://bucket/a.lake", "SELECT 1"],
    ],
)
def test_who_asks_is_killed(words, run):
    """Sources and lakes with an address are what asks for the network; so does a program of its own."""
    assert run(sys.executable, *words).returncode == -signal.SIGSYS


def test_statements_that_name_addresses(listed, without_network, record_property):
    cb.connect(listed.with_name("a.lake")).ingest(str(listed), "laion")
    words = [*without_network, sys.executable, "-c", PROGRAM, str(listed.with_name("a.lake"))]
    given = listed.parent / "statements.json"
    given.write_text(json.dumps(STATEMENTS))
    with given.open() as file:
        done = subprocess.run(
            words, stdin=file, capture_output=True, text=True, timeout=300, check=False, cwd=listed.parent
        )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told[: len(STATEMENTS)] == told[len(STATEMENTS) :]
    assert [text for text, found in zip(STATEMENTS, told, strict=False) if isinstance(found, int)] == [
        text for text in STATEMENTS if text.startswith(("SELECT uri", "SELECT sum"))
    ]
    record_property("statements", len(told))


def test_addresses_in_a_lake_are_not_fetched(listed, run, record_property, build):
    """Not for a function, an export or a report; that is of pictures alone, which is quick."""
    uris = [f"{PAGE}.jpg", "http://example.org/y.png"]
    bare = cb.connect(listed.with_name("bare.lake"))
    bare.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"], uri=uris)})
    lake = str(listed.with_name("a.lake"))
    commands = [
        ["ingest", lake, "l.csv", "--format", "laion"],
        ["sql", lake, "ALTER TABLE images ADD COLUMN part AS (crop(image, 0.0, 0.0, 9.0, 9.0, 0.0))"],
        ["refresh", lake],
        ["export", lake, "SELECT image_id, uri FROM images", "exported", "--to", "parquet"],
        ["ingest", lake, "l.csv", "--format", "laion"],
        ["report", bare.uri, "-o", "report.html"],
    ]
    done = run(sys.executable, "-c", ALL, json.dumps(commands))
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    record_property("commands", len(commands))


def test_pictures_beside_a_document_are_not_fetched(run, tmp_path):
    """COCO's documents say where each picture lies in the web."""
    image = {
        "id": 1,
        "file_name": "1.jpg",
        "width": 4,
        "height": 4,
        "coco_url": f"{PAGE}.jpg",
        "flickr_url": f"{PAGE}.jpg",
    }
    caption = {"id": 1, "image_id": 1, "caption": "a man"}
    (tmp_path / "c.json").write_text(json.dumps({"images": [image], "annotations": [caption]}))
    (tmp_path / "pictures").mkdir()
    words = ["ingest", "c.lake", "c.json", "--format", "coco", "--images", "pictures", "--store-images"]
    done = run(sys.executable, "-m", "counterbalance", *words)
    assert done.returncode in {0, 1}, done.stderr
    assert "rejected" in done.stdout + done.stderr


def test_one_package_serves_and_no_other_module_does():
    """What serves HTTP is counterbalance/ui, behind its guard (tests/ui), and the command that starts it."""
    root = Path(__file__).parents[2]
    servers = (
        "http.server",
        "socketserver",
        "wsgiref",
        "xmlrpc",
        "start_server",
        "uvicorn",
        "starlette",
        "flask",
        "aiohttp.web",
    )
    files = [
        f
        for folder in ("counterbalance", "engine", "ingest", "udfs", "queries")
        for f in (root / folder).rglob("*.py")
        if f.parent != root / "counterbalance" / "ui" and f != root / "counterbalance" / "cli" / "ui.py"
    ]
    assert len(files) > 100
    assert [(f.name, s) for f in files for s in servers if s in f.read_text()] == []
