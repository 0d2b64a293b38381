"""The folder for a metric of one's own: its audit has no problem, its test passes, and as a package it brings the audit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from counterbalance.__main__ import main

if TYPE_CHECKING:
    from pathlib import Path


def test_the_audit_has_no_problem_and_its_test_passes(project_root: Path, tmp_path: Path, capsys) -> None:
    folder = project_root / "examples" / "my-metric"
    assert main(["audit", "--check", str(folder / "my_metric" / "audits" / "word_gap.sql")]) == 0
    assert "no problem found" in "".join(capsys.readouterr())
    command = [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", "-cnone.ini", str(folder)]
    (tmp_path / "none.ini").write_text("[pytest]\n", encoding="utf-8")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_installed_it_is_listed_and_its_test_passes(project_root: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(project_root / "examples" / "my-metric", tmp_path / "copy")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(tmp_path / "site"), str(copy)], check=True, timeout=300)
    program = "import sys; sys.path.append(sys.argv.pop(1)); from counterbalance.__main__ import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, str(tmp_path / "site"), "audit", "--list", "word_gap"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("word_gap")
    pytest = [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", "-oaddopts="]
    path = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(pytest, cwd=copy, env=path, capture_output=True, text=True, timeout=300, check=False)
    assert "2 passed" in done.stdout, done.stdout
