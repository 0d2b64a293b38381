"""Declare a closed column and be killed on the way. Arguments: lake, when (``before`` or ``after`` the table is moved)."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import counterbalance as cb

if __name__ == "__main__":
    lake, rename = cb.connect(sys.argv[1]), Path.rename

    def die(path, target):
        if sys.argv[2] == "after":
            rename(path, target)
        os.kill(os.getpid(), signal.SIGKILL)

    Path.rename = die
    lake.add_column("captions", "perceived_gender", "upper(text)")
    sys.stdout.write("not killed\n")
