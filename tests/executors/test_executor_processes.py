"""Worker processes: what they print, what they may use, how they die, and that none is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest
from repeats import again

from counterbalance.engine.errors import FunctionError
from counterbalance.engine.executors import process_pool
from counterbalance.engine.executors.local import SMALL, Local
from counterbalance.engine.executors.protocol import Task


@pytest.fixture
def run(jobs, disk_lake, build):
    """Start a job over 200 texts in tasks of 100 rows with an executor; returns job and events."""
    jobs.captions(disk_lake, build, [f"text {i}" for i in range(200)])

    def start(sql, executor):
        job = jobs.job(disk_lake, sql)
        first, last = jobs.tasks(disk_lake, job, 100)
        return job, executor.run(job, [first, Task(1, 0, last.low, last.low + SMALL)])

    return start


def children():
    return [p for p in psutil.Process().children(recursive=True) if "executors.worker_main" in " ".join(cmdline(p))]


def cmdline(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def gone(pid, seconds=120.0):
    """Whether a process is no more within that time; one that nobody has waited for yet counts as gone."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def until(found, seconds=120.0):
    end = time.monotonic() + seconds
    while not found() and time.monotonic() < end:
        time.sleep(0.02)
    assert found()
    return found()


def test_functions_have_their_own_streams_and_their_share_of_the_cores(run, jobs, disk_lake, capfd, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    job, events = run("x_environment(text)", Local(workers=2))
    assert sum(e.rows for e in events) == 200
    told = {
        v.split(maxsplit=2)[1:] and tuple(v.split(maxsplit=2))
        for v in jobs.spooled(disk_lake, job)["value"].to_pylist()
    }
    assert {t[0] for t in told}.isdisjoint({str(os.getpid())})
    assert {t[1] for t in told} == {str(max(1, len(os.sched_getaffinity(0)) // 2))}
    assert {t[2] for t in told} == {"b''"}
    out, err = capfd.readouterr()
    assert not out
    assert "printed by a function" in err
    assert "written by a function" in err
    assert children() == []


@pytest.mark.parametrize("how", ["SIGSEGV", *again("exit")])
def test_the_task_of_a_worker_that_died_goes_to_a_fresh_one(how, run, jobs, disk_lake, tmp_path):
    job, events = run(f"x_dies(text, folder := '{tmp_path}', how := '{how}')", Local(workers=2))
    assert sum(e.done for e in events) == 2
    assert jobs.spooled(disk_lake, job)["value"].to_pylist() == [f"text {i}" for i in range(200)]
    calls = (tmp_path / "calls").read_text().split("\n")[:-1]
    assert sorted(calls) == sorted(f"text {i}" for i in range(200))
    assert children() == []


@pytest.mark.cases(1)
@pytest.mark.parametrize(("how", "said"), [("SIGKILL", "was ended by SIGKILL"), ("exit", "ended with exit code 7")])
def test_a_task_that_kills_every_worker_is_an_error(how, said, run, jobs, disk_lake, tmp_path):
    job, events = run(f"x_dies(text, folder := '{tmp_path}', how := '{how}', times := 99)", Local(workers=1))
    with pytest.raises(FunctionError, match=f"the worker {said}, 4 times, in fragment 0, _rowid 0 to 99") as caught:
        list(events)
    assert caught.value.code == "E8010"
    assert ("smaller batch size" in caught.value.hint) == (how == "SIGKILL")
    assert len(list(tmp_path.glob("died-*"))) == 4
    assert jobs.spooled(disk_lake, job)["row_id"].to_pylist() == list(range(48))
    assert children() == []


def test_closing_ends_all_workers_and_what_they_started_at_once(run, jobs, disk_lake, tmp_path):
    _, events = run(f"{{'a': x_hangs(text, folder := '{tmp_path}'), 'b': 1}}", Local(workers=2))
    import threading

    started = lambda: len([f for f in tmp_path.glob("started-*") if f.read_text()]) == 2  # noqa: E731
    threading.Thread(target=lambda: (until(started), os.kill(os.getpid(), 2))).start()
    with pytest.raises(KeyboardInterrupt):
        list(events)
    for file in tmp_path.glob("started-*"):
        assert not psutil.pid_exists(int(file.name.split("-")[1]))
        assert gone(int(file.read_text()))
    assert children() == []


def test_a_worker_that_leaves_a_process_behind_is_seen_dead(run, jobs, disk_lake, tmp_path):
    """The process that it left holds the pipe, so that no end of events comes."""
    job, events = run(f"x_forks(text, folder := '{tmp_path}')", Local(workers=1))
    assert sum(e.done for e in events) == 2
    assert len(jobs.spooled(disk_lake, job)) == 200
    assert children() == []


def test_a_worker_that_cannot_be_closed_is_killed(run, monkeypatch):
    monkeypatch.setattr(process_pool, "PATIENCE", 0.5)
    _, events = run("x_stays(text)", Local(workers=2))
    assert sum(e.done for e in events) == 2
    assert children() == []


def test_an_early_stop_ends_all_workers(run):
    _, events = run("x_vowels(text)", Local(workers=2))
    next(events)
    assert children()
    events.close()
    assert children() == []


def test_workers_end_when_their_parent_is_killed(jobs, disk_lake, build, tmp_path, spawn):
    jobs.captions(disk_lake, build, [f"text {i}" for i in range(200)])
    job = jobs.job(disk_lake, f"x_hangs(text, folder := '{tmp_path}')")
    parent = spawn("run_job", "local", job.to_json(), 2, 0, 99, 100, 100_000)
    until(lambda: len([f for f in tmp_path.glob("started-*") if f.read_text()]) == 2)
    workers = [int(f.name.split("-")[1]) for f in tmp_path.glob("started-*")]
    assert all(psutil.pid_exists(w) for w in workers)
    parent.kill()
    parent.wait()
    assert all(gone(w) for w in workers)
    for file in tmp_path.glob("started-*"):
        os.kill(int(file.read_text()), 9)


def test_closed_streams_of_the_parent_do_no_harm(jobs, disk_lake, build, project_root):
    jobs.captions(disk_lake, build, [f"text {i}" for i in range(200)])
    job = jobs.job(disk_lake, "x_environment(text)")
    program = project_root / "tests" / "programs" / "run_job.py"
    command = [sys.executable, str(program), "local", job.to_json(), "2", "0", "99", "100", "199"]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command], check=False, cwd="/")
    assert done.returncode == 0
    assert len(jobs.spooled(disk_lake, job)) == 200


def test_a_worker_imports_nothing_heavy_before_it_knows_its_job():
    heavy = "import sys, counterbalance.engine.executors.worker_main; print({m for m in sys.modules} & {'lance', 'duckdb', 'pandas'})"
    done = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.strip() == "set()"
