"""Cleaning up again and again, with writes in between, never breaks a reader in another process."""

from __future__ import annotations

import datetime as dt

from counterbalance.engine.refresh.gc import gc
from counterbalance.engine.store import tables

ROUNDS = 20


def test_readers_see_whole_versions(disk_lake, build, spawn, record_property):
    ids = list(range(200))
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[f"text {i}" for i in ids]),
        }
    )
    readers = [spawn("read_until_told", disk_lake.uri) for _ in range(2)]
    for reader in readers:
        assert reader.stdout.readline() == "ready\n", reader.stderr.read()
    for number in range(ROUNDS):
        fresh = [1_000 + 10 * number + i for i in range(10)]
        disk_lake.ingest({"captions": build.captions(caption_id=fresh, image_id=[0] * 10, text=["new"] * 10)})
        tables.delete(disk_lake.location, "captions", f"caption_id = {number} OR caption_id = {fresh[0]}")
        gc(disk_lake.location, older_than=dt.timedelta(0), apply=True, wait=30)
    told = [reader.communicate(timeout=500) for reader in readers]
    assert [reader.returncode for reader in readers] == [0, 0], told
    assert all(int(out) > 0 for out, _ in told)
    record_property("clean-ups", ROUNDS)
    record_property("reads", sum(int(out) for out, _ in told))
    assert disk_lake.sql("SELECT count(*) FROM captions").fetchall() == [(200 + ROUNDS * 8,)]
    for reader in readers:
        assert reader.poll() is not None
    gc(disk_lake.location, older_than=dt.timedelta(0), apply=True)
    assert len(tables.open_table(disk_lake.location, "captions").versions()) == 1
