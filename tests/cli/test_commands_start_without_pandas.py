"""A command loads no pandas where nobody asks for a data frame, and gives one to who does."""

from __future__ import annotations

import subprocess
import sys

import pytest

import counterbalance as cb

PROGRAM = """
import sys
from counterbalance.__main__ import main
assert main(["audit", sys.argv[1], "demographics", "--min-count", "0"]) == 0
assert main(["status", sys.argv[1]]) == 0
assert "pandas" not in sys.modules
import pyarrow as pa
frame = pa.table({"a": [1.0, None]}).to_pandas()
assert pa.array(frame["a"]).null_count == 1
"""


def test_neither_pandas_nor_its_absence_is_noticed(tmp_path, build):
    pytest.importorskip("pandas")
    captions = build.captions(caption_id=[1], image_id=[1], text=["a woman"])
    cb.connect(tmp_path / "a.lake").ingest({"images": build.images(image_id=[1]), "captions": captions})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "a.lake"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "female" in done.stdout
