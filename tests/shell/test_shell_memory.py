"""Sizes as people write them, and the limit they set."""

from __future__ import annotations

import subprocess
import sys

import pytest

from counterbalance.engine.memory import parse


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("512MB", 512_000_000),
        ("2GB", 2_000_000_000),
        ("2gib", 2 << 30),
        ("1.5 KiB", 1536),
        ("3T", 3 * 10**12),
        ("7b", 7),
    ],
)
def test_parse(text, size):
    assert parse(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1XB", "1 GB free", "1e9"])
def test_no_size(text):
    with pytest.raises(ValueError, match=r".*"):
        parse(text)


PROGRAM = """
from counterbalance.engine.memory import cap
cap("100MB")
small = bytearray(50 * 10**6)
try:
    bytearray(20 * 10**9)
except MemoryError:
    print("held")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux")
def test_cap(tmp_path):
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout == "held\n"
