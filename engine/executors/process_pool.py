"""Worker processes of this machine: started, heard, counted when they die, and killed together."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.executors.protocol import Event, as_error
from counterbalance.engine.executors.retry_budget import Lost

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterbalance.engine.executors.protocol import Task
    from counterbalance.engine.executors.worker_main import Hello

_THREADS: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
    "LANCE_CPU_THREADS",
)
_BOOT: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from counterbalance.engine.{} import main; main()"
)
"""Modules are found where this process finds them, and nowhere else."""
PATIENCE: Final = 10.0
"""Seconds that a worker without tasks has for closing its model."""


class Child:
    """One process; runs ``child.main`` in a process group of its own, so that what it starts ends with it."""

    def __init__(self, hello: Hello, threads: int) -> None:
        self.device = hello.job.device
        self.task: Task | None = None
        self.stopped: float | None = None
        bounds = {name: os.environ.get(name, str(threads)) for name in _THREADS}
        self._process = start("executors.worker_main", hello.paths, env={**os.environ, **bounds})
        self._rest = b""
        self._send(hello.to_json())

    def fileno(self) -> int:
        """Return where it is heard."""
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        return self._process.stdout.fileno()

    def give(self, task: Task | None) -> None:
        """Hand it a task, or tell it that there are no more."""
        self.task = task
        if task is None:
            self.stopped = time.monotonic()
        self._send("null" if task is None else json.dumps(asdict(task)))

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        with contextlib.suppress(BrokenPipeError):  # it is dead, which is heard as the end of its events
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def heard(self) -> list[dict[str, Any]] | None:
        """Return what it has said since; ``None`` once it is gone."""
        data = os.read(self.fileno(), 1 << 16)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def ended(self) -> bool:
        """Tell whether the process is dead, though others may hold its stdout open; those are ended too."""
        if self._process.poll() is None:
            return False
        self.kill_group()
        return True

    def kill(self) -> int:
        """End it now, and what it started; returns its exit code, negative for a signal."""
        if self._process.returncode is None:
            self.kill_group()
        code = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        return code

    def kill_group(self) -> None:
        """End all processes of its group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


class Crew:
    """Gives tasks to processes one at a time until all are done.

    Args:
        hello: What each is told; devices that are not one alone (``auto``, ``cuda``, ``cuda:0,1``) are looked up by the first of them.
        tasks: What to do, at least one task.
        workers: How many, or ``None`` for one a device.
    """

    def __init__(self, hello: Hello, tasks: Sequence[Task], workers: int | None) -> None:
        self._hello, self._pending, self._workers = hello, deque(tasks), workers
        self._lost = Lost(hello.job)
        self._threads = max(1, cores() // (workers or 1))
        self._children: list[Child] = []
        self._selector = selectors.DefaultSelector()

    def run(self) -> Iterator[Event]:
        """Yield events of all tasks; whatever ends this ends the processes."""
        try:
            wish = self._hello.job.device
            for device in [wish] * (1 if _several(wish) else self._workers or 1):
                self._start(device)
            while self._children:
                for child in self._speaking():
                    messages = child.heard()
                    if messages is None:
                        self._gone(child)
                    else:
                        yield from self._events(child, messages)
        finally:
            for child in self._children:
                child.kill_group()
            for child in self._children:
                child.kill()
            self._selector.close()

    def _start(self, device: str) -> None:
        if self._pending:
            child = Child(replace(self._hello, job=replace(self._hello.job, device=device)), self._threads)
            self._children.append(child)
            self._selector.register(child, selectors.EVENT_READ, child)
            child.give(self._pending.popleft())

    def _speaking(self) -> list[Child]:
        ready: list[Child] = [key.data for key, _ in self._selector.select(timeout=0.5)]
        for child in self._children if not ready else ():
            if not child.ended() and child.stopped is not None and time.monotonic() - child.stopped > PATIENCE:
                child.kill_group()
        return ready

    def _events(self, child: Child, messages: list[dict[str, Any]]) -> Iterator[Event]:
        for message in messages:
            if "error" in message:
                raise as_error(message["error"])
            if "devices" in message:
                self._staff(child, message["devices"])
                continue
            event = Event(**message)
            if event.done:
                child.give(self._pending.popleft() if self._pending else None)
            yield event

    def _staff(self, child: Child, devices: list[str]) -> None:
        """Start the others once the first knows the devices."""
        if _several(child.device):
            child.device = devices[0]
            count = self._workers or len(devices)
            self._threads = max(1, cores() // count)
            for number in range(len(self._children), count):
                self._start(devices[number % len(devices)])

    def _gone(self, child: Child) -> None:
        self._selector.unregister(child)
        self._children.remove(child)
        code = child.kill()
        if child.task is not None:
            self._lost.count(child.task, how_it_ended(code))
            self._pending.appendleft(child.task)
            self._start(child.device)


def _several(wish: str) -> bool:
    """Tell whether a wish may stand for several devices."""
    return wish in {"auto", "cuda"} or "," in wish


def cores() -> int:
    """Return cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start(module: str, paths: Sequence[str], *words: str, **more: Any) -> subprocess.Popen[bytes]:
    """Start a process of this package in a process group of its own, with pipes to its stdin and from its stdout.

    Args:
        module: Module of the engine whose ``main`` it runs.
        paths: Where it finds modules.
        words: Further arguments.
        more: Of ``subprocess.Popen``.
    """
    return subprocess.Popen(  # noqa: S603 - this interpreter, this package
        [sys.executable, "-P", "-c", _BOOT.format(module), json.dumps(paths), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        **more,
    )


def how_it_ended(code: int) -> str:
    """Tell an exit code, negative for a signal.

    Example:
        >>> how_it_ended(-11), how_it_ended(1)
        ('was ended by SIGSEGV', 'ended with exit code 1')
    """
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
