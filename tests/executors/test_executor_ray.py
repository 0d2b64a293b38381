"""Ray actors as workers: lost ones are replaced, none is left, and Ray itself is quiet."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import psutil
import pytest

from counterbalance.engine.errors import FunctionError, RequestError
from counterbalance.engine.executors import registry

TEXTS = [f"text {i}" for i in range(200)]


@pytest.fixture
def started(jobs, disk_lake, build, ray_cluster):
    jobs.captions(disk_lake, build, TEXTS)

    def start(sql, **options):
        job = jobs.job(disk_lake, sql)
        return job, registry.executor("ray", workers=2, **options).run(job, jobs.tasks(disk_lake, job, 50))

    return start


def actors():
    return [p for p in psutil.Process().children(recursive=True) if "Slot" in " ".join(name(p))]


def name(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def some_started(seconds=120.0):
    """Whether a worker shows; a process gets its title a little after it began."""
    end = time.monotonic() + seconds
    while not actors() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(actors())


def none_left(seconds=120.0):
    end = time.monotonic() + seconds
    while actors() and time.monotonic() < end:
        time.sleep(0.05)
    return not actors()


def test_a_worker_that_is_killed_mid_task_is_replaced(started, jobs, disk_lake, tmp_path, capfd):
    job, events = started(f"x_dies(text, folder := '{tmp_path}', how := 'exit')")
    assert sum(e.done for e in events) == 4
    assert jobs.spooled(disk_lake, job)["value"].to_pylist() == TEXTS
    assert len(list(tmp_path.glob("died-*"))) == 1
    assert sorted((tmp_path / "calls").read_text().split("\n")[:-1]) == sorted(TEXTS)
    assert none_left()
    assert not capfd.readouterr().out


@pytest.mark.thorough
def test_a_task_that_kills_every_worker_is_an_error(started, tmp_path):
    _, events = started(f"x_dies(text, folder := '{tmp_path}', how := 'exit', times := 99)")
    with pytest.raises(
        FunctionError, match=r"the worker was lost .*, 4 times, in fragment 0, _rowid 50 to 99"
    ) as caught:
        list(events)
    assert caught.value.code == "E8010"
    assert none_left()


def test_models_are_opened_and_closed_in_every_worker(started, jobs, disk_lake, tmp_path):
    job, events = started(f"x_device(text, folder := '{tmp_path}', devices := 1)", device="cpu")
    assert sum(e.done for e in events) == 4
    assert set(jobs.spooled(disk_lake, job)["value"].to_pylist()) == {"cpu"}
    opened, closed = (sorted((tmp_path / f"{what}-cpu").read_text().split()) for what in ("open", "close"))
    assert opened == closed
    assert none_left()


def test_an_early_stop_ends_all_workers(started, tmp_path):
    _, events = started("x_vowels(text)")
    assert next(events).rows
    assert some_started()
    events.close()
    assert none_left()


def test_what_cannot_leave_the_process_is_refused(jobs, empty_lake, build, ray_cluster):
    jobs.captions(empty_lake, build, ["a text"])
    job = jobs.job(empty_lake, "x_vowels(text)")
    with pytest.raises(RequestError, match="the lake lives in its memory") as caught:
        list(registry.executor("ray").run(job, jobs.tasks(empty_lake, job)))
    assert caught.value.code == "E3464"


def test_gpus_that_the_cluster_lacks_are_an_error(started, tmp_path):
    import ray

    if ray.cluster_resources().get("GPU"):
        pytest.skip("this machine has a GPU")
    _, events = started(f"x_device(text, folder := '{tmp_path}', devices := 1)", device="cuda")
    with pytest.raises(RequestError, match="the Ray cluster has no GPU") as caught:
        list(events)
    assert caught.value.code == "E3462"


@pytest.mark.thorough
def test_a_cluster_of_its_own_ends_with_the_job(jobs, disk_lake, build, spawn):
    jobs.captions(disk_lake, build, TEXTS)
    job = jobs.job(disk_lake, "x_environment(text)")
    process = spawn("run_job", "ray", job.to_json(), 2, 0, 99, 100, 199)
    out, err = process.communicate(timeout=500)
    assert (process.returncode, out) == (0, ""), err
    assert "usage stat" not in err.lower()
    assert len(jobs.spooled(disk_lake, job)) == 200


@pytest.mark.thorough
def test_a_lake_on_an_object_store(jobs, s3_lake, build, ray_cluster):
    jobs.captions(s3_lake, build, TEXTS[:20])
    there = {  # the cluster was up before: its workers have another environment
        "aws_endpoint": os.environ["AWS_ENDPOINT_URL"],
        "aws_access_key_id": os.environ["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"],
        "region": os.environ["AWS_DEFAULT_REGION"],
        "allow_http": "true",
    }
    job = replace(jobs.job(s3_lake, "x_vowels(text)"), storage_options=there)
    events = list(registry.executor("ray", workers=2).run(job, jobs.tasks(s3_lake, job, 10)))
    assert (sum(e.done for e in events), sum(e.rows for e in events)) == (2, 20)
    assert sorted(jobs.spooled(s3_lake, job)["value"].to_pylist()) == sorted(
        sum(c in "aeiou" for c in t) / (len(t) + 0.1) for t in TEXTS[:20]
    )
