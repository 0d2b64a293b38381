"""Ctrl-C ends a refresh with 130 and its workers with it; what was computed is kept, and the next one goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

ROWS = 1_000
BATCH = 50
UDFS = f'''
import pathlib, time
import pyarrow as pa
import counterbalance as cb

@cb.udf(returns=pa.int32(), parameters={{"text": pa.string()}}, version="1", batch_size={BATCH})
def slow_length(text):
    """Length, slowly; notes every batch."""
    with pathlib.Path(__file__).with_name("batches.txt").open("a") as notes:
        notes.write(f"{{len(text)}}\\n")
    time.sleep(0.2)
    return pa.array([len(t) for t in text.to_pylist()], pa.int32())
'''


@pytest.fixture
def filled(disk_lake, build, tmp_path):
    (tmp_path / "my_udfs.py").write_text(UDFS)
    ids = list(range(ROWS))
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=["x" * (i % 9) for i in ids]),
        }
    )
    return disk_lake


def batches(tmp_path):
    notes = tmp_path / "batches.txt"
    return [int(line) for line in notes.read_text().split()] if notes.exists() else []


def start(lake, tmp_path, *words):
    command = [sys.executable, "-m", "counterbalance", "refresh", lake.uri, "--udfs", "my_udfs.py", *words]
    environment = {**os.environ, "COUNTERBALANCE_PROGRESS": "auto"}
    return subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("workers", [1, 2])
def test_interrupt(workers, filled, tmp_path, spawn_cli):
    declared = spawn_cli(
        "sql", filled.uri, "ALTER TABLE captions ADD COLUMN n AS (slow_length(text))", "--udfs", "my_udfs.py"
    )
    assert declared.returncode == 0, declared.stderr
    tried = len(batches(tmp_path))  # declaring may try the function
    process = start(filled, tmp_path, "--workers", str(workers))
    deadline = time.monotonic() + 120
    while len(batches(tmp_path)) < tried + 4:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) == (0 if workers == 1 else 1)  # one task: one process, and none beside this one for few rows
    busy = spawn_cli("refresh", filled.uri, "--due", "--udfs", "my_udfs.py")
    assert busy.returncode == 75
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, ""), err
    assert time.monotonic() - began < 10
    assert "what was computed is kept; the same command goes on with it" in err
    assert "Traceback" not in err
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    done = batches(tmp_path)[tried:]
    assert 4 <= len(done) < ROWS // BATCH
    rest = spawn_cli("refresh", filled.uri, "--udfs", "my_udfs.py", "--json")
    assert rest.returncode == 0, rest.stderr
    (stage,) = json.loads(rest.stdout)["stages"]
    again = sum(batches(tmp_path)[tried:]) - ROWS
    assert 0 <= again <= BATCH
    assert stage["updated"] == ROWS
    assert filled.sql("SELECT count(*) FROM captions WHERE n = length(text)").fetchall() == [(ROWS,)]
