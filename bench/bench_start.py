"""Time a first answer: a whole command, and the first query of a Python process, beside what they import.

    python bench/bench_start.py

Processes in turn, the best of several of each: what comes on top is another program's. A lake in a folder with one table.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import harness
import pyarrow as pa

import counterbalance as cb

ROUNDS = 7
FIRST = """
import time, sys
import lance, duckdb, pyarrow, numpy, sqlglot.dialects.duckdb
lance.dataset({table!r}).count_rows()
duckdb.connect().sql("SELECT 1").fetchall()
import counterbalance as cb
started = time.process_time()
cb.connect({lake!r}).sql("SELECT category, count(*) FROM detections GROUP BY category").fetchall()
print(time.process_time() - started)
"""


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="counterbalance-bench-") as scratch:
        lake = Path(scratch) / "start.lake"
        boxes = {"detection_id": [1, 2], "image_id": [1, 1], "category": ["person", "dog"]}
        cb.connect(lake).ingest({"images": pa.table({"image_id": [1], "key": ["one"]}), "detections": pa.table(boxes)})
        python, command = [sys.executable, "-c"], [str(Path(sys.executable).with_name("cbal")), "sql", str(lake)]
        first = FIRST.format(lake=str(lake), table=str(lake / "detections.lance"))
        ways = {
            "python": [*python, "pass"],
            "import duckdb": [*python, "import duckdb"],
            "import lance": [*python, "import lance"],
            'cbal sql LAKE "SELECT 1"': [*command, "SELECT 1"],
            "cbal sql LAKE, counts of a table": [
                *command,
                "SELECT category, count(*) FROM detections GROUP BY category",
            ],
            "cbal audit LAKE demographics": [command[0], "audit", str(lake), "demographics"],
        }
        best = dict.fromkeys(ways, float("inf"))
        own = float("inf")
        for _ in range(ROUNDS):
            for name, way in ways.items():
                best[name] = min(best[name], seconds(way))
            told = subprocess.run([*python, first], check=True, capture_output=True, text=True, env=environment())
            own = min(own, float(told.stdout))
    above = best["import lance"]
    rows = [{"what": n, "s": s, "s above import lance": s - above} for n, s in best.items()]
    print(harness.table(rows))
    print(f"\nCPU of the first query of a process, when lance, duckdb and sqlglot's DuckDB are imported: {own:.3f} s")


def seconds(way: list[str]) -> float:
    """Return how long a command takes."""
    started = time.perf_counter()
    subprocess.run(way, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    return time.perf_counter() - started


def environment() -> dict[str, str]:
    """Return that of this process, in which modules are compiled once."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


if __name__ == "__main__":
    main()
