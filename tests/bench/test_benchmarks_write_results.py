"""Benchmarks write what they measured, and on what, as JSON and as Markdown."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
TINY = """
def prepare(folder, scale):
    (folder / "scale").write_text(scale)

def cases(folder):
    assert (folder / "scale").read_text() == "small"
    return {"sum of 1,000": {"ours": (lambda: range(1000), sum), "a loop": (lambda: range(1000), lambda r: 499_500)},
            "another": {"ours": (lambda: 0, print)}}
"""


def test_a_benchmark_of_contenders(tmp_path):
    (tmp_path / "bench_tiny.py").write_text(TINY)
    command = [sys.executable, str(BENCH / "run.py"), "bench_tiny", "--rounds", "3", "--only", "sum", "--modes", "warm"]
    folders = {"PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(
        [*command, "--output", str(tmp_path / "results" / "here")],
        env={**os.environ, **folders},
        check=True,
        capture_output=True,
        text=True,
    )
    told = json.loads((tmp_path / "results" / "here" / "bench_tiny.json").read_text())
    assert (told["name"], told["scale"], told["rounds"]) == ("bench_tiny", "small", 3)
    assert told["machine"]["python"] == platform.python_version()
    assert told["machine"]["cpu"]
    assert told["machine"]["cores"] >= 1
    assert told["machine"]["memory GiB"] > 0
    assert told["versions"]["duckdb"] == version("duckdb")
    assert told["versions"]["pylance"] == version("pylance")
    ((ours, loop),) = told["tables"]
    assert (ours["case"], ours["contender"], ours["warm ratio"]) == ("sum of 1,000", "ours", 1)
    assert loop["warm ratio"] == pytest.approx(loop["warm s"] / ours["warm s"])
    page = (tmp_path / "results" / "here" / "bench_tiny.md").read_text()
    table = ran.stdout[ran.stdout.index("| case") :].strip()
    assert page.startswith("# bench_tiny\n")
    assert page.strip().endswith(table)
    assert f"python {platform.python_version()}" in page


def test_embedding_searching_and_building(tmp_path, monkeypatch, capsys):
    """All three tables at a size that any machine has."""
    pytest.importorskip("open_clip")
    monkeypatch.syspath_prepend(str(BENCH))
    import bench_embed

    monkeypatch.setattr(bench_embed, "_product", lambda _: 1.0)  # a second of nothing but multiplying
    monkeypatch.setattr(
        sys,
        "argv",
        ["bench_embed.py", "--scale", "tiny", "--device", "cpu", "--rounds", "1", "--output", str(tmp_path)],
    )
    bench_embed.main()
    told = json.loads((tmp_path / "bench_embed.json").read_text())
    images, knn, index = told["tables"]
    assert [row["contender"] for row in images] == ["counterbalance", "bare torch loop", "model alone", "end to end"]
    assert all(row["images/s"] > 0 for row in images)
    assert [row["it / limit"] for row in knn if row["contender"] in {"product alone", "items read once"}] == [1, 1]
    assert {row["work"] for row in index} == {"k-means", "k-means and IVF_RQ"}
    assert (told["device"], told["versions"]["torch"]) == ("cpu", version("torch"))
    assert capsys.readouterr().out.count("\n|---|") == 3


def test_gpu_hours_are_pictures_times_passes_at_a_published_rate(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import bench_edits

    gensynth, *_, pairs = bench_edits.hours()
    assert gensynth["A100 hours"] == "1,224"  # 184,656 edits of 500 steps of 3 passes, 0.01591 s each
    assert pairs["A100 hours"] == "2,166"  # 4.9 million pictures of 1.591 s


def test_tables_that_were_printed_are_read(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import results

    text = "before\n\n| work | s |\n|---|--:|\n| one | 1,200.5 |\n| two | |\nend\n\n| a |\n|---|\n| x |\n"
    assert results.tables(text) == [[{"work": "one", "s": 1200.5}, {"work": "two", "s": None}], [{"a": "x"}]]
