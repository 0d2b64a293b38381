"""Time the pages of `cbal ui`: the first screen of a fresh server, pages of images, pictures, and ten people at once.

    python bench/bench_ui.py [IMAGES …]

Makes a synthetic lake of so many images (10,000 and 10,000,000 without arguments), each with a caption and a label, and 180
more of each of two sizes with a picture; serves it from a process of its own, and asks as a browser does. Pages have no
peer; beside the first screen stands how long DuckDB takes for the counts on it, once the lake is open. Prints Markdown;
seconds are of one request where ``times`` is 1, and else the median and the slowest of so many.
"""

from __future__ import annotations

import io
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bench_growth
import harness
import numpy as np
import pyarrow as pa
from PIL import Image

import counterbalance as cb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES = (10_000, 10_000_000)
PAGE = 60
PICTURES = 3 * PAGE
SHAPES = ((640, 480), (4000, 3000))
PEOPLE = 10
EACH = 20


class Pages:
    """A server of a lake in a process of its own."""

    def __init__(self, lake: Path) -> None:
        command = [sys.executable, "-m", "counterbalance", "ui", str(lake), "--no-browser", "--port", "0"]
        started = time.perf_counter()
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self._process.stdout is not None
        address, _, token = self._process.stdout.readline().strip().partition("/?token=")
        self._address, self._token, self._lake = address, token, lake.name
        self.started = time.perf_counter() - started

    def get(self, path: str, body: Any = None) -> bytes:
        """Return what an address of the lake answers."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        path = path.replace("LAKE", self._lake)
        with urllib.request.urlopen(urllib.request.Request(self._address + path, data, headers), timeout=600) as answer:
            found: bytes = answer.read()
        return found

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.communicate()


def pictures() -> Iterator[bytes]:
    """Yield photographs of a kind, noise of many colours: of each size three times the same 60."""
    draw = np.random.default_rng(0)
    for shape in SHAPES:
        page = []
        for _ in range(PAGE):
            made = io.BytesIO()
            small = Image.fromarray(draw.integers(0, 255, (30, 40, 3), np.uint8))
            small.resize(shape).save(made, "JPEG", quality=85)
            page.append(made.getvalue())
        yield from page * (PICTURES // PAGE)


def make(lake: Path, images: int) -> None:
    """Make the lake."""
    made = cb.connect(lake)
    bench_growth.ingest(made, images)
    ids = np.arange(images, images + PICTURES * len(SHAPES))
    made.ingest(
        {"images": pa.table({"image_id": ids, "key": pa.array(ids).cast(pa.string()), "image": list(pictures())})}
    )


def timed(work: Callable[[], Any]) -> float:
    """Return how long something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def asked(pages: Pages, lake: Path, images: int) -> Iterator[dict[str, Any]]:
    """Yield what was asked, and how long it took."""

    def row(what: str, seconds: list[float]) -> dict[str, Any]:
        return {"what": what, "times": len(seconds), "median s": statistics.median(seconds), "slowest s": max(seconds)}

    yield row("start of the server, to its address", [pages.started])
    yield row("first screen of a fresh server", [timed(lambda: pages.get("/lakes/LAKE"))])
    with cb.connect(lake).session() as session:
        text = " UNION ALL ".join(f"SELECT count(*) FROM {t}" for t in ("images", "captions", "labels", "detections"))
        yield row("DuckDB: counts of the tables", [timed(lambda: session.sql(text).fetchall())])
    yield row("first screen again", [timed(lambda: pages.get("/lakes/LAKE")) for _ in range(5)])
    yield row("Browse, first page", [timed(lambda: pages.get("/lakes/LAKE/browse"))])
    offsets = [PAGE * n for n in range(1, 9)]
    yield row(
        "Browse, a further page", [timed(lambda o=o: pages.get(f"/api/lakes/LAKE/images?offset={o}")) for o in offsets]
    )
    yield row("an image", [timed(lambda n=n: pages.get(f"/lakes/LAKE/images/{n}")) for n in range(3)])
    yield row("Browse, narrowed to a word", [timed(lambda: pages.get("/lakes/LAKE/browse?words=thief"))])

    pictured = f"/api/lakes/LAKE/images?least.images.image_id={images}&offset="
    pages.get(f"{pictured}{PICTURES * len(SHAPES)}")  # the selection is made, and no picture of it

    def page_of_pictures(offset: int) -> tuple[float, float]:
        """Return seconds until the first picture of a further page, and until its last."""
        started = time.perf_counter()

        def one(image: int) -> float:
            pages.get(f"/api/lakes/LAKE/images/{image}/picture?side=320")
            return time.perf_counter() - started

        pages.get(f"{pictured}{offset}")
        with ThreadPoolExecutor(6) as six:  # as many connections as browsers open
            ends = list(six.map(one, range(images + offset, images + offset + PAGE)))
        return min(ends), max(ends)

    for number, (width, height) in enumerate(SHAPES):
        offsets = [PICTURES * number + o for o in range(0, PICTURES, PAGE)]
        for state in ("new", "kept"):
            what = f"{PAGE} pictures of {width:,} by {height:,}, {state}"
            found = [page_of_pictures(o) for o in offsets]
            for part, ends in zip((", the first", ""), zip(*found, strict=True), strict=True):
                yield row(what + part, list(ends))
    audit = {"parameters": {"groups": "image_labels('scene')"}}
    yield row("demographics, its rows", [timed(lambda: pages.get("/api/lakes/LAKE/audits/demographics", audit))])

    def person(number: int) -> list[float]:
        paths = [
            "/lakes/LAKE",
            f"/api/lakes/LAKE/images?offset={PAGE * number}",
            "/lakes/LAKE/audits",
            "/lakes/LAKE/state",
        ]
        return [timed(lambda n=n: pages.get(paths[n % len(paths)])) for n in range(EACH)]

    with ThreadPoolExecutor(PEOPLE) as people:  # an error of one ends the benchmark
        each = [s for found in people.map(person, range(PEOPLE)) for s in found]
    yield row(f"{PEOPLE} people at once", each)


def main() -> None:
    """Print a table a size."""
    for images in [int(text) for text in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory(prefix="counterbalance-bench-") as scratch:
            lake = Path(scratch) / "pages.lake"
            make(lake, images)
            pages = Pages(lake)
            try:
                print(f"\n{images:,} images\n")
                print(harness.table(list(asked(pages, lake, images))), flush=True)
            finally:
                pages.close()


if __name__ == "__main__":
    main()
