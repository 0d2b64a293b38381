"""Models go to GPUs when there are any: one worker each, asked for in the worker, never in the parent."""

from __future__ import annotations

import sys

import pytest
from repeats import again

from counterbalance.engine.errors import RequestError
from counterbalance.engine.executors import devices
from counterbalance.engine.executors.inline import Inline
from counterbalance.engine.executors.local import SMALL, Local
from counterbalance.engine.executors.protocol import Task

TORCH = """
class cuda:
    @staticmethod
    def is_available():
        return {count} > 0

    @staticmethod
    def device_count():
        return {count}
"""


@pytest.fixture
def torch_with(tmp_path, monkeypatch):
    """A torch that sees so many GPUs, where workers look for modules."""

    def make(count):
        folder = tmp_path / "site"
        folder.mkdir()
        (folder / "torch.py").write_text(TORCH.format(count=count))
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, "torch", raising=False)

    yield make
    sys.modules.pop("torch", None)


@pytest.fixture
def devices_of(jobs, disk_lake, build, tmp_path):
    """Devices that the rows of a job were computed on, and where models were opened and closed."""
    jobs.captions(disk_lake, build, [f"text {i}" for i in range(40)])

    def run(executor, count, sql="x_device(text, folder := '{}', devices := {})"):
        job = jobs.job(disk_lake, sql.format(tmp_path, count))
        tasks = jobs.tasks(disk_lake, job, 10)
        tasks[-1] = Task(3, 0, tasks[-1].low, tasks[-1].low + SMALL)
        assert sum(e.done for e in executor.run(job, tasks)) == 4
        opened, closed = (sorted(f.name.split("-")[1] for f in tmp_path.glob(f"{w}-*")) for w in ("open", "close"))
        assert opened == closed
        return sorted(set(jobs.spooled(disk_lake, job)["value"].to_pylist())), opened

    return run


def test_one_worker_for_every_gpu(devices_of, torch_with):
    torch_with(2)
    assert devices_of(Local(), 2) == (["cuda:0", "cuda:1"],) * 2
    assert "torch" not in sys.modules


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("wish", "found"),
    [
        *(("cuda", ["cuda:0", "cuda:1"]), ("cuda:0,2", ["cuda:0", "cuda:2"])),
        *again(("cuda", ["cuda:0", "cuda:1", "cuda:2"]), ("cuda:1", ["cuda:1"])),
    ],
)
def test_some_of_the_gpus(devices_of, torch_with, wish, found):
    torch_with(len(found) if wish == "cuda" else 3)
    assert devices_of(Local(device=wish), len(found))[0] == found


@pytest.mark.parametrize("wish", ["cuda:3", "cuda:0,3", "cuda:", "cuda:0,", "cuda0", "gpu", "cudas"])
def test_gpus_that_are_not_there(torch_with, wish):
    torch_with(3)
    with pytest.raises(RequestError, match="no device") as caught:
        devices.available(wish, wants=True)
    assert caught.value.code == "E3462"


def test_workers_may_share_a_gpu(devices_of, torch_with, tmp_path):
    torch_with(1)
    assert devices_of(Local(workers=2), 1)[0] == ["cuda:0"]
    assert "torch" not in sys.modules


def test_a_gpu_of_ones_choice(devices_of, torch_with):
    torch_with(3)
    assert devices_of(Local(device="cuda:2"), 1) == (["cuda:2"],) * 2


@pytest.mark.cases(1)
@pytest.mark.parametrize("executor", [Local(device="cpu"), Local(), Inline()])
def test_without_a_gpu_it_is_the_cpu(executor, devices_of, torch_with):
    torch_with(0)
    assert devices_of(executor, 1) == (["cpu"],) * 2


def test_inline_takes_the_first(devices_of, torch_with):
    torch_with(2)
    assert devices_of(Inline(), 1) == (["cuda:0"],) * 2


@pytest.mark.parametrize("executor", [Local, Inline])
@pytest.mark.parametrize("wish", ["cuda:1", *again("cuda")])
def test_a_gpu_that_is_not_there_is_an_error(executor, wish, devices_of, torch_with):
    torch_with(0)
    with pytest.raises(
        RequestError, match=f"no device '{wish}': torch is not installed here, or sees no GPU"
    ) as caught:
        devices_of(executor(device=wish), 1)
    assert caught.value.code == "E3462"


def test_a_gpu_beyond_those_there_is_an_error(torch_with):
    torch_with(2)
    with pytest.raises(RequestError, match="no device 'cuda:2': torch sees 2 here"):
        devices.available("cuda:2", wants=True)


@pytest.mark.parametrize("wish", ["auto", "cuda", "cuda:1"])
def test_functions_of_the_cpu_never_ask_for_torch(wish, devices_of, torch_with, jobs):
    torch_with(1)
    assert devices.available(wish, wants=False) == ["cpu"]
    assert "torch" not in sys.modules
