"""Time the map of `cbal ui` in a headless Chromium: until it stands there, and what a frame costs while it is moved.

    python bench/bench_map.py [IMAGES …]

Points are drawn by the processor, so a graphics card changes little. At 60 frames a second the page's script may take 16.7 ms
of each. Prints Markdown.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import counterbalance as cb

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
import chromium

SIZES = (2_000, 200_000)
SECONDS = 5
VIEW = (
    "CREATE MATERIALIZED VIEW places WITH (key = 'image_id') AS SELECT image_id, sin(image_id) * sqrt(image_id) AS x, "
    "cos(image_id) * sqrt(image_id) AS y, image_id % 5 AS kind FROM images"
)
MIDDLE = (
    "{ const r = document.getElementById('map').getBoundingClientRect(); [r.left + r.width / 2, r.top + r.height / 2] }"
)


def lake_of(folder: Path, images: int) -> str:
    """Make a lake of so many images that have a place."""
    lake = cb.connect(str(folder / "map.lake"))
    ids = np.arange(images)
    lake.ingest({"images": pa.table({"image_id": ids, "key": [str(i) for i in ids]})})
    lake.sql(VIEW)
    lake.refresh(executor="inline")
    return str(lake.uri)


def moved(browser: chromium.Browser, at: tuple[float, float]) -> tuple[float, float]:
    """Move the map for some seconds; return frames a second, and milliseconds of script a frame."""

    def mouse(kind: str, step: float = 0) -> None:
        x, y = at[0] + 100 * np.sin(step), at[1] + 60 * np.cos(step)
        browser("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def told() -> tuple[float, float]:
        values = {m["name"]: m["value"] for m in browser("Performance.getMetrics")["metrics"]}
        return values["ScriptDuration"], browser.js("drawn")

    browser.js("window.drawn = 0; (function count() { drawn += 1; requestAnimationFrame(count); })()")
    mouse("mousePressed")
    begun, start, step = told(), time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        step += 1
        mouse("mouseMoved", step / 10)
    seconds, ended = time.perf_counter() - start, told()
    mouse("mouseReleased")
    frames = max(ended[1] - begun[1], 1)
    return frames / seconds, 1000 * (ended[0] - begun[0]) / frames


def main() -> None:
    """Print a row for each size."""
    if chromium.PROGRAM is None:
        sys.exit("no Chromium here: apt-get install chromium")
    print("| images | seconds until the map is there | script, ms a frame | frames a second |")
    print("|--:|--:|--:|--:|")
    for images in map(int, sys.argv[1:]) if sys.argv[1:] else SIZES:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            words = ["ui", lake_of(Path(name), images), "--no-browser", "--port", "0"]
            server = subprocess.Popen(
                [sys.executable, "-m", "counterbalance", *words], stdout=subprocess.PIPE, text=True
            )
            assert server.stdout is not None
            place, _, token = server.stdout.readline().strip().partition("/?token=")
            browser = chromium.Browser(Path(name))
            browser("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
            browser("Page.navigate", url=f"{place}/?token={token}")
            browser.until("document.readyState === 'complete'")
            start = time.perf_counter()
            browser("Page.navigate", url=f"{place}/lakes/map.lake/map?colour=kind")
            browser.until("/^[0-9]/.test(document.getElementById('counted')?.textContent)")
            opened = time.perf_counter() - start
            browser("Performance.enable")
            rate, script = moved(browser, browser.js(MIDDLE))
            print(f"| {images:,} | {opened:.1f} | {script:.1f} | {rate:.1f} |", flush=True)
            browser.close()
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
