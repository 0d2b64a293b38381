"""Executors beside each other, and what a kill costs.

    python bench/bench_executors.py [--rows 200000] [--slow-rows 10000] [--rounds 5] [--workers 2]

First table: a column of a function that keeps one core busy, computed inline, by local worker processes and on Ray; all
results must be equal. Ray's cluster is started before it is timed; the workers of a refresh are started by it, and are
part of its time. Second table: a refresh of a function of 1 ms a row that is killed (-9) half-way and run again, against the
same one left alone; *lost* are rows computed twice.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

import counterbalance as cb
from counterbalance.engine.functions import load_file

FUNCTIONS = str(Path(__file__).parent / "functions_of_refresh.py")
CHILD = """
import sys
import counterbalance as cb
report = cb.connect(sys.argv[1]).refresh("captions.slow", executor="inline", udfs=(sys.argv[2],), full=sys.argv[3] == "full")
print(sum(s.rows for s in report.stages), flush=True)
"""


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--slow-rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    load_file(FUNCTIONS)
    with tempfile.TemporaryDirectory(prefix="counterbalance-bench-") as folder:
        executors(Path(folder), options.rows, options.rounds, options.workers)
        resume(Path(folder), options.slow_rows, options.rounds)


def _lake(folder: Path, name: str, rows: int) -> cb.Lake:
    lake = cb.connect(folder / name)
    for low in range(0, rows, 50_000):
        ids = range(low, min(low + 50_000, rows))
        lake.ingest(
            {
                "images": pa.table({"image_id": ids, "key": [str(i) for i in ids]}),
                "captions": pa.table(
                    {"caption_id": ids, "image_id": ids, "text": [f"picture number {i}" for i in ids]}
                ),
            }
        )
    return lake


def executors(folder: Path, rows: int, rounds: int, workers: int) -> None:
    """The first table."""
    lake = _lake(folder, "executors.lake", rows)
    lake.add_column("captions", "digest", "bench_digest(text)")
    lake.refresh(executor="inline")
    expected = lake.sql("SELECT sum(digest::HUGEINT), count(digest) FROM captions").fetchall()
    names = {"inline": 1, "local": workers}
    if importlib.util.find_spec("ray") is not None:
        names["ray"] = workers
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds + 1):
        for name, count in names.items():
            started = time.perf_counter()
            report = lake.refresh("captions.digest", full=True, executor=name, workers=count, udfs=(FUNCTIONS,))
            seconds = time.perf_counter() - started
            assert report.mode == "rebuild", report
            assert lake.sql("SELECT sum(digest::HUGEINT), count(digest) FROM captions").fetchall() == expected
            if number:
                times[name].append(seconds)
    base = statistics.median(times["inline"])
    print(f"{rows:,} rows, {os.cpu_count()} cores\n\n| executor | workers | s | inline / it |\n|---|---|---|---|")
    for name, count in names.items():
        median = statistics.median(times[name])
        print(f"| {name} | {count} | {median:.2f} | {base / median:.2f} |")
    print()


def resume(folder: Path, rows: int, rounds: int) -> None:
    """The second table."""
    lake = _lake(folder, "resume.lake", rows)
    lake.add_column("captions", "slow", "bench_patient(text)")
    whole, halves, lost = [], [], []
    for _ in range(rounds):
        _full_again(lake)
        started = time.perf_counter()
        _child(lake).wait()
        whole.append(time.perf_counter() - started)
        _full_again(lake)
        started = time.perf_counter()
        first = _child(lake)
        time.sleep(statistics.median(whole) / 2)
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        kept = _spooled(lake)
        second = _child(lake)
        computed = int(second.communicate()[0])
        halves.append(time.perf_counter() - started)
        lost.append(computed + kept - rows)
    print("| refresh | s | ratio | lost rows |\n|---|---|---|---|")
    print(f"| left alone | {statistics.median(whole):.2f} | 1 | 0 |")
    ratio = statistics.median(halves) / statistics.median(whole)
    print(
        f"| killed half-way, run again | {statistics.median(halves):.2f} | {ratio:.2f} | {statistics.median(lost):.0f} |"
    )


def _full_again(lake: cb.Lake) -> None:
    lake.drop_column("captions", "slow")
    lake.add_column("captions", "slow", "bench_patient(text)")


def _child(lake: cb.Lake) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, lake.uri, FUNCTIONS, "no"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _spooled(lake: cb.Lake) -> int:
    from counterbalance.engine.executors.spool import rounds

    return sum(len(b) for s in rounds(lake.location, "captions.slow") for f in s.files() for b in s.read(f))


if __name__ == "__main__":
    main()
