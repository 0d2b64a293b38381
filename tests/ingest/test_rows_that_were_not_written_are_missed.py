"""An ingest counts the rows that it wrote: those that are not there afterwards are an error, and nothing of it is seen."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import StorageError
from counterbalance.engine.store import tables


def test_it_ends_with_an_error_and_can_be_run_again(empty_lake, build, monkeypatch):
    append = tables.append

    def forgetful(location, name, rows, **more):
        return append(location, name, rows.slice(0, 1) if name == "images" else rows, **more)

    images = build.images(image_id=[1, 2], key=["1", "2"])
    monkeypatch.setattr(tables, "append", forgetful)
    with pytest.raises(StorageError, match="2 rows were written to images, and 1 are there") as caught:
        empty_lake.ingest({"images": images})
    assert caught.value.code == "E6048"
    monkeypatch.setattr(tables, "append", append)
    empty_lake.ingest({"images": images})
    assert empty_lake.sql("SELECT count(*) FROM images").fetchall() == [(2,)]
