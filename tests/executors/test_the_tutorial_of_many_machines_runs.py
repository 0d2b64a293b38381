"""The commands of the tutorial on many machines run on clusters of processes, and print what is shown there."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile

import pytest
import typed
from spark_marks import QUIET


@pytest.mark.timeout(1800)
@QUIET
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="Spark is not installed")
def test_every_command_prints_what_is_shown(bucket, nodes, tmp_path, monkeypatch):
    """On a Ray of two nodes and a Spark of two workers, processes of this machine, in the place of the page's addresses."""
    monkeypatch.setenv("RAY_ADDRESS", nodes)
    monkeypatch.setenv("SPARK_MASTER", "local-cluster[2,1,1024]")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    typed.check(("docs/tutorials/many-machines.md",), tmp_path, [])


@pytest.fixture
def nodes(s3_lake, monkeypatch):
    """The address of a Ray of two nodes, which know how the store is asked; no other process finds it by itself."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    folder = tempfile.mkdtemp(prefix="ray-")  # its sockets need a short path
    monkeypatch.setenv("RAY_TMPDIR", folder)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    yield cluster.address
    cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
