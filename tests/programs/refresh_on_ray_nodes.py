"""Refresh ``captions.node`` of a lake on a Ray cluster of three nodes, and kill one of them once each has computed something.

Arguments: URI of the lake, file of the function. Prints a line of JSON once the node is known to be gone: how the
refresh ended, and whether the node was killed before.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import tempfile
import threading
import time

os.environ["RAY_TMPDIR"] = tempfile.mkdtemp(
    prefix="ray-"
)  # other processes would join a cluster that they find in Ray's own

import ray
from ray.cluster_utils import Cluster

import counterbalance as cb
from counterbalance.engine.progress import Progress


def main() -> None:
    lake, file = cb.connect(sys.argv[1]), sys.argv[2]
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    others = [nodes.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=nodes.address, log_to_driver=False, logging_level=logging.ERROR)
    began = threading.Event()

    def kill() -> None:
        began.wait()
        nodes.remove_node(others[0], allow_graceful=False)

    def told(progress: Progress) -> None:
        if progress.done >= 60:
            began.set()

    thread = threading.Thread(target=kill)
    thread.start()
    report = lake.refresh(executor="ray", workers=3, udfs=(file,), progress=told)
    early = began.is_set()
    began.set()
    thread.join()
    while sum(node["Alive"] for node in ray.nodes()) > 2:
        time.sleep(0.1)
    (stage,) = report.stages
    sys.stdout.write(json.dumps({"mode": report.mode, "errors": stage.errors, "killed": early}) + "\n")
    sys.stdout.flush()
    ray.shutdown()
    nodes.shutdown()
    shutil.rmtree(os.environ["RAY_TMPDIR"], ignore_errors=True)


main()
