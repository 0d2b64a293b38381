"""Long queries of one browser keep no other browser from its own."""

from __future__ import annotations

import json
import threading
import time
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

LONG = "SELECT count(*) FROM range(100000000) a, range(1000000) b WHERE a.range % 7 = b.range % 5"


@pytest.fixture
def person(served, disk_lake, build):
    """A browser: sends a body to an address of the API, and returns what is answered."""
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    address = served(disk_lake)

    def come():
        opener = build_opener(HTTPCookieProcessor())
        opener.open(f"{address}/lakes/demo?token=secret").read()

        def post(path, **body):
            asked = Request(f"{address}/api/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
            with opener.open(asked, timeout=50) as answer:
                return json.load(answer)

        return post

    return come


def test_others_are_answered_meanwhile(person):
    busy, other = person(), person()

    def long(name):
        with pytest.raises(OSError, match=r"HTTP Error|timed out"):
            busy("lakes/demo/query", sql=LONG, id=str(name))

    threads = [threading.Thread(target=long, args=[n]) for n in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(3)  # all of them have come
    try:
        assert other("lakes/demo/query", sql="SELECT 1 AS n")["rows"] == [[1]]
        assert all(thread.is_alive() for thread in threads)
    finally:
        while any(thread.is_alive() for thread in threads):
            for name in range(6):
                busy("stop", id=str(name))
            time.sleep(0.2)
