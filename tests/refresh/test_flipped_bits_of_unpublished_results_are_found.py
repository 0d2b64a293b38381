"""A bit that flips in what was computed and not yet published never becomes a value: refresh and ``verify`` name the file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from counterbalance.engine.errors import CounterbalanceError

FLIPS = 60


@pytest.fixture
def unpublished(disk_lake, build, row_function):
    """40 captions of which 36 are computed: the function fails in others."""
    images = build.images(image_id=[1], key=["1"])
    rows = build.captions(caption_id=[*range(40)], image_id=[1] * 40, text=["t" * (i + 1) for i in range(40)])
    disk_lake.ingest({"images": images, "captions": rows})
    row_function("x_size", len)
    disk_lake.sql("ALTER TABLE captions ADD COLUMN c AS (x_size(text))")
    return disk_lake


def part_of(lake, monkeypatch):
    """Compute, and fail before anything is published."""
    from counterbalance.engine.refresh import commit

    def fails(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(commit.Publishing, "run", fails, raising=True)
        with pytest.raises((KeyboardInterrupt, CounterbalanceError)):
            lake.refresh("captions.c", executor="inline")
    [part] = Path(lake.uri).glob("refresh/captions.c/*/*.arrows")
    return part


def test_no_flipped_bit_is_published(unpublished, monkeypatch, record_property):
    lake, chance = unpublished, random.Random(5)
    part = part_of(lake, monkeypatch)
    whole, found = part.read_bytes(), 0
    assert lake.verify().sound
    for _ in range(FLIPS):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        part.write_bytes(bytes(data))
        [finding] = lake.verify().findings
        assert finding.kind == "damaged"
        assert finding.file.endswith(part.name)
        found += 1
        [stage] = lake.refresh("captions.c", executor="inline").stages
        assert (stage.mode, stage.code) == ("failed", "E6041")
        assert lake.sql("SELECT count(c) FROM captions").fetchall() == [(0,)]
    record_property("flips", FLIPS)
    record_property("flips found", found)
    part.write_bytes(whole)
    lake.refresh("captions.c", executor="inline")
    assert lake.sql("SELECT bool_and(c = length(text)), count(c) FROM captions").fetchall() == [(True, 40)]


def test_accepting_the_damage_computes_those_rows_again(unpublished, monkeypatch):
    from counterbalance.engine.catalog.verify import accept

    lake = unpublished
    part = part_of(lake, monkeypatch)
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    accept(lake.location, lake.verify())
    assert lake.verify().sound
    lake.refresh("captions.c", executor="inline")
    assert lake.sql("SELECT bool_and(c = length(text)), count(c) FROM captions").fetchall() == [(True, 40)]
