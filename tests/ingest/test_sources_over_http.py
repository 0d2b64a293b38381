"""A source may be an address of the web. It alone is asked for: pictures that its rows name by address are not."""

from __future__ import annotations

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import counterbalance as cb


@pytest.fixture
def web():
    """A server of one list of pictures, which lie there as well; its address, and the paths that were asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            page = f"url,caption\nhttp://{self.headers['Host']}/a.png,a man\n".encode()
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(page)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path", ["/l.csv", "/l.csv?download=1"])
def test_a_list_is_read_and_its_pictures_are_not(web, tmp_path, path):
    address, asked = web
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(address + path)
    assert lake.sql("SELECT uri, text FROM images JOIN captions USING (image_id)").fetchall() == [
        (f"{address}/a.png", "a man")
    ]
    with contextlib.suppress(cb.CounterbalanceError):
        lake.sql("SELECT image FROM images").fetchall()
    assert lake.export("images", tmp_path / "out", "parquet").rows == 1
    assert set(asked) == {path}
