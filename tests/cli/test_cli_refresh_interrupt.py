"""Ctrl-C ends a refresh with 130 and its workers with it; what was computed is kept, and the next one goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import copies
import psutil
import pytest

from counterbalance.__main__ import main
from counterbalance.engine.sql.diagnostics.engine_errors import translate

ROWS = 1_000
BATCH = 50
UDFS = f'''
import pathlib, time
import pyarrow as pa
import counterbalance as cb

HERE = pathlib.Path(__file__).parent

@cb.udf(returns=pa.int32(), parameters={{"text": pa.string()}}, version="1", batch_size={BATCH})
def held_length(text):
    """Length; notes every batch, and does not come back from the fifth while there is a file "hold"."""
    notes = HERE / "batches.txt"
    with notes.open("a") as file:
        file.write(f"{{len(text)}}\\n")
    while (HERE / "hold").exists() and len(notes.read_text().split()) >= 5:
        time.sleep(0.02)
    return pa.array([len(t) for t in text.to_pylist()], pa.int32())
'''


@pytest.fixture
def filled(kept, disk_lake, build, tmp_path):
    (tmp_path / "my_udfs.py").write_text(UDFS)

    def fill(lake):
        ids = list(range(ROWS))
        lake.ingest(
            {
                "images": build.images(image_id=ids, key=[str(i) for i in ids]),
                "captions": build.captions(caption_id=ids, image_id=ids, text=["x" * (i % 9) for i in ids]),
            }
        )

    return copies.filled(kept, disk_lake, fill)


def batches(tmp_path):
    notes = tmp_path / "batches.txt"
    return [int(line) for line in notes.read_text().split()] if notes.exists() else []


@pytest.fixture
def start(tmp_path):
    """Begin a refresh in a process of its own; what still runs at the end is killed."""
    started = []

    def begin(lake, *words):
        command = [sys.executable, "-m", "counterbalance", "refresh", lake.uri, "--udfs", "my_udfs.py", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen(command, cwd=tmp_path, text=True, **pipes))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.cases(1)
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("workers", [1, 2])
def test_interrupt(workers, filled, tmp_path, spawn_cli, start):
    declared = spawn_cli(
        "sql", filled.uri, "ALTER TABLE captions ADD COLUMN n AS (held_length(text))", "--udfs", "my_udfs.py"
    )
    assert declared.returncode == 0, declared.stderr
    (tmp_path / "batches.txt").unlink(missing_ok=True)  # declaring may try the function
    (tmp_path / "hold").touch()
    process = start(filled, "--workers", str(workers))
    while len(batches(tmp_path)) < 5:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) == (0 if workers == 1 else 1)  # one task: one process, and none beside this one for few rows
    busy = spawn_cli("refresh", filled.uri, "--due", "--udfs", "my_udfs.py")
    assert busy.returncode == 75
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=500)
    assert (process.returncode, out) == (130, ""), err
    assert "batches that were done are kept; the same command goes on with them" in err
    assert "Traceback" not in err
    _, alive = psutil.wait_procs(children, timeout=200)
    assert alive == []
    (tmp_path / "hold").unlink()
    rest = spawn_cli("refresh", filled.uri, "--udfs", "my_udfs.py", "--json")
    assert rest.returncode == 0, rest.stderr
    (stage,) = json.loads(rest.stdout)["stages"]
    assert sum(batches(tmp_path)) == ROWS + BATCH  # the one that did not come back
    assert (stage["rows"], stage["updated"]) == (ROWS - 4 * BATCH, ROWS)
    assert filled.sql("SELECT count(*) FROM captions WHERE n = length(text)").fetchall() == [(ROWS,)]


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_view_that_does_not_listen(filled, start, capsys):
    """A query that goes on for hours is left behind; nothing of it is in the lake."""
    endless = (
        "SELECT count(*) AS n FROM captions a, captions b, captions c, captions d WHERE hash(a.text, d.text) % 7 = 0"
    )
    assert main(["sql", filled.uri, f"CREATE MATERIALIZED VIEW v WITH (key = 'n') AS {endless}"]) == 0
    process = start(filled)
    held = filled.location.path / ".refresh-lock"
    while not (held.exists() and held.read_text()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=500)
    assert (process.returncode, out) == (130, ""), err
    assert "interrupted" in err
    assert not (filled.location.path / "v.lance").exists()
    assert main(["sql", filled.uri, "DROP MATERIALIZED VIEW v"]) == 0
    capsys.readouterr()
    assert main(["refresh", filled.uri]) == 0
    assert capsys.readouterr().out == "nothing is declared\n"


def test_what_duckdb_makes_of_ctrl_c_is_still_ctrl_c():
    """Sometimes a query that Python interrupts ends with a plain RuntimeError."""
    with pytest.raises(KeyboardInterrupt):
        translate(RuntimeError("Query interrupted"), "SELECT 1", same_text=True)
    assert translate(RuntimeError("something else"), "SELECT 1", same_text=True).code == "E9000"
