"""A part of a spool that cannot be read is an error that names it, and what was computed stays; only cut batches go."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from counterbalance.engine.executors import spool as spools

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.engine.lake import Lake

ROWS = 40


@pytest.fixture(params=["disk_lake", "empty_lake"])
def texts(request, build) -> Lake:
    """40 captions in four fragments, on disk and in memory."""
    lake = request.getfixturevalue(request.param)
    lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    for first in range(0, ROWS, 10):
        ids = list(range(first, first + 10))
        rows = build.captions(caption_id=ids, image_id=[1] * 10, text=["t" * (i + 1) for i in ids])
        lake.ingest({"captions": rows})
    return lake


@pytest.fixture
def size(texts, row_function) -> Any:
    function = row_function("x_size", len)
    texts.sql("ALTER TABLE captions ADD COLUMN c AS (x_size(text))")
    return function


def break_reads(monkeypatch, lake: Lake, fails: Callable[[str], bool]) -> None:
    """Let the reads of these files fail, as a disk or a network does."""
    system, _ = lake.location.files()
    mapped, fetched = pa.memory_map, type(system).cat_file

    def check(path: str) -> None:
        if path.endswith(spools.SUFFIX) and fails(path):
            raise OSError(errno.EIO, "Input/output error", path)

    def memory_map(path, *more):
        check(path)
        return mapped(path, *more)

    def cat_file(self, path, *more, **options):
        check(path)
        return fetched(self, path, *more, **options)

    monkeypatch.setattr(spools.pa, "memory_map", memory_map)
    monkeypatch.setattr(type(system), "cat_file", cat_file)


def parts(lake: Lake) -> list[str]:
    return [f"{s.folder}/{f}" for s in spools.rounds(lake.location, "captions.c") for f in s.files()]


def values(lake: Lake) -> list[int]:
    return [v for (v,) in lake.sql("SELECT c FROM captions ORDER BY caption_id").fetchall()]


def refresh(lake: Lake) -> Any:
    return lake.refresh("captions.c", executor="inline", batch_size=10).stages[0]


def test_each_part_fails_once_and_no_row_is_computed_twice(texts, size, monkeypatch):
    seen: set[str] = set()
    with monkeypatch.context() as patch:
        break_reads(patch, texts, lambda path: path not in seen and not seen.add(path))
        for _ in range(4):
            stage = refresh(texts)
            assert (stage.mode, stage.code) == ("failed", "E6040")
            assert "Input/output error" in stage.message
            assert any(part in stage.message for part in parts(texts))
            assert stage.hint
            assert len(parts(texts)) == 4
        stage = refresh(texts)
    assert (stage.mode, stage.message) == ("rebuild", "")
    assert len(size.taken()) == ROWS
    assert values(texts) == list(range(1, ROWS + 1))
    assert parts(texts) == []


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(texts, size, monkeypatch):
    with monkeypatch.context() as patch:
        break_reads(patch, texts, lambda path: True)
        assert refresh(texts).mode == "failed"
    system, _ = texts.location.files()

    def refuse(self, path, *more, **options):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    with monkeypatch.context() as patch:
        patch.setattr(type(system), "ls", refuse)
        patch.setattr(type(system), "exists", lambda self, path, **options: False)
        stage = refresh(texts)
    assert (stage.mode, stage.code) == ("failed", "E6040")
    assert "Permission denied" in stage.message
    refresh(texts)
    assert len(size.taken()) == ROWS


def test_a_damaged_part_is_named_and_stays(disk_lake, build, row_function, monkeypatch):
    row_function("x_size", len)
    rows = build.captions(caption_id=range(30), image_id=[1] * 30, text=["t"] * 30)
    disk_lake.ingest({"images": build.images(image_id=[1], key=["1"]), "captions": rows})
    disk_lake.sql("ALTER TABLE captions ADD COLUMN c AS (x_size(text))")
    with monkeypatch.context() as patch:
        break_reads(patch, disk_lake, lambda path: True)
        assert refresh(disk_lake).mode == "failed"
    [part] = parts(disk_lake)
    path = Path(disk_lake.uri) / part
    whole = path.read_bytes()
    for start in (0, 8):
        mark = whole.index(b"\xff\xff\xff\xff", start)
        path.write_bytes(whole[:mark] + bytes(64) + whole[mark + 64 :])
        stage = refresh(disk_lake)
        assert (stage.mode, stage.code) == ("failed", "E6041")
        assert str(path) in stage.message
        assert path.exists()
    lost = disk_lake.refresh("captions.c", executor="inline", full=True).stages[0]
    assert lost.mode == "rebuild"
    assert values(disk_lake) == [1] * 30


def test_a_cut_batch_is_computed_again_and_that_is_said(disk_lake, build, row_function, monkeypatch):
    function = row_function("x_size", len)
    rows = build.captions(caption_id=range(30), image_id=[1] * 30, text=["t"] * 30)
    disk_lake.ingest({"images": build.images(image_id=[1], key=["1"]), "captions": rows})
    disk_lake.sql("ALTER TABLE captions ADD COLUMN c AS (x_size(text))")
    with monkeypatch.context() as patch:
        break_reads(patch, disk_lake, lambda path: True)
        assert refresh(disk_lake).mode == "failed"
    [part] = parts(disk_lake)
    path = Path(disk_lake.uri) / part
    path.write_bytes(path.read_bytes()[:-5])
    function.taken()
    stage = refresh(disk_lake)
    assert len(function.taken()) == 10
    assert "1 parts" in stage.message
    assert "computed again" in stage.message
    assert values(disk_lake) == [1] * 30
    assert parts(disk_lake) == []
