"""The commands of the tutorials run, in order, in an empty folder, without a network, and print what is shown there."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile

import pytest
import typed
from spark_marks import QUIET

AUDITING, KEEPING = (
    tuple(f"docs/tutorials/{name}.md" for name in names)
    for names in (
        ("coco", "captions-csv", "images-to-labels", "contrast-set", "model-bias"),
        ("coco", "schedule", "ci", "papers", "hugging-face"),
    )
)
"""They go on with the lake of the first."""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("files", [AUDITING, KEEPING], ids=["auditing", "keeping"])
def test_every_command_prints_what_is_shown(files, tmp_path, without_network):
    typed.check(files, tmp_path, without_network)


@pytest.mark.timeout(1800)
def test_every_command_of_a_lake_on_s3_prints_what_is_shown(bucket, tmp_path):
    """In a bucket of this machine, so that the network may be asked."""
    typed.check(("docs/tutorials/s3.md",), tmp_path, [])


@pytest.mark.timeout(1800)
@QUIET
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="Spark is not installed")
def test_every_command_of_many_machines_prints_what_is_shown(bucket, nodes, tmp_path, monkeypatch):
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


@pytest.fixture
def bucket(s3_endpoint, s3_lake):
    """One that is called ``bucket``, beside that of a lake whose credentials are used."""
    import s3fs

    s3fs.S3FileSystem(endpoint_url=s3_endpoint, skip_instance_cache=True).mkdir("bucket")
