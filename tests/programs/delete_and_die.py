"""Take images out of a lake, and end by SIGKILL before the write with a number.

Arguments: lake, number of the write (from 1; 0 for none), ids. Prints the number of writes where it was not killed.
"""

from __future__ import annotations

import os
import signal
import sys

import lance

import counterbalance as cb
from counterbalance.engine.store import tables

LAKE, LAST, IDS = sys.argv[1], int(sys.argv[2]), [int(i) for i in sys.argv[3].split(",")]
writes = 0


def counted(function):
    def write(*args, **options):
        global writes  # noqa: PLW0603 - a program
        writes += 1
        if writes == LAST:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **options)

    return write


for module, name in ((tables, "append"), (tables, "overwrite"), (tables, "fill"), (tables, "drop")):
    setattr(module, name, counted(getattr(module, name)))
lance.LanceDataset.delete = counted(lance.LanceDataset.delete)
lance.LanceDataset.cleanup_old_versions = counted(lance.LanceDataset.cleanup_old_versions)
for name in ("drop_index", "create_scalar_index"):
    setattr(lance.LanceDataset, name, counted(getattr(lance.LanceDataset, name)))
cb.connect(LAKE).delete(ids=IDS, apply=True, purge=True)
sys.stdout.write(str(writes))
