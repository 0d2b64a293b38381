"""Pictures that are not stored are fetched from addresses that begin as one that somebody has named, and from nowhere else."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.errors import StorageError
from counterbalance.engine.store import pictures

PICTURE = image_bytes(Image.new("RGB", (40, 30), (200, 30, 30)))


@pytest.fixture
def web():
    """The address of a server that has the same picture everywhere but for some folders, and what was asked of it."""
    asked, ended = [], threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self, *, body):
            asked.append(self.path)
            if self.path.startswith("/slow"):
                ended.wait(60)
            found = not self.path.startswith(("/gone", "/broken"))
            self.send_response(200 if found else 500 if self.path.startswith("/broken") else 404)
            if self.path.startswith("/pieces"):
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for part in (PICTURE[:30], PICTURE[30:60], PICTURE[60:]) if body else ():
                    self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                    self.wfile.flush()
                    ended.wait(0.2)
                self.wfile.write(b"0\r\n\r\n" if body else b"")
                return
            self.send_header("Content-Length", str(len(PICTURE) if found else 0))
            self.end_headers()
            if body and found:
                self.wfile.write(PICTURE)

        def do_GET(self):
            self._answer(body=True)

        def do_HEAD(self):
            self._answer(body=False)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    ended.set()
    server.shutdown()
    server.server_close()


def of(lake, build, *uris, **more):
    lake.ingest({"images": build.images(image_id=list(range(len(uris))), uri=list(uris), **more)})
    result = lake.sql("SELECT image FROM images ORDER BY image_id")
    return [picture for (picture,) in result.fetchall()], result.notes


def test_nothing_is_fetched_from_what_nobody_named(empty_lake, build, web):
    address, asked = web
    found, notes = of(empty_lake, build, f"{address}/val/a.png")
    assert found == [None]
    assert "nothing is fetched but from what COUNTERBALANCE_PICTURES names" in notes[0]
    assert not asked


def test_what_lies_below_a_named_address_is(empty_lake, build, web, monkeypatch):
    address, asked = web
    monkeypatch.setenv("COUNTERBALANCE_PICTURES", f"/nowhere:{address}/val/:{address}/gone")
    found, notes = of(
        empty_lake,
        build,
        f"{address}/val/a.png",
        f"{address}/val/b/c.png?size=40",
        f"{address}/gone/d.png?signature=secret",
    )
    assert found == [PICTURE, PICTURE, None]
    told = f"1 picture could not be read and is NULL; the first: no picture at {address}/gone/d.png: the server answered 404 Not Found"
    assert told in notes
    assert all(path.startswith(("/val/", "/gone/")) for path in asked)
    grid = empty_lake.sql("SELECT count(color_grid(image)) FROM images").fetchall()
    assert grid == [(2,)]


def test_a_picture_comes_in_pieces(empty_lake, build, web, monkeypatch):
    address, _ = web
    monkeypatch.setenv("COUNTERBALANCE_PICTURES", address)
    assert of(empty_lake, build, f"{address}/pieces/a.png") == ([PICTURE], [])


@pytest.mark.parametrize(
    ("folder", "why"), [("broken", "the server answered 500"), ("slow", ""), ("", "Connect call failed")]
)
def test_what_went_wrong_is_told(empty_lake, build, web, monkeypatch, folder, why):
    address, _ = web
    monkeypatch.setattr(pictures, "_PATIENCE", 0.5)
    address = f"{address}/{folder}" if folder else "http://127.0.0.1:9/val"
    monkeypatch.setenv("COUNTERBALANCE_PICTURES", address)
    found, (note,) = of(empty_lake, build, f"{address}/a.png?signature=secret")
    assert found == [None]
    assert f"no picture at {address}/a.png: {why}" in note
    assert "secret" not in note


def test_a_picture_must_be_the_one_that_its_row_tells_of(empty_lake, build, web, monkeypatch):
    address, _ = web
    monkeypatch.setenv("COUNTERBALANCE_PICTURES", address)
    uris = [f"{address}/{i}.png" for i in range(2)]
    found, notes = of(empty_lake, build, *uris, width=[40, 41], height=[30, 30])
    assert found == [PICTURE, None]
    assert "has 40 x 30 pixels, and had 41 x 30" in notes[0]


@pytest.mark.parametrize(
    "name",
    [
        "vale/a.png",
        "val",
        "val/../etc/a.png",
        "val/%2e%2e/etc/a.png",
        "val/..%2fetc/a.png",
        "val/a%3F/../../etc/a.png",
        "val/..\\etc\\a.png",
        "val/./a.png",
        "val/a.png::file:///etc/passwd",
        "val/0.tar#a.png",
        "val/a\n.png",
    ],
)
def test_other_spellings_are_not(name, web):
    address, asked = web
    assert pictures._allowed(f"{address}/{name}", [f"{address}/val"]) is None
    assert pictures._allowed(f"{address}/val/a.png", [f"{address}/val"])
    assert not asked


def test_an_address_is_no_folder_of_this_machine(tmp_path):
    (tmp_path / "a.png").write_bytes(PICTURE)
    assert pictures._allowed(f"zip://a.png::file://{tmp_path}/a.zip", [str(tmp_path), "zip://a.png"]) is None
    assert pictures._allowed(f"{tmp_path}/a.png", ["https://example.org", "s3://"]) is None


def test_a_folder_of_an_object_store(s3_lake, disk_lake, tmp_path):
    """``--images s3://…`` names it: functions, refreshes and the next process read from there, with the credentials of then."""
    import s3fs

    bucket = s3_lake.uri.removeprefix("s3://").partition("/")[0]
    s3fs.S3FileSystem().pipe_file(f"{bucket}/val/1.png", PICTURE)
    document = {
        "images": [{"id": 1, "file_name": "1.png", "width": 40, "height": 30}],
        "annotations": [{"id": 1, "image_id": 1, "caption": "a red wall"}],
    }
    (tmp_path / "captions.json").write_text(json.dumps(document))
    disk_lake.ingest(str(tmp_path / "captions.json"), images=f"s3://{bucket}/val")
    assert disk_lake.sql("SELECT uri FROM images").fetchall() == [(f"s3://{bucket}/val/1.png",)]
    assert disk_lake.sql("SELECT image FROM images").fetchall() == [(PICTURE,)]
    disk_lake.sql("ALTER TABLE images ADD COLUMN grid AS (color_grid(image))")
    disk_lake.refresh("images.grid")
    assert disk_lake.sql("SELECT count(grid) FROM images").fetchall() == [(1,)]
    with disk_lake.session(timeout=60, isolated=True) as session:
        assert session.sql("SELECT image FROM images").fetchall() == [(PICTURE,)]


def test_nobody_is_asked_without_credentials(empty_lake, build, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("COUNTERBALANCE_PICTURES", "s3://bucket/val")
    with pytest.raises(StorageError) as caught:
        of(empty_lake, build, "s3://bucket/val/1.png")
    assert caught.value.code == "E6016"


@pytest.mark.parametrize(
    ("told", "folders"),
    [
        ("/data/a:/data/b", ["/data/a", "/data/b"]),
        ("s3://bucket/val:/data", ["s3://bucket/val", "/data"]),
        ("/data:https://example.org:8080/val/:gs://b", ["/data", "https://example.org:8080/val", "gs://b"]),
        ("https://example.org", ["https://example.org"]),
        ("file:///data::relative", ["/data"]),
    ],
)
def test_a_list_of_folders_and_addresses(told, folders, monkeypatch):
    monkeypatch.setenv("COUNTERBALANCE_PICTURES", told)
    monkeypatch.setenv("XDG_STATE_HOME", "/nowhere")
    assert list(pictures.folders()) == folders


def test_what_fetches_may_not_be_installed(empty_lake, build, monkeypatch):
    """A core installation says what to install."""
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
    for scheme in ("http", "https"):
        monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, scheme, raising=False)
    monkeypatch.setenv("COUNTERBALANCE_PICTURES", "https://example.org/val")
    found, (note,) = of(empty_lake, build, "https://example.org/val/1.png")
    assert found == [None]
    assert "what reads https:// is not installed" in note
    assert "pip install 'counterbalance[http]'" in note
