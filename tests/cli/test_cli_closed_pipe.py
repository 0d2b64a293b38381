"""A reader that has seen enough (``| head``) is not an error."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.cases(2)
@pytest.mark.parametrize("format_", ["table", "csv", "json", "parquet"])
def test_closed_pipe(format_, lake, disk_lake, build, tmp_path):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "counterbalance",
            "sql",
            disk_lake.uri,
            "SELECT range AS i, hash(range) AS h FROM range(3000000)",
            "--format",
            format_,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    process.stdout.read(3)
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 0
    assert err == b""
