"""Executors are found by name, anyone's too; ``local`` decides by itself whether a job leaves the process."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from itertools import count

import pyarrow as pa
import pytest

from counterbalance.engine import plugins
from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.executors import registry
from counterbalance.engine.executors.local import SMALL, Local
from counterbalance.engine.executors.protocol import Task
from counterbalance.engine.functions import udf

_names = count()
THREADS = """
from concurrent.futures import ThreadPoolExecutor
from counterbalance.engine.executors.worker import Worker

class Threads:
    def __init__(self, workers, device):
        self.workers = workers or 2

    def run(self, job, tasks):
        def one(task):
            worker = Worker(job)
            try:
                return list(worker.run(task))
            finally:
                worker.close()

        with ThreadPoolExecutor(self.workers) as pool:
            for events in pool.map(one, tasks):
                yield from events
"""


@pytest.fixture
def where(jobs, build):
    """Process ids that computed a job of 100 rows, and notes of the events."""

    def run(lake, executor, sql="x_environment(text)", rows=100):
        if lake.location.is_memory or not lake.location.path.exists():
            jobs.captions(lake, build, [f"text {i}" for i in range(100)])
        job = jobs.job(lake, sql)
        [whole] = jobs.tasks(lake, job)
        events = list(executor.run(job, [Task(0, whole.fragment, 0, rows - 1)]))
        assert sum(e.rows for e in events) == 100
        values = jobs.spooled(lake, job)["value"].to_pylist()
        return {int(v.split()[0]) for v in values}, [e.note for e in events if e.note]

    return run


def test_a_small_job_of_one_worker_stays(where, disk_lake):
    assert where(disk_lake, Local()) == ({os.getpid()}, [])
    assert where(disk_lake, Local(workers=1), rows=SMALL) == ({os.getpid()}, [])


def test_a_large_job_leaves(where, disk_lake):
    pids, notes = where(disk_lake, Local(), rows=SMALL + 1)
    assert os.getpid() not in pids
    assert notes == []


def test_more_workers_leave(where, disk_lake):
    assert os.getpid() not in where(disk_lake, Local(workers=2))[0]


def test_a_lake_in_memory_stays(where, empty_lake):
    assert where(empty_lake, Local(workers=2)) == (
        {os.getpid()},
        ["one worker, in this process: the lake lives in its memory"],
    )


def test_a_function_of_this_process_stays(where, disk_lake):
    name = f"x_here_{next(_names)}"

    @udf(returns=pa.string(), parameters={"text": pa.string()}, version="1", name=name)
    def here(text):
        return pa.array([str(os.getpid())] * len(text))

    pids, [note] = where(disk_lake, Local(workers=2), f"{name}(text)")
    assert pids == {os.getpid()}
    assert note == f"one worker, in this process: {name}() is declared in it; name a file of functions to use more"


MODULE = """
import os
import pyarrow as pa
from counterbalance.engine.functions import udf

@udf(returns=pa.string(), parameters={{"text": pa.string()}}, version="1", name="{0}")
def there(text):
    return pa.array([str(os.getpid())] * len(text))

def later():
    @udf(returns=pa.string(), parameters={{"text": pa.string()}}, version="1", name="{0}_later")
    def there(text):
        return pa.array([str(os.getpid())] * len(text))
"""


@pytest.mark.parametrize("package", ["", "packaged_{}."])
def test_a_function_of_a_module_that_can_be_imported_leaves(package, where, disk_lake, tmp_path, monkeypatch):
    name = f"x_there_{next(_names)}"
    folder = package.format(name)
    path = tmp_path / "site" / folder.removesuffix(".") / f"module_{name}.py"
    path.parent.mkdir(parents=True)
    path.write_text(MODULE.format(name))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    module = importlib.import_module(f"{folder}module_{name}")
    assert os.getpid() not in where(disk_lake, Local(workers=2), f"{name}(text)")[0]
    module.later()
    assert where(disk_lake, Local(workers=2), f"{name}_later(text)")[0] == {os.getpid()}
    path.unlink()
    assert where(disk_lake, Local(workers=2), f"{name}(text)")[0] == {os.getpid()}


def test_an_executor_is_one_class(where, disk_lake, tmp_path, monkeypatch):
    (tmp_path / "site" / "toy-1.dist-info").mkdir(parents=True)
    (tmp_path / "site" / "toy_threads.py").write_text(THREADS)
    (tmp_path / "site" / "toy-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
    (tmp_path / "site" / "toy-1.dist-info" / "entry_points.txt").write_text(
        "[counterbalance.executors]\nthreads = toy_threads:Threads\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr(plugins, "_all", plugins._all.__wrapped__)
    monkeypatch.setattr(registry, "by_name", plugins.by_name.__wrapped__)
    assert registry.names() == ["inline", "local", "ray", "threads"]
    assert where(disk_lake, registry.executor("threads", workers=3))[0] == {os.getpid()}


def test_names_that_are_not_there():
    with pytest.raises(NotFoundError, match="no executor 'locl'; did you mean 'local'") as caught:
        registry.executor("locl")
    assert caught.value.hint == "executors: inline, local, ray"


@pytest.mark.parametrize(
    ("given", "code"), [({"workers": 0}, "E3460"), ({"device": "gpu"}, "E3461"), ({"device": "cuda:"}, "E3461")]
)
def test_what_cannot_be(given, code):
    with pytest.raises(RequestError) as caught:
        registry.executor("local", **given)
    assert caught.value.code == code


def test_ray_that_is_not_installed():
    program = """
import sys
sys.modules["ray"] = None
from counterbalance.engine.errors import RequestError
from counterbalance.engine.executors.registry import executor
try:
    executor("ray")
except RequestError as error:
    print(error.code, error.hint)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.strip() == "E3463 pip install 'counterbalance[ray]'"
