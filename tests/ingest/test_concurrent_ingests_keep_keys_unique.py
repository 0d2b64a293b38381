"""Several processes ingest the same new keys at once: every key is stored once, and nothing is lost."""

from __future__ import annotations

from collections import Counter

import lance
import pytest

PROCESSES = 4
CHUNKS = 10


def stored(lake, table, column):
    return lance.dataset(lake.location.table(table)).to_table(columns=[column])[column].to_pylist()


@pytest.mark.thorough
@pytest.mark.slow
def test_the_same_source_from_four_processes(disk_lake, build, spawn, record_property):
    record_property("processes", PROCESSES)
    disk_lake.ingest({"images": build.images(image_id=list(range(1, CHUNKS + 1)), width=[0] * CHUNKS)})
    running = [spawn("ingest_chunks", disk_lake.uri, 1000, CHUNKS, 0) for _ in range(PROCESSES)]
    ends = []
    for process in running:
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        ends.append(tuple(map(int, out.splitlines()[-1].split()[1:])))
    ids = list(range(1000, 1000 + CHUNKS * 4))
    assert sorted(stored(disk_lake, "images", "image_id")) == [*range(1, CHUNKS + 1), *ids]
    assert sorted(stored(disk_lake, "captions", "caption_id")) == [i * 10 + part for i in ids for part in (0, 1)]
    assert sorted(ends) == [(0, 0, CHUNKS * 15, CHUNKS * 2)] * (PROCESSES - 1) + [(CHUNKS * 14, CHUNKS, 0, CHUNKS * 2)]
    assert set(Counter(stored(disk_lake, "meta/errors", "error_id")).values()) == {1}


@pytest.mark.slow
def test_overlapping_sources_from_four_processes(disk_lake, build, spawn, record_property):
    record_property("processes", PROCESSES)
    disk_lake.ingest({"images": build.images(image_id=list(range(1, CHUNKS + 1)), width=[0] * CHUNKS)})
    firsts = [1000, 1000 + CHUNKS * 2, 1000 + CHUNKS * 4, 1000 + CHUNKS * 2]
    running = [spawn("ingest_chunks", disk_lake.uri, first, CHUNKS, 0) for first in firsts]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    ids = sorted({i for first in firsts for i in range(first, first + CHUNKS * 4)})
    assert sorted(stored(disk_lake, "images", "image_id")) == [*range(1, CHUNKS + 1), *ids]
    assert sorted(stored(disk_lake, "captions", "caption_id")) == [i * 10 + part for i in ids for part in (0, 1)]
    got = disk_lake.sql("SELECT origin, count(*) FROM captions GROUP BY 1 ORDER BY 1").fetchall()
    assert got == [("alt_text", len(ids)), ("human", len(ids))]
