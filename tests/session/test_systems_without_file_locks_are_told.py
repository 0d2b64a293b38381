"""Where a system has no ``fcntl``, as Windows, importing the package says so in one sentence, and where to run it."""

from __future__ import annotations

import subprocess
import sys

import pytest

LACKING = "import sys; sys.modules['fcntl'] = None; "


@pytest.mark.parametrize("what", ["counterbalance", "counterbalance.engine.lake", "counterbalance.__main__"])
def test_import_without_fcntl(what):
    ended = subprocess.run(
        [sys.executable, "-c", f"{LACKING}import {what}"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == (
        "ImportError: counterbalance runs on Linux and macOS, whose file locks keep writers of a lake apart: "
        "on Windows, install it in WSL or use its Dockerfile"
    )
