"""The snippets of docs/elsewhere.md run, in order, as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from counterbalance.__main__ import main

PAGE = (Path(__file__).parents[2] / "docs" / "elsewhere.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_snippets_run(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    for line in re.findall(r"^\$ cbal (.*)$", PAGE, re.MULTILINE):
        assert main(line.split()) == 0
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    (tmp_path / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, "page.py"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "umbrella" in done.stdout
    assert "__code" not in done.stdout
    assert done.stdout.count("'sha256', 'image']") == 3 * 3  # Lance, DuckDB, polars; two workers read the page again
    said = re.search(r"(\d+) captions with their pictures", done.stdout)
    assert said is not None
    assert int(said[1]) > 100
