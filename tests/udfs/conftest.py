"""A stub of a multimodal model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import base64
import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from PIL import Image

from counterbalance.udfs.endpoint import KEY


class Handler(BaseHTTPRequestHandler):
    """Answers as the server's ``say`` does, given the picture and the question: a text, or a status."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        shown, asked = body["messages"][0]["content"]
        data = base64.b64decode(shown["image_url"]["url"].removeprefix("data:image/png;base64,"))
        pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        self.server.seen.append({**body, "pixels": pixels, "asked": asked["text"]})
        said = self.server.say(pixels, asked["text"])
        reply = {"choices": [{"message": {"role": "assistant", "content": said}}]}
        answer = json.dumps(reply).encode()
        self.send_response(said if isinstance(said, int) else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.fixture
def serve(monkeypatch):
    """``serve(say)``: a server that is running, with what it has ``seen``."""
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = []

    def start(say):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.say, server.seen, server.url = say, [], f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()
