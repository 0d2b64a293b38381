"""Draw the pictures of the documentation in headless Chromium: the report, pages of ``cbal ui``, and a notebook.

``python tools/screenshots.py`` needs Chromium, and for the notebook ``pip install nbconvert ipykernel``.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PAGES = {
    "": "ui-overview",
    "/browse": "ui-browse",
    "/images/2": "ui-image",
    "/audits": "ui-audits",
    "/audits/cooccurrence": "ui-audit",
    "/sql?q=SELECT+image_id,+image,+width,+height,+text+FROM+images+JOIN+captions+USING+(image_id)+LIMIT+5": "ui-sql",
    "/map?view=places&colour=images.brightest": "ui-map",
    "/edits?view=edits": "ui-edits",
    "/state": "ui-state",
    "/compare?with=other.lake": "ui-compare",
}
"""Pages of ``cbal ui`` below the lake's, and the pictures of them."""
SEEN = (
    "ALTER TABLE images ADD COLUMN seen AS (color_grid(image))",
    "ALTER TABLE images ADD COLUMN brightest AS (CAST(list_position(seen, list_max(seen)) % 3 AS VARCHAR))",
    (
        "CREATE MATERIALIZED VIEW places WITH (key = 'image_id') AS "
        "SELECT image_id, x, y FROM image_map((SELECT image_id, seen AS embedding FROM images))"
    ),
    (
        "CREATE MATERIALIZED VIEW people WITH (key = 'image_id') AS SELECT d.image_id, i.sha256, list(struct_pack("
        "category := category, score := CAST(NULL AS FLOAT), x := d.x, y := d.y, width := d.width, height := d.height, mask := mask)) "
        "AS people FROM detections AS d JOIN images AS i USING (image_id) WHERE category = 'person' GROUP BY d.image_id, i.sha256"
    ),
    "ALTER TABLE people ADD COLUMN painted AS (mask_people(image, people))",
    "ALTER TABLE people ADD COLUMN outline AS (mask_people(image, people, fill := 'mask'))",
    (
        "CREATE MATERIALIZED VIEW edits WITH (key = 'edit_id') AS "
        "SELECT 10 * image_id AS edit_id, image_id, 'painted over' AS label, list_first([painted]) AS edited FROM people UNION ALL "
        "SELECT 10 * image_id + 1 AS edit_id, image_id, 'outline' AS label, list_first([outline]) AS edited FROM people"
    ),
)
"""What the pages of a map and of edits show: a map by colours, and people painted over."""
WOMEN = re.compile(r"\b(wom[ae]n|lad(y|ies)|girls?)\b", re.IGNORECASE)
CELLS = (
    "import counterbalance as cb\n\nlake = cb.connect('my.lake')\nlake.audit('balance')",
    "lake.sql('SELECT image, width, height, key FROM images LIMIT 3')",
    "lake.sql('SELECT * FROM cooccurrence() WHERE q < 0.01 ORDER BY abs(npmi) DESC')",
    "lake.sql('SELECT txt FROM captions')",
)


def main() -> None:
    """Make a lake of the sample, and draw."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit(f"no Chromium here, by any of the names {', '.join(BROWSERS)}: apt-get install chromium")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _cbal(folder, "sample", "shapes", "--images", "400", "--seed", "1")
        _cbal(folder, "ingest", "my.lake", "shapes/annotations", "--images", "shapes/images")
        _cbal(folder, "report", "my.lake", "-o", "report.html")
        _cbal(folder, "sample", "others", "--images", "400", "--seed", "2")
        _without_women(folder / "others" / "annotations" / "captions_sample.json")
        _cbal(folder, "ingest", "other.lake", "others/annotations", "--images", "others/images")
        for statement in SEEN:
            _cbal(folder, "sql", "my.lake", statement)
        _cbal(folder, "refresh", "my.lake")
        _draw(browser, (folder / "report.html").as_uri(), IMAGES / "report.png", 1100, 900)
        _draw_pages(browser, folder)
        cells = [
            {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None, "id": str(n)}
            for n, text in enumerate(CELLS)
        ]
        written = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (folder / "notebook.ipynb").write_text(json.dumps(written), encoding="utf-8")
        convert = ["nbconvert", "--to", "html", "--execute", "--allow-errors", "notebook.ipynb"]
        subprocess.run([sys.executable, "-m", *convert], cwd=folder, check=True)
        _draw(browser, (folder / "notebook.html").as_uri(), IMAGES / "notebook.png", 1100, 1080)


def _without_women(captions: Path) -> None:
    """Take half of the captions that name women away, so that a comparison has something to show."""
    read = json.loads(captions.read_text(encoding="utf-8"))
    kept = [c for c in read["annotations"] if c["image_id"] % 2 or not WOMEN.search(c["caption"])]
    captions.write_text(json.dumps(read | {"annotations": kept}), encoding="utf-8")


def _cbal(folder: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "counterbalance", *arguments], cwd=folder, check=True)


def _draw_pages(browser: str, folder: Path) -> None:
    words = [sys.executable, "-m", "counterbalance", "ui", "my.lake", "other.lake", "--no-browser"]
    server = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None  # noqa: S101 - a pipe was asked for
    place, token = server.stdout.readline().strip().split("/?")
    for page, name in PAGES.items():
        _draw(
            browser,
            f"{place}/lakes/my.lake{page}{'&' if '?' in page else '?'}{token}",
            IMAGES / f"{name}.png",
            1200,
            {"ui-audit": 1500, "ui-compare": 1200}.get(name, 900),
        )
    server.terminate()
    server.wait()


def _draw(browser: str, address: str, picture: Path, width: int, height: int) -> None:
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=10000"]
    drawn = [f"--window-size={width},{height}", f"--screenshot={picture}"]
    subprocess.run([browser, *options, *drawn, address], check=True, capture_output=True)


if __name__ == "__main__":
    main()
