"""Streams that are full or closed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import counterbalance as cb

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def run(line, folder):
    program = f'"{sys.executable}" -m counterbalance'
    return subprocess.run(
        ["sh", "-c", line.replace("PROGRAM", program)], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory, build):
    found = tmp_path_factory.mktemp("streams")
    cb.connect(found / "test.lake").ingest({"images": build.images(image_id=[1], key=["a"])})
    return found


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "command",
    ["sql test.lake 'SELECT 1'", "sql test.lake 'SELECT 1' --format parquet", "tables test.lake", "audit --list"],
)
def test_full(command, folder):
    done = run(f"PROGRAM {command} > /dev/full", folder)
    assert done.returncode == 1
    assert done.stderr.startswith("error[E6010]: cannot read or write: No space left on device\nhint: ")
    assert len(done.stderr.splitlines()) == 2


def test_no_stdout(folder):
    done = run("PROGRAM sql test.lake 'SELECT 1' >&-", folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_stderr(folder):
    assert run("PROGRAM sql test.lake 'SELECT nothing' 2>&-", folder).returncode == 1


def test_no_stdin(folder):
    assert run("PROGRAM sql test.lake 'SELECT 1 AS a' --csv <&-", folder).stdout == "a\n1\n"
