"""A function that crashes the process of a command leaves its name and line on stderr."""

from __future__ import annotations

import signal
import subprocess
import sys

import counterbalance as cb

CRASH = "import ctypes\n\nimport counterbalance as cb\n\n\n@cb.udf\ndef breaks(text: str) -> int:\n    return ctypes.string_at(0)[0]\n"


def test_file_and_line_are_told(tmp_path, build):
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(
        {"images": build.images(image_id=[1]), "captions": build.captions(caption_id=[1], image_id=[1], text=["x"])}
    )
    (tmp_path / "mine.py").write_text(CRASH)
    words = ["sql", str(tmp_path / "a.lake"), "SELECT breaks(text) FROM captions", "--udfs", str(tmp_path / "mine.py")]
    done = subprocess.run([sys.executable, "-m", "counterbalance", *words], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGSEGV
    assert f'"{tmp_path / "mine.py"}", line 8 in breaks' in done.stderr
