"""Benchmarks that pages name are there, begin, and print the tables that the pages show; what takes minutes runs at its smallest."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
}


def ran(*words):
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=1700)
    assert done.returncode == 0, done.stderr
    return done.stdout


def steps(text):
    """Names of the first column, by the head of the table."""
    found = {}
    for head, body in re.findall(r"^\| ([^|]+) \|.*\n\|--.*\n((?:\|.*\n?)+)", text, re.MULTILINE):
        found[head] = [re.sub(r" in ", " ", line.split(" | ")[0][2:].lower()) for line in body.splitlines()]
    return found


def test_scripts_that_pages_name_are_there():
    gone = {
        (page, name)
        for page, text in PAGES.items()
        for name in re.findall(r"\b((?:bench|tools)/\w+\.py)\b", text)
        if not (ROOT / name).is_file()
    }
    gone |= {
        (page, name)
        for page, text in PAGES.items()
        for name in re.findall(r"`(bench_\w+)`", text)
        if not (BENCH / f"{name}.py").is_file()
    }
    assert gone == set()


def test_options_of_the_benchmarks_are_those_that_pages_give():
    told = ran("bench/run.py", "--help")
    given = {
        word for text in PAGES.values() for line in re.findall(r"bench/run\.py([^`\n]*)", text) for word in line.split()
    }
    assert given
    assert {word for word in given if word.startswith("--") and word not in told} == set()
    assert {word for word in given if word.startswith("bench_") and not (BENCH / f"{word}.py").is_file()} == set()


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_make_bench_runs_those_that_performance_tells_of():
    shown = subprocess.run(["make", "-n", "bench"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "bench/run.py" in shown
    source = (BENCH / "run.py").read_text(encoding="utf-8")
    runs = set(re.findall(r'"(bench_\w+)"', source.partition("def main")[0]))
    named = set(re.findall(r"`(bench_\w+)`", PAGES["docs/performance.md"]))
    assert runs - named == set()
    assert len(runs) > 10


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_growth_at_its_smallest_prints_the_steps_of_its_page():
    page, printed = steps(PAGES["docs/growth.md"]), steps(ran("bench/bench_growth.py", "1000", "2000"))
    assert page.keys() == printed.keys() == {"seconds, s", "memory, MB", "bytes, MB", "files"}
    assert all(page[head] == printed[head] for head in ("seconds, s", "memory, MB"))
    assert all({*page[head]} < {*printed[head]} for head in ("bytes, MB", "files"))  # after what they change most
