"""Export a table and be killed before a batch. Arguments: lake, table, folder, target, the batch."""

from __future__ import annotations

import os
import signal
import sys

import counterbalance as cb


def main() -> None:
    lake, table, folder, target, last = sys.argv[1:]
    seen = []

    def progress(event: object) -> None:
        seen.append(event)
        if len(seen) == int(last):
            os.kill(os.getpid(), signal.SIGKILL)

    cb.connect(lake).export(table, folder, target, shard_size=100, progress=progress)


if __name__ == "__main__":
    main()
