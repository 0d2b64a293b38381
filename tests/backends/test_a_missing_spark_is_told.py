"""Where Spark cannot be had, the error says what is missing and what to do."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from counterbalance.engine.errors import RequestError


def test_pyspark_is_not_installed(lake, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    with pytest.raises(RequestError, match="PySpark, which is not installed") as caught:
        lake.session(engine="spark")
    assert caught.value.code == "E3470"
    assert "counterbalance[spark]" in caught.value.hint


@pytest.mark.slow
def test_no_java_answers(disk_lake, build, tmp_path):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["a"], width=[1], height=[2])})
    pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install counterbalance[spark]")
    command = [
        sys.executable,
        "-m",
        "counterbalance",
        "sql",
        disk_lake.uri,
        "SELECT count(*) FROM images",
        "--engine",
        "spark",
    ]
    env = {**os.environ, "JAVA_HOME": str(tmp_path / "nowhere")}
    ended = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "E3471" in ended.stderr
    assert "Java 17" in ended.stderr
