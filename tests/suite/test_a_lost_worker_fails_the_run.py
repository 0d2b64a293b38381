"""`make test` ends, and fails, when a test takes its worker process with it; what only may end a process is an error."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import threading

import pytest

from counterbalance.shell import supervise

KILLED = """
import os, signal, time

import pytest


@pytest.mark.parametrize("number", range(4))
def test_of_the_worker_that_is_lost(number):
    time.sleep(0.05)
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
"""
QUIET = """
import time

import pytest


@pytest.mark.parametrize("number", range(4))
def test_of_another(number):
    time.sleep(0.1)
"""


@pytest.mark.thorough
@pytest.mark.slow
def test_a_lost_worker_fails_the_run(tmp_path, project_root):
    """The command of the Makefile, with the project's own options, over a folder of other tests."""
    command = re.search(r"^test:.*\n\t\$\(BIN\)/pytest (.*)$", (project_root / "Makefile").read_text(), re.MULTILINE)
    words = shlex.split(command[1])
    assert "-n" in words
    (tmp_path / "test_a.py").write_text(KILLED)
    for name in "bcde":
        (tmp_path / f"test_{name}.py").write_text(QUIET)
    config = ["-c", str(project_root / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *words, *config, str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, _ = process.communicate(timeout=200)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            pytest.fail("the run hangs after its worker was lost")
    assert process.returncode == pytest.ExitCode.TESTS_FAILED, out
    assert re.search(
        r"worker 'gw\d' crashed while running '.*test_a\.py::test_of_the_worker_that_is_lost\[2\]'", out
    ), out


def test_a_query_that_does_not_stop_is_an_error_of_its_test():
    stop = threading.Event()
    with pytest.raises(RuntimeError, match="would have ended the process"):
        supervise.supervise(lambda: stop.wait(60), interrupt=lambda: None, limit=0.05)
    stop.set()
