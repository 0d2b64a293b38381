"""A Spark that we start writes what it shuffles where other users can read, and writes it encrypted."""

from __future__ import annotations

import os
import shutil

import pytest

pytestmark = pytest.mark.slow


def test_nothing_is_readable(disk_lake, build, spawn, tmp_path):
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Spark needs Java, and there is none: install a JRE, such as openjdk-17-jre-headless")
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install counterbalance[spark]")
    ids = list(range(40))
    disk_lake.ingest({"images": build.images(image_id=ids, key=[str(i) for i in ids])})
    for number, attribute in enumerate(("perceived_gender", "scene")):  # of two parts, which must be put together
        rows = {"attribute": [attribute] * 40, "value": [f"MARK{i % 3}" for i in ids], "annotator": ["x"] * 40}
        disk_lake.ingest({"labels": build.labels(label_id=[100 * number + i for i in ids], image_id=ids, **rows)})
    out, err = spawn("group_on_spark", disk_lake.uri, tmp_path / "temporary", "MARK").communicate(timeout=120)
    assert out, err
    files, readable = map(int, out.split())
    assert files > 0
    assert readable == 0
