"""A table that is gone, that others write to all the time, or that nothing installed can reach, is an error of the store."""

from __future__ import annotations

import fsspec
import lance
import pytest

import counterbalance as cb
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


def test_a_store_that_nothing_installed_reads(monkeypatch):
    def missing(*_arguments, **_options):
        raise ImportError("Please install gcsfs to access Google Storage")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(StorageError, match="install gcsfs") as caught:
        cb.connect("gs://bucket/a.lake").location.filesystem()
    assert caught.value.code == "E6017"
