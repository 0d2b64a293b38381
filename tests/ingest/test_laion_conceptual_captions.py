"""Conceptual Captions' headerless files are known by themselves; the real one is read whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.laion import read

DATA = Path(os.environ.get("COUNTERBALANCE_DATA") or Path(__file__).parents[3] / "shared" / "data")


def test_two_columns_without_header(tmp_path):
    path = tmp_path / "Train_GCC-training.tsv"
    path.write_text('a "b" c\thttp://h/1.jpg\n"open\thttp://h/2.jpg\none cell\n\thttp://h/3.jpg\nd\thttp://h/1.jpg\n')
    (chunk,) = read(str(path), ReadOptions()).chunks
    assert chunk.tables["captions"]["text"].to_pylist() == ['a "b" c', '"open', "d"]
    assert chunk.tables["images"]["uri"].to_pylist() == ["http://h/1.jpg", "http://h/2.jpg"]
    assert chunk.tables["images"]["split"].to_pylist() == ["train"] * 2
    assert [(r.position, r.code) for r in chunk.rejects] == [("line 3", "bad_columns"), ("line 4", "missing_caption")]
    assert list(chunk.positions["captions"]) == ["line 1", "line 2", "line 5"]


def test_two_columns_without_header_and_without_url_are_an_error(tmp_path):
    (tmp_path / "a.tsv").write_text("a\tb\nc\td\n")
    with pytest.raises(SourceError, match="no caption column; its columns are: a, b"):
        read(str(tmp_path / "a.tsv"), ReadOptions())


def test_the_real_file():
    path = DATA / "gcc" / "validation-8000.tsv"
    if not path.exists():
        pytest.skip(f"no real data at {DATA}; set COUNTERBALANCE_DATA")
    chunks = list(read(str(path), ReadOptions()).chunks)
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line]
    captions = [c for k in chunks for c in k.tables["captions"]["text"].to_pylist()]
    assert captions == [c for c, _ in lines]
    assert [u for k in chunks for u in k.tables["images"]["key"].to_pylist()] == [u for _, u in lines]
    assert sum(len(k.rejects) for k in chunks) == 0
    assert sum(k.rows_read for k in chunks) == len(lines) == 8000
