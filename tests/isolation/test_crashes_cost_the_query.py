"""A function that crashes, and a worker that is killed, cost their query; the process and the session go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from repeats import again

from counterbalance.engine import memory
from counterbalance.engine.errors import CounterbalanceError, FunctionError, LimitError
from counterbalance.engine.isolation import process

COUNT = "SELECT count(*) FROM images"


def workers():
    return [worker._process.pid for worker in process._all if worker.users]


def test_a_function_that_crashes(folder_lake, misbehaving):
    with folder_lake.session(isolated=True) as session:
        for _ in range(2):
            with pytest.raises(FunctionError, match="SIGSEGV") as caught:
                session.sql("SELECT t_double(image_id), t_crash(image_id) FROM images").fetchall()
            assert caught.value.code == "E8012"
            assert f"t_crash() at {misbehaving}, line 10" in caught.value.message
            assert session.sql("SELECT max(t_double(image_id)) FROM images").fetchall() == [(126,)]


def test_a_crash_while_another_answer_is_half_read(folder_lake, misbehaving):
    with folder_lake.session(isolated=True) as session:
        rows = iter(session.sql("SELECT range FROM range(10000000)"))
        assert next(rows) == (0,)
        with pytest.raises(FunctionError):
            session.sql("SELECT t_crash(image_id) FROM images").fetchall()
        with pytest.raises(CounterbalanceError, match="ended with another query") as caught:
            list(rows)
        assert caught.value.code == "E9002"
        assert session.sql(COUNT).fetchall() == [(64,)]


def test_a_worker_that_the_system_ends(folder_lake):
    with folder_lake.session(isolated=True) as session:
        result = session.sql(COUNT)
        rows = iter(session.sql("SELECT range FROM range(100000000)"))
        next(rows)
        (pid,) = workers()
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(LimitError, match="SIGKILL") as caught:
            list(rows)
        assert caught.value.code == "E5006"
        assert result.fetchall() == [(64,)]  # planned again


def test_a_worker_that_somebody_ends(folder_lake):
    with folder_lake.session(isolated=True) as session:
        rows = iter(session.sql("SELECT range FROM range(100000000)"))
        next(rows)
        (pid,) = workers()
        os.kill(pid, signal.SIGTERM)
        with pytest.raises(CounterbalanceError, match="SIGTERM") as caught:
            list(rows)
        assert caught.value.code == "E9001"
        assert session.sql(COUNT).fetchall() == [(64,)]


def test_an_interrupt_of_a_function_that_does_not_listen(folder_lake, misbehaving):
    with folder_lake.session(isolated=True) as session:
        session.sql(COUNT).fetchall()
        timer = threading.Timer(0.5, session.interrupt)
        timer.start()
        with pytest.raises(LimitError, match="cancelled") as caught:
            session.sql("SELECT t_hang(image_id) FROM images").fetchall()
        timer.join()
        assert caught.value.code == "E5004"
        assert session.sql(COUNT).fetchall() == [(64,)]


def test_ctrl_c(folder_lake, misbehaving):
    with folder_lake.session(isolated=True) as session:
        session.sql(COUNT).fetchall()
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.sql("SELECT t_hang(image_id) FROM images").fetchall()
        timer.join()
        assert session.sql(COUNT).fetchall() == [(64,)]


@pytest.mark.parametrize(
    "end", ["", "os.kill(os.getpid(), 9)", *again("os._exit(3)")], ids=["quietly", "killed", "at once"]
)
def test_workers_end_with_their_process(folder_lake, tmp_path, end):
    program = f"""
import os, counterbalance as cb
from counterbalance.engine.isolation import process
session = cb.connect({folder_lake.uri!r}).session(isolated=True, memory="300MB")
rows = iter(session.sql("SELECT range FROM range(1000000000)"))
next(rows)
print(*[w._process.pid for w in process._all], flush=True)
{end}
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=500, check=False
    )
    pids = [int(word) for word in done.stdout.split()]
    assert pids, done.stderr
    until = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert not [*Path(tempfile.gettempdir()).glob(f"counterbalance-spill-{pids[0]}-*")]


def test_many_queries(folder_lake, record_property):
    """None fails, none leaves anything behind, and workers are few."""
    folder_lake.sql("SELECT 1", timeout=60).fetchall()  # what is imported for the first one stays
    before = memory.resident(os.getpid())
    count = int(os.environ.get("COUNTERBALANCE_STATEMENTS", "60"))
    for number in range(count):
        result = folder_lake.sql("SELECT $n + count(*) AS n FROM images", n=number, timeout=60)
        assert result.fetchall() == [(number + 64,)]
    record_property("queries", count)
    assert len(process._all) <= 3
    assert memory.resident(os.getpid()) - before < 100 << 20


def test_unread_results_need_no_worker_each(folder_lake):
    results = [folder_lake.sql(f"SELECT {n} AS n", isolated=True) for n in range(20)]
    assert len(process._all) <= 3
    assert [r.fetchall() for r in results] == [[(n,)] for n in range(20)]


def test_a_forked_child_leaves_the_workers_alone(folder_lake):
    with folder_lake.session(isolated=True) as session:
        rows = iter(session.sql("SELECT range FROM range(100000)"))
        next(rows)
        child = os.fork()
        if not child:
            os._exit(0 if not process._all and not process._idle else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert sum(1 for _ in rows) == 99_999
