"""``at`` takes a moment: the lake as the last finished run before it left it."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from counterbalance.engine.errors import NotFoundError, SourceError
from counterbalance.engine.ingest_types import Chunk, Source
from counterbalance.engine.write.ingest import ingest


@pytest.fixture
def moments(disk_lake, build):
    """A lake after three ingests, and a moment after each; the first moment is before them all."""
    found = [dt.datetime.now(dt.UTC)]
    for number in range(3):
        time.sleep(0.01)
        disk_lake.ingest({"images": build.images(image_id=[number], key=[str(number)])})
        time.sleep(0.01)
        found.append(dt.datetime.now(dt.UTC))
    return found


def count(lake, at):
    return lake.sql("SELECT count(*) FROM images", at=at).fetchall()[0][0]


def test_every_moment_has_its_rows(disk_lake, moments):
    assert [count(disk_lake, m.isoformat()) for m in moments[1:]] == [1, 2, 3]


def test_without_a_zone_it_is_utc(disk_lake, moments):
    assert count(disk_lake, moments[2].replace(tzinfo=None).isoformat()) == 2


def test_zones_are_understood(disk_lake, moments):
    tokyo = moments[1].astimezone(dt.timezone(dt.timedelta(hours=9)))
    assert count(disk_lake, tokyo.isoformat()) == 1


def test_before_everything_there_was_nothing(disk_lake, moments):
    with pytest.raises(NotFoundError, match=r"was empty at.*\nhint: its first run ended at 20\d\d-") as caught:
        count(disk_lake, moments[0].isoformat())
    assert caught.value.code == "E1008"


def test_nonsense_is_no_moment(disk_lake, moments):
    with pytest.raises(NotFoundError, match="not a moment in ISO 8601"):
        count(disk_lake, "yesterday")


def test_half_of_a_run_is_at_no_moment(disk_lake, build, moments):
    def chunks():
        yield Chunk({"images": build.images(image_id=[77])})
        halfway.append(dt.datetime.now(dt.UTC))
        time.sleep(0.01)
        raise SourceError("broken")

    halfway: list[dt.datetime] = []
    with pytest.raises(SourceError):
        ingest(disk_lake.location, Source("s", chunks()), "test")
    assert count(disk_lake, halfway[0].isoformat()) == 3
    assert count(disk_lake, dt.datetime.now(dt.UTC).isoformat()) == 3


def test_a_moment_to_come_is_told(disk_lake, moments):
    assert disk_lake.sql("SELECT 1", at=moments[3].isoformat()).notes == []
    ahead = disk_lake.sql("SELECT count(*) FROM images", at="2999-01-01")
    assert ahead.fetchall() == [(3,)]
    assert ahead.notes == ["2999-01-01 has not come yet: this is the newest state, and can change"]
