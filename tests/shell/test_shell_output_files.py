"""A result file is whole or not there."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from counterbalance.engine.errors import StorageError
from counterbalance.shell.output import SUFFIXES, OutputOptions, format_of, write

TABLE = pa.table({"a": [1, 2]})


def broken():
    def batches():
        yield TABLE.to_batches()[0]
        raise RuntimeError("half way")

    return pa.RecordBatchReader.from_batches(TABLE.schema, batches())


@pytest.mark.parametrize("format_", ["csv", "json", "parquet", "arrow", "table", "xlsx", "html"])
def test_a_failure_leaves_what_was_there(format_, tmp_path):
    path = tmp_path / "out.file"
    path.write_text("before")
    with pytest.raises(RuntimeError, match="half way"):
        write(broken(), OutputOptions(format_, path))
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_replaces(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("a much longer text than what comes")
    write(TABLE.to_reader(), OutputOptions("csv", path))
    assert path.read_text() == "a\n1\n2\n"


def test_append(tmp_path):
    path = tmp_path / "out.csv"
    for _ in range(2):
        write(TABLE.to_reader(), OutputOptions("csv", path, append=True))
    assert path.read_text() == "a\n1\n2\n" * 2


def test_no_such_folder(tmp_path):
    with pytest.raises(StorageError, match="No such file or directory") as caught:
        write(TABLE.to_reader(), OutputOptions("csv", tmp_path / "none" / "out.csv"))
    assert caught.value.code == "E6010"


def test_a_folder(tmp_path):
    with pytest.raises(StorageError, match="Is a directory"):
        write(TABLE.to_reader(), OutputOptions("csv", tmp_path))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk():
    with pytest.raises(StorageError, match="No space left on device"):
        write(TABLE.to_reader(), OutputOptions("csv", Path("/dev/full")))


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_a_pipe_is_written_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found = []
    reader = threading.Thread(target=lambda: found.append(path.read_text()))
    reader.start()
    write(TABLE.to_reader(), OutputOptions("csv", path))
    reader.join(10)
    assert found == ["a\n1\n2\n"]
    assert path.is_fifo()


def test_suffixes(tmp_path):
    assert all(format_of(tmp_path / f"x{s.upper()}") == f for s, f in SUFFIXES.items())
    assert format_of(tmp_path / "x") is None
