"""Share the long tests out: a run with ``COUNTERBALANCE_SHARE=2/5`` tries a fifth of them, and all that are short."""

from __future__ import annotations

import zlib
from pathlib import Path

LONG = frozenset((Path(__file__).resolve().parents[1] / "long.txt").read_text().split())
"""Tests that take more than a second, as ``tools/long_tests.py`` found them."""


def is_tried(test: str, share: str | None) -> bool:
    """Tell whether a run with a share tries a test: a short one, or one whose number leaves 2 when divided by 5.

    Examples:
        >>> is_tried("tests/sql/test_x.py::test_short[1]", "2/5")
        True
    """
    name = test.partition("[")[0]
    if share is None or name not in LONG:
        return True
    place, shares = map(int, share.split("/"))
    return zlib.crc32(name.encode()) % shares == place
