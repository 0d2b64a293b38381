"""Workers as Ray actors: one a GPU or core of a cluster, the same lines of JSON, a lost one replaced.

Nothing but text crosses over: the job and its tasks go out, events come back as a stream. Every node must see the lake
and have counterbalance installed.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
from collections import deque
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import RequestError, first_line
from counterbalance.engine.executors import devices
from counterbalance.engine.executors.local import hello, tied
from counterbalance.engine.executors.protocol import Event, as_error
from counterbalance.engine.executors.retry_budget import Lost
from counterbalance.engine.executors.worker_main import Served

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterbalance.engine.executors.protocol import Job, Task
    from counterbalance.engine.executors.worker_main import Hello

_STORE_BYTES: Final = 100 << 20
_PATIENCE: Final = 10.0
"""Seconds that actors without tasks have for closing their models, and a cluster for answering."""
# Ray tells of lost workers on the driver's stdout, which belongs to results; the executor tells of them itself.
_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": "(?s).",
}


class Ray:
    """Runs workers on a Ray cluster: the one this process is connected to, else the one that is up, else one of its own.

    Args:
        workers: How many; ``None`` for one a GPU when the functions can use one, else one a core.
        device: ``"auto"``, ``"cuda"`` or ``"cpu"``; which GPU is Ray's to say.

    Raises:
        RequestError: Ray is not installed.
    """

    def __init__(self, workers: int | None = None, device: str = "auto") -> None:
        self._ray, self._workers, self._device = _imported(), workers, device

    def run(self, job: Job, tasks: Sequence[Task]) -> Iterator[Event]:
        """Run all tasks, each actor one at a time.

        Raises:
            RequestError: The job cannot leave this process, or asks for GPUs that the cluster lacks.
        """
        if not tasks:
            return
        expression = devices.expression(job)
        reason = tied(job, expression)
        if reason is not None:
            raise RequestError(f"ray cannot run {job.sql}: {reason}", code="E3464", hint="use the executor local")
        with cluster(self._workers):
            gpu = expression.device == "auto" and self._device != "cpu" and self._gpus() > 0
            if not gpu and expression.device == "auto" and self._device.startswith("cuda"):
                raise RequestError("the Ray cluster has no GPU", code="E3462", hint="say --device auto or cpu")
            count = self._workers or int(self._gpus() if gpu else self._ray.cluster_resources().get("CPU", 1))
            told = hello(replace(job, device="cuda:0" if gpu else "cpu"), expression)
            yield from _Actors(self._ray, told, tasks, gpu=gpu).run(max(1, count))

    def _gpus(self) -> float:
        return float(self._ray.cluster_resources().get("GPU", 0))


class Slot:
    """What an actor is: a worker behind lines."""

    def __init__(self, told: str) -> None:
        import sys

        os.dup2(2, 1)  # what functions print is not a result
        sys.stdout = sys.stderr
        self._served = Served(told)

    def start(self) -> list[str]:
        """Load what is needed."""
        return list(self._served.start())

    def run(self, task: str) -> Iterator[str]:
        """Yield lines of a task's events."""
        yield from self._served.run(task)

    def close(self) -> None:
        """Let the function go."""
        self._served.close()


class _Actor:
    """One actor and the stream that is read from it."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self.task: Task | None = None
        self.waits: Any = handle.start.remote()

    def give(self, task: Task) -> None:
        self.task = task
        self.waits = self.handle.run.options(num_returns="streaming").remote(json.dumps(asdict(task)))


class _Actors:
    """Gives tasks to actors one at a time; an actor gets its first one when it is up, for the cluster may be busy."""

    def __init__(self, ray: Any, told: Hello, tasks: Sequence[Task], *, gpu: bool) -> None:
        self._ray, self._told, self._pending = ray, told, deque(tasks)
        self._make = ray.remote(Slot).options(num_cpus=1, num_gpus=1 if gpu else 0, max_restarts=0)
        self._lost_as = (ray.exceptions.RayActorError, ray.exceptions.NodeDiedError)
        self._lost = Lost(told.job)
        self._actors: list[_Actor] = []
        self._closing: list[_Actor] = []
        self._left = len(tasks)

    def run(self, count: int) -> Iterator[Event]:
        """Yield events of all tasks; whatever ends this ends the actors."""
        try:
            for _ in range(min(count, len(self._pending))):
                self._start()
            while self._left:
                ready, _ = self._ray.wait(
                    [a.waits for a in self._actors], num_returns=1, timeout=1.0, fetch_local=False
                )
                for actor in [a for a in self._actors if any(a.waits is r for r in ready)]:
                    yield from self._heard(actor)
            if self._closing:
                closed = [a.waits for a in self._closing]
                self._ray.wait(closed, num_returns=len(closed), timeout=_PATIENCE, fetch_local=False)
        finally:
            for actor in (*self._actors, *self._closing):
                self._ray.kill(actor.handle)

    def _start(self) -> None:
        self._actors.append(_Actor(self._make.remote(self._told.to_json())))

    def _heard(self, actor: _Actor) -> Iterator[Event]:
        try:
            lines = self._lines(actor)
        except self._lost_as as error:
            self._gone(actor, error)
            return
        for line in lines:
            message = json.loads(line)
            if "error" in message:
                raise as_error(message["error"])
            if "devices" in message:
                self._next(actor)
                continue
            event = Event(**message)
            if event.done:
                self._left -= 1
                self._next(actor)
            yield event

    def _lines(self, actor: _Actor) -> list[str]:
        if actor.task is None:
            lines: list[str] = self._ray.get(actor.waits)
            return lines
        try:
            return [self._ray.get(next(actor.waits))]
        except StopIteration:
            return []

    def _next(self, actor: _Actor) -> None:
        if self._pending:
            actor.give(self._pending.popleft())
        else:
            self._actors.remove(actor)
            actor.waits = actor.handle.close.remote()
            actor.handle.__ray_terminate__.remote()  # after that, so that its slot is free for others
            self._closing.append(actor)

    def _gone(self, actor: _Actor, error: Exception) -> None:
        self._actors.remove(actor)
        if actor.task is None and not self._pending:
            return
        task = actor.task or self._pending.popleft()
        self._lost.count(task, f"was lost ({first_line(error)[:200]})")
        self._pending.appendleft(task)
        self._start()


def _imported() -> Any:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise RequestError(
            "the executor ray needs Ray, which is not installed", code="E3463", hint="pip install 'counterbalance[ray]'"
        ) from error
    return ray


def _answers(address: str) -> None:
    """Ask at ``HOST:PORT`` whether anyone is there, for Ray itself tries for minutes; other forms of address are Ray's."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except OSError as error:
        text = f"no Ray cluster answers at {address}, which RAY_ADDRESS names: {error}"
        raise RequestError(text, code="E3469", hint="start it, or unset RAY_ADDRESS") from error


@contextlib.contextmanager
def cluster(workers: int | None = None) -> Iterator[None]:
    """Connect to a cluster inside; jobs that run in it share the one, which takes seconds to start.

    That of ``RAY_ADDRESS`` or of ``ray start``; never one that another process made for itself, which ends with it.

    Args:
        workers: Slots of a cluster of its own, which is made when none is up.

    Raises:
        RequestError: None answers at ``RAY_ADDRESS``.
    """
    ray = _imported()
    if ray.is_initialized():
        yield
        return
    own: dict[str, Any] = {"num_cpus": workers, "object_store_memory": _STORE_BYTES, "include_dashboard": False}
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}  # the driver would print on stdout
    _answers(os.environ.get("RAY_ADDRESS", ""))
    try:
        ray.init(**own, **quiet)
    except ValueError:  # what one's own cluster is made with is refused where there is one to join
        ray.init(**quiet)
    try:
        yield
    finally:
        ray.shutdown()
