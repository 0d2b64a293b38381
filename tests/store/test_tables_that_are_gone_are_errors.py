"""A table that is gone, or that others write to all the time, is an error of the store."""

from __future__ import annotations

import lance
import pytest

from counterbalance.engine.errors import StorageError
from counterbalance.engine.store import tables


def test_a_table_that_is_gone(lake):
    with pytest.raises(StorageError) as caught:
        tables.existing(lake.location, "nothing")
    assert caught.value.code == "E6004"


def test_commits_that_always_come_too_late(lake, monkeypatch):
    def conflict(*_arguments, **_options):
        raise OSError("Commit conflict for version 7")

    lake.add_column("captions", "loud", "upper(text)")
    monkeypatch.setattr(lance.LanceDataset, "add_columns", conflict)
    assert [stage.code for stage in lake.refresh(executor="inline").stages] == ["E6015"]
