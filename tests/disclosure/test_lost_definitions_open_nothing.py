"""A lake that no longer tells what is closed in it is not read, rather than taken for one in which nothing is."""

from __future__ import annotations

import shutil

import pytest

from counterbalance.engine.errors import StorageError
from counterbalance.engine.store import tables

PURPOSE = "a test"


@pytest.fixture
def closed_lake(disk_lake, build):
    ids = list(range(20))
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=["a dog"] * 20),
            "labels": build.labels(
                label_id=ids, image_id=ids, attribute=["perceived_gender"] * 20, value=["female", "male"] * 10
            ),
        }
    )
    disk_lake.create_materialized_view("pg", "FROM image_labels('perceived_gender')", "image_id", purpose=PURPOSE)
    disk_lake.refresh()
    return disk_lake


def test_the_table_itself(closed_lake):
    shutil.rmtree(closed_lake.location.path / "meta" / "definitions.lance")
    with pytest.raises(StorageError, match=r"'meta/definitions' .* is gone"):
        closed_lake.sql("FROM pg").fetchall()


def test_all_of_its_rows(closed_lake):
    tables.delete(closed_lake.location, "meta/definitions", "true")
    for query in ("FROM pg", "SELECT count(*) FROM captions"):
        with pytest.raises(StorageError, match=r"meta/definitions .* does not say what is closed in pg") as caught:
            closed_lake.sql(query).fetchall()
    assert (caught.value.code, "copy" in caught.value.hint) == ("E6044", True)
