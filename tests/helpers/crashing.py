"""A file of functions of one's own, of which one ends the process that calls it."""

from __future__ import annotations

CRASH = """import ctypes

import counterbalance as cb


@cb.udf
def breaks(text: str) -> int:
    return ctypes.string_at(0)[0]
"""
LINE = 8
