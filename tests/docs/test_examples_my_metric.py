"""The folder for a metric of one's own: its audit has no problem, and its own test passes as it stands."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from counterbalance.__main__ import main

if TYPE_CHECKING:
    from pathlib import Path


def test_the_audit_has_no_problem_and_its_test_passes(project_root: Path, tmp_path: Path, capsys) -> None:
    folder = project_root / "examples" / "my-metric"
    assert main(["audit", "--check", str(folder / "word_gap.sql")]) == 0
    assert "no problem found" in "".join(capsys.readouterr())
    command = [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", "-cnone.ini", str(folder)]
    (tmp_path / "none.ini").write_text("[pytest]\n", encoding="utf-8")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
