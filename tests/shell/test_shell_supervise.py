"""Work in a thread of its own: results, errors, limits and Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from counterbalance.engine.errors import LimitError
from counterbalance.shell import stopwatch
from counterbalance.shell.supervise import Stopwatch, supervise


def no_interrupt():
    pytest.fail("nobody should have interrupted")


def test_result():
    assert supervise(threading.get_ident, interrupt=no_interrupt) != threading.get_ident()


def test_errors_come_through():
    def work():
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        supervise(work, interrupt=no_interrupt, limit=5)


def test_the_limit_interrupts():
    stop, watch = threading.Event(), Stopwatch()
    with pytest.raises(LimitError, match=r"after 0\.2 s") as caught:
        supervise(stop.wait, interrupt=stop.set, limit=0.2, watch=watch)
    assert caught.value.code == "E5001"
    assert watch.seconds >= 0.2


def test_the_limits_error_wins_over_that_of_the_interrupted_work():
    stop = threading.Event()

    def work():
        stop.wait()
        raise RuntimeError("interrupted")

    with pytest.raises(LimitError):
        supervise(work, interrupt=stop.set, limit=0.1)


@pytest.mark.parametrize("patient", [False, True])
def test_an_interrupt_that_comes_too_early_is_repeated(patient):
    """Work that hears the third interrupt only, as a database does that is still planning at the first."""
    stop, heard = threading.Event(), []

    def interrupt():
        heard.append(1)
        if len(heard) == 3:
            stop.set()

    with pytest.raises(LimitError):
        supervise(stop.wait, interrupt=interrupt, limit=0.1, patient=patient)


def test_pauses_do_not_count(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(stopwatch, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    watch = Stopwatch()

    def work():
        with watch.paused():
            clock[0] += 60
        return "done"

    assert supervise(work, interrupt=no_interrupt, limit=50, watch=watch) == "done"
    assert watch.seconds == 0


def test_no_circle_keeps_what_an_error_held():
    import gc
    import weakref

    class Held:
        pass

    seen = []

    def work():
        held = Held()
        seen.append(weakref.ref(held))
        raise ValueError("x")

    gc.disable()
    try:
        with pytest.raises(ValueError, match="x") as caught:
            supervise(work, interrupt=no_interrupt)
        del caught
        for _ in range(50):  # the thread itself may still be on its way out
            if seen[0]() is None:
                break
            time.sleep(0.02)
        sys.last_value = None
        assert seen[0]() is None
    finally:
        gc.enable()


PROGRAM = """
import sys, threading, time, _thread
from counterbalance.shell.supervise import supervise
mode = sys.argv[1]
print("begun", flush=True)
def deaf():
    time.sleep(6000)
if mode == "limit":
    supervise(deaf, interrupt=lambda: None, limit=0.2)
if mode == "ctrl-c":
    threading.Timer(0.3, _thread.interrupt_main).start()
    supervise(deaf, interrupt=lambda: None)
if mode == "patient":
    threading.Timer(0.3, _thread.interrupt_main).start()
    threading.Timer(2.0, _thread.interrupt_main).start()
    supervise(deaf, interrupt=lambda: None, patient=True)
print("not reached")
"""


@pytest.mark.parametrize(
    ("mode", "code", "said"),
    [("limit", 1, "error[E5001]"), ("ctrl-c", 130, ""), ("patient", 130, "waiting for the query to stop")],
)
def test_deaf_work_ends_with_the_process(mode, code, said, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, mode], capture_output=True, text=True, cwd=tmp_path, timeout=500, check=False
    )
    assert done.returncode == code
    assert done.stdout == "begun\n"
    assert said in done.stderr
