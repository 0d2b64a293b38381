"""Which Ray cluster is joined: the one that is named or was started for all, never another process's own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

JOIN = """
from counterbalance.engine.errors import RequestError
from counterbalance.engine.executors.ray import cluster
try:
    with cluster(1):
        import ray
        print(ray.get_runtime_context().gcs_address, int(ray.cluster_resources()["CPU"]))
except RequestError as error:
    print(error.code)
"""


@pytest.fixture
def joined(ray_cluster):
    def run(**environment):
        plain = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
        done = subprocess.run(
            [sys.executable, "-c", JOIN],
            env=plain | environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


def here():
    import ray

    return ray.get_runtime_context().gcs_address


@pytest.mark.thorough
def test_the_own_cluster_of_another_process_is_left_alone(joined):
    address, cpus = joined()
    assert (address != here(), cpus) == (True, "1")


def test_the_one_that_is_named_is_joined(joined):
    assert joined(RAY_ADDRESS=here()) == [here(), "2"]


def test_a_name_where_none_answers_is_an_error(joined):
    assert joined(RAY_ADDRESS="127.0.0.1:1") == ["E3469"]
