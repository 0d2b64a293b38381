"""Sends a lake to spawned processes: to a pool, and to the workers of torch's DataLoader where torch is installed."""

from __future__ import annotations

import json
import multiprocessing
import sys

import counterbalance as cb


class Captions:
    """A dataset that asks its lake for one caption at a time."""

    def __init__(self, lake):
        self.lake = lake

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.lake.sql("SELECT text FROM captions WHERE caption_id = $id", id=index).fetchall()[0][0]


def read(lake):
    """What a worker sees of it."""
    rows = lake.sql("SELECT text FROM captions ORDER BY caption_id").fetchall()
    return [text for (text,) in rows], lake.uri, dict(lake.location.storage_options)


def main():
    lake = cb.connect(sys.argv[1], {"some_option": "1"})
    lake.sql("SELECT 1").fetchall()  # what it has opened stays here
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(read, [lake, lake])
    loaded = None
    if sys.argv[2] == "torch":
        from torch.utils.data import DataLoader

        loader = DataLoader(Captions(lake), batch_size=2, num_workers=2, multiprocessing_context="spawn")
        loaded = [text for batch in loader for text in batch]
    sys.stdout.write(json.dumps({"pool": found, "loader": loaded}))


if __name__ == "__main__":
    main()
