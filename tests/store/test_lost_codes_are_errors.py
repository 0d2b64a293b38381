"""Without the dictionary of its codes a lake is not read or written wrongly: it says what is gone."""

from __future__ import annotations

import shutil

import pytest

from counterbalance.engine.errors import StorageError
from counterbalance.engine.store import tables


@pytest.fixture
def filled(disk_lake, build):
    ids = list(range(20))
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[f"key{i}" for i in ids]),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["scene"] * 20, value=["in", "out"] * 10),
        }
    )
    return disk_lake


def emptied(lake):
    tables.delete(lake.location, "meta/codes", "true")


def removed(lake):
    shutil.rmtree(lake.location.path / "meta" / "codes.lance")


def without_data(lake):
    for file in (lake.location.path / "meta" / "codes.lance" / "data").iterdir():
        file.unlink()


def without_the_first(lake):
    tables.delete(lake.location, "meta/codes", "code = 0")


@pytest.mark.parametrize("lose", [emptied, removed, without_data, without_the_first])
def test_nothing_is_read_or_written(lose, filled, build):
    lose(filled)
    before = tables.latest_version(filled.location, "labels")
    more = build.labels(label_id=[50], image_id=[1], attribute=["scene"], value=["up"])
    for work in (
        lambda: filled.sql("SELECT value FROM labels"),
        lambda: filled.ingest({"labels": more}),
        lambda: filled.ingest({"labels": more}, dry_run=True),
    ):
        with pytest.raises(StorageError, match="meta/codes") as caught:
            work()
        assert caught.value.code in {"E6042", "E6018"}  # a file that is gone is damage
        assert "copy" in caught.value.hint or "verify" in caught.value.hint
    assert tables.latest_version(filled.location, "labels") == before


def test_a_last_code_that_is_gone_stops_an_ingest(filled, build):
    tables.delete(filled.location, "meta/codes", "value = 'out'")
    with pytest.raises(StorageError, match=r"lacks codes of labels\.value"):
        filled.ingest({"labels": build.labels(label_id=[50], image_id=[1], attribute=["scene"], value=["up"])})


def test_columns_without_any_value_need_none(disk_lake, build):
    rows = {"images": build.images(image_id=[1, 2], key=["a", "b"])}
    disk_lake.ingest(rows)
    assert tables.open_table(disk_lake.location, "meta/codes") is None
    assert disk_lake.sql("SELECT split FROM images").fetchall() == [(None,), (None,)]
    assert disk_lake.ingest(rows).unchanged == 2
