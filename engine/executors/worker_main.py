"""What a worker process runs: a job comes in on stdin, tasks follow as they are asked for, events go out on stdout.

Everything is JSON, one object a line. In: the job (``Hello``), then tasks, then ``null`` for the end. Out: the devices
there are, events, or an error. stdout belongs to this conversation alone: whatever functions print goes to stderr.
A parent that is gone closes stdin, and this process ends at once, though never while it appends a batch to the spool.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import queue
import sys
import threading
import traceback
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.executors.protocol import Job, Task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


@dataclass(frozen=True, slots=True)
class Hello:
    """All that a worker elsewhere must know.

    Args:
        job: What to compute; its device is a wish (``auto``) or a device.
        modules: Modules whose import declares the functions.
        paths: Where Python finds them.
    """

    job: Job
    modules: tuple[str, ...]
    paths: tuple[str, ...]

    def to_json(self) -> str:
        """Write it for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Hello:
        """Read it as another process wrote it."""
        body = json.loads(text)
        return cls(Job.from_json(json.dumps(body["job"])), tuple(body["modules"]), tuple(body["paths"]))


class Served:
    """A worker that speaks lines of JSON; what goes wrong is a line too."""

    def __init__(self, hello: str, guard: AbstractContextManager[Any] | None = None) -> None:
        self._hello, self._guard = Hello.from_json(hello), guard
        self._worker: Any = None

    def start(self) -> Iterator[str]:
        """Load what is needed; tells the devices that the wish names here, of which this worker takes the first."""
        with contextlib.ExitStack() as stack:
            told = stack.enter_context(_Telling())
            from counterbalance.engine.executors import devices, worker

            sys.path += [p for p in self._hello.paths if p not in sys.path]
            importlib.invalidate_caches()
            for module in self._hello.modules:
                importlib.import_module(module)
            job = self._hello.job
            found = devices.available(job.device, wants=devices.wanted(job))
            self._worker = worker.Worker(replace(job, device=found[0]), self._guard)
            yield json.dumps({"devices": found})
        yield from told.lines

    def run(self, task: str) -> Iterator[str]:
        """Yield lines of a task's events."""
        with _Telling() as told:
            for event in self._worker.run(Task(**json.loads(task))):
                yield event.to_json()
        yield from told.lines

    def close(self) -> None:
        """Let the function go."""
        if self._worker is not None:
            self._worker.close()


class _Telling:
    """Turns an exception into a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if not isinstance(error, Exception):
            return False
        if not isinstance(error, CounterbalanceError):
            traceback.print_exception(error)
            reason = f"{type(error).__name__}: {error}".splitlines()[0][:500]
            error = CounterbalanceError(
                f"a worker failed: {reason}", hint="its traceback is on stderr, or in Ray's logs"
            )
        self.lines.append(json.dumps({"error": error.to_dict()}))
        return True


def main() -> None:
    """Serve one parent."""
    asked, told = own_streams()
    faulthandler.enable(2)
    die_first()
    append = threading.Lock()
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(asked, lines, append), daemon=True).start()
    served = Served(lines.get(), append)
    _tell(told, served.start())
    while (task := lines.get()) != "null":
        _tell(told, served.run(task))
    served.close()


def die_first() -> None:
    """Offer this process when memory runs out: the system shall end it and not its parent."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500", encoding="ascii")


def own_streams() -> tuple[BinaryIO, int]:
    """Take the pipes of the conversation; functions get an empty stdin, and stderr for stdout.

    The way out is a bare descriptor, so that it is closed by the end of the process and by nothing before.
    """
    nothing = os.open(os.devnull, os.O_RDWR)  # takes the place of stderr where that is closed
    asked, told = os.fdopen(os.dup(0), "rb"), os.dup(1)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return asked, told


def _listen(asked: BinaryIO, lines: queue.SimpleQueue[str], append: threading.Lock) -> None:
    for line in asked:
        lines.put(line.decode().strip())
    with append:
        os._exit(1)


def _tell(told: int, lines: Iterator[str]) -> None:
    for line in lines:
        rest = line.encode() + b"\n"
        while rest:
            rest = rest[os.write(told, rest) :]
