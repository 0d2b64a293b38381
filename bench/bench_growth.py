"""How time, memory, bytes and files grow with a lake: ingest, append, refresh, views, audits and gc at several sizes.

    python bench/bench_growth.py [ROWS …]

Makes a narrow synthetic lake of so many images (1, 3 and 10 M without arguments; 30 M takes an hour and 40 GB), each with a
caption and a label, and does to each in a process of its own what a lake goes through. Prints Markdown: seconds and peak
memory of every step (of the process and its children, without pages of files, which the system takes back when it needs them), bytes and files that it left, the exponent of their growth from the smallest to the largest lake (1 is in
proportion to rows, 0 does not depend on them), and what 400 M images would take if it went on as between the two largest.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import counterbalance as cb

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (1_000_000, 3_000_000, 10_000_000)
BATCH = 100_000
APPENDED = 5_000
WORDS = np.array(
    ["a man", "a woman", "two dogs", "a thief", "a lovely day", "a table", "an awful car", "a boy in France"]
)


def rows(first: int, rows_: int, changed: int = 0) -> Iterator[dict[str, pa.Table]]:
    """Yield images with a caption and a label each; ``changed`` is a part of every text."""
    for low in range(first, first + rows_, BATCH):
        ids = np.arange(low, min(low + BATCH, first + rows_))
        texts = pa.array(
            [f"{WORDS[i * 7919 % 8]} and {WORDS[i * 104729 % 7]} {(i + changed) % 997}" for i in ids.tolist()]
        )
        yield {
            "images": pa.table({"image_id": ids, "key": pa.array(ids).cast(pa.string())}),
            "captions": pa.table({"caption_id": ids, "image_id": ids, "text": texts}),
            "labels": pa.table(
                {
                    "label_id": ids,
                    "image_id": ids,
                    "attribute": ["scene"] * len(ids),
                    "value": pa.array(["in", "out", "far"]).take(pa.array(ids % 3)),
                }
            ),
        }


def ingest(lake: cb.Lake, rows_: int) -> None:
    """Ingest all rows as streams, table by table."""
    for table in ("images", "captions", "labels"):
        batches = (batch for part in rows(0, rows_) for batch in part[table].to_batches())
        first = next(batches)
        lake.ingest({table: pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))})


def append(lake: cb.Lake, rows_: int) -> None:
    """Ingest few more rows."""
    for part in rows(rows_ * 2, APPENDED):
        lake.ingest(part)


def compute(lake: cb.Lake, rows_: int) -> None:
    """Compute a generated column of every caption, and a view."""
    del rows_
    lake.add_column("captions", "size", "length(text)")
    lake.create_materialized_view("groups", "SELECT * FROM caption_gender()", "image_id")
    lake.refresh(executor="inline")


def change(lake: cb.Lake, rows_: int) -> None:
    """Change one caption of a thousand."""
    for part in rows(0, rows_ // 1000, changed=1):
        lake.ingest({"captions": part["captions"]})


def refresh_column(lake: cb.Lake, rows_: int) -> None:
    """Refresh the column."""
    del rows_
    lake.refresh("captions.size", executor="inline")


def refresh_view(lake: cb.Lake, rows_: int) -> None:
    """Refresh the view."""
    del rows_
    lake.refresh("groups", executor="inline")


def demographics(lake: cb.Lake, rows_: int) -> None:
    """Run an audit over labels."""
    del rows_
    lake.audit("demographics", groups="image_labels('scene')").to_arrow()


def crime_words(lake: cb.Lake, rows_: int) -> None:
    """Run an audit over texts."""
    del rows_
    lake.audit("crime_words").to_arrow()


def cooccurrence(lake: cb.Lake, rows_: int) -> None:
    """Run an audit of pairs of labels."""
    del rows_
    lake.audit("cooccurrence", concepts="label_concepts('scene')").to_arrow()


def cooccurrence_1_gb(lake: cb.Lake, rows_: int) -> None:
    """Run the same audit in a process that may take a gigabyte, and spills to disk."""
    del rows_
    with lake.session(memory="1GB") as session:
        session.audit("cooccurrence", concepts="label_concepts('scene')").to_arrow()


def collect(lake: cb.Lake, rows_: int) -> None:
    """Remove what nobody reads."""
    import datetime as dt

    del rows_
    lake.gc(dt.timedelta(0), apply=True)


STEPS = (ingest, append, compute, append, change, refresh_column, refresh_view, demographics, crime_words, cooccurrence, cooccurrence_1_gb, collect)  # fmt: skip


def step(uri: str, number: int, rows_: int) -> None:
    """Do one step, and print what it took: this is the process that is measured."""
    lake = cb.connect(uri)
    begin = time.perf_counter()
    STEPS[number](lake, rows_)
    seconds = time.perf_counter() - begin
    files = [p.stat().st_size for p in Path(uri).rglob("*") if p.is_file()]
    print(json.dumps({"seconds": seconds, "bytes": sum(files), "files": len(files)}))


def measured(command: list[str]) -> dict[str, Any]:
    """Run a step, and return what it printed and the most memory that it and its children had."""
    with tempfile.TemporaryFile("w+") as told:
        process, peak = subprocess.Popen(command, stdout=told), 0
        while process.poll() is None:
            peak = max(peak, memory(process.pid))
            time.sleep(0.02)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        told.seek(0)
        return {**json.loads(told.read().splitlines()[-1]), "memory": peak}


def memory(pid: int) -> int:
    """Return the bytes of a process and its children that are no pages of files; 0 once it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        children = [t.read_text().split() for t in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return 0
    own = [int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("RssAnon")]
    return sum(own) + sum(memory(int(child)) for part in children for child in part)


def grown(rows_: int) -> list[dict[str, Any]]:
    """Make a lake of so many images, and return what each step took."""
    folder = tempfile.mkdtemp(prefix="growth-")
    try:
        found = []
        for number in range(len(STEPS)):
            command = [sys.executable, __file__, "--step", f"{folder}/a.lake", str(number), str(rows_)]
            found.append(measured(command))
        return found
    finally:
        shutil.rmtree(folder)


def exponent(sizes: list[int], values: list[float]) -> str:
    """Return the slope of values over sizes, both as logarithms."""
    if len(sizes) < 2 or min(values) <= 0:
        return ""
    return f"{math.log(values[-1] / values[0]) / math.log(sizes[-1] / sizes[0]):.2f}"


def at_400_million(sizes: list[int], values: list[float]) -> str:
    """Return the value of a line through the two largest sizes."""
    if len(sizes) < 2:
        return ""
    slope = (values[-1] - values[-2]) / (sizes[-1] - sizes[-2])
    return f"{values[-1] + slope * (400_000_000 - sizes[-1]):,.0f}"


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["--step"]:
        step(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    sizes = [int(float(text)) for text in sys.argv[1:]] or list(SIZES)
    found = [grown(size) for size in sizes]
    heads = [f"{size / 1e6:g} M" for size in sizes]
    for what, unit, scale in (
        ("seconds", "s", 1),
        ("memory", "MB", 1 << 20),
        ("bytes", "MB", 1 << 20),
        ("files", "", 1),
    ):
        shown_unit = f", {unit}" if unit else ""
        print(f"\n| {what}{shown_unit} | {' | '.join(heads)} | exponent | 400 M |\n|---|{'--:|' * (len(sizes) + 2)}")
        for number, name in zip(count(), (s.__name__.replace("_", " ") for s in STEPS), strict=False):
            values = [float(lake[number][what]) / scale for lake in found]
            shown = " | ".join(f"{v:,.0f}" if v >= 99.5 or what == "files" else f"{v:.2g}" for v in values)
            print(f"| {name} | {shown} | {exponent(sizes, values)} | {at_400_million(sizes, values)} |")


if __name__ == "__main__":
    main()
