"""A symbolic link that leads out of the folder that was named is not read, but in the cache of Hugging Face's Hub."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SourceError


def test_a_table(tmp_path):
    (tmp_path / "secret.csv").write_text("text\nnot for you\n")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.csv").write_text("text\na cat\n")
    (tmp_path / "set" / "b.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "set" / "c.csv").symlink_to("a.csv")
    lake = cb.connect(tmp_path / "a.lake")
    report = lake.ingest(tmp_path / "set")
    assert lake.sql("SELECT DISTINCT text FROM captions").fetchall() == [("a cat",)]
    assert any("b.csv is a symbolic link that leads out of the folder" in note for note in report.notes)


def test_nothing_else_is_there(tmp_path):
    (tmp_path / "secret.csv").write_text("text\nnot for you\n")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "b.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(SourceError, match="leads out of the folder"):
        cb.connect(tmp_path / "a.lake").ingest(tmp_path / "set")


def test_the_cache_of_the_hub(tmp_path):
    repository = tmp_path / "datasets--somebody--cats"
    (repository / "blobs").mkdir(parents=True)
    (repository / "blobs" / "0a1b").write_text("text\na cat\n")
    snapshot = repository / "snapshots" / "9f"
    snapshot.mkdir(parents=True)
    (snapshot / "train.csv").symlink_to("../../blobs/0a1b")
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(snapshot)
    assert lake.sql("SELECT text FROM captions").fetchall() == [("a cat",)]
