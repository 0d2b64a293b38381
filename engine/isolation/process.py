"""Worker processes as their parent sees them: asked, timed, measured, ended, and kept warm for the next query."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import select
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pyarrow as pa

from counterbalance.engine import memory, progress, temp_dirs
from counterbalance.engine.errors import CounterbalanceError, FunctionError, LimitError
from counterbalance.engine.executors.process_pool import how_it_ended, start
from counterbalance.engine.executors.protocol import as_error
from counterbalance.engine.functions import functions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

GRACE: Final = 1.0
"""Seconds that a query has for stopping by itself, before its process is ended."""
_TICK: Final = 0.02
"""Seconds between two looks at the memory of a process that has a limit."""
_MOST_IDLE: Final = 2
_GROWN: Final = 128 << 20
"""Bytes by which an idle process may have grown: what large queries took is not given back to the system by all."""
_FRAME: Final = re.compile(r'File "([^"]+)", line (\d+) in (\S+)')


class Clock:
    """Time and memory that a query may take.

    Args:
        seconds: Time limit, if any; only waiting for the worker counts.
        bytes_: Memory limit, if any.
    """

    def __init__(self, seconds: float | None, bytes_: int | None) -> None:
        self.seconds, self.bytes = seconds, bytes_
        self.spent = 0.0

    @property
    def left(self) -> float:
        """Return the seconds until the limit."""
        return float("inf") if self.seconds is None else self.seconds - self.spent

    def too_slow(self) -> LimitError:
        """Return the error of a query that reached its time limit."""
        return LimitError(
            f"the query ran longer than {self.seconds:g} s",
            code="E5001",
            hint="narrow it, or raise timeout (--timeout)",
        )

    def too_large(self) -> LimitError:
        """Return the error of a query that reached its memory limit."""
        return LimitError(
            f"the query needs more memory than it may have: {(self.bytes or 0) / 1e6:,.0f} MB",
            code="E5002",
            hint="narrow it, or raise memory (--memory)",
        )


class Worker:
    """One process; runs ``worker.main``. Asked by one thread at a time, interrupted by any."""

    def __init__(self) -> None:
        self.around = _around()
        self._crash = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process has ended
        self._process = start(
            "isolation.worker",
            [p or str(Path.cwd()) for p in sys.path],
            str(self._crash.fileno()),
            pass_fds=(self._crash.fileno(),),
            env={**os.environ, "TMPDIR": tempfile.gettempdir()},
        )
        self.state: int | None = None
        """Number of the session that is open in it."""
        self.opened = 0
        """How many were."""
        self.users = 0
        self.lent_to: object = None
        self.functions: list[str] = []
        """Python functions that its session's queries call."""
        self._asking, self._writing = threading.Lock(), threading.Lock()
        self._cancelled: float | None = None
        self._base: int | None = None
        self._before = 0
        self._heard, self._trace = b"", ""
        _all.add(self)

    @property
    def alive(self) -> bool:
        """Tell whether it can be asked."""
        return self._process.poll() is None

    @property
    def fit(self) -> bool:
        """Tell whether another query may have it: as a fresh one would be, but for models, which are worth keeping."""
        grown = 0 if self._base is None else memory.resident(self._process.pid) - self._base
        return self.alive and self.around == _around() and (grown < _GROWN or bool(self.functions))

    def ask(self, request: Mapping[str, Any], clock: Clock, tables: Mapping[str, pa.Table] = {}) -> _Answer:
        """Send a request and wait for the answer.

        Args:
            request: What ``worker.Server`` knows.
            clock: What it may take; the time that it took is added.
            tables: Tables of the caller's.

        Raises:
            LimitError: A limit was reached, or ``interrupt`` was called.
            CounterbalanceError: Whatever the query raises; or the process has ended (E9001, E9002).
            KeyboardInterrupt: Ctrl-C was pressed; the query has ended.
        """
        with self._asking:
            self._cancelled = None
            if self not in _all:
                raise CounterbalanceError(
                    "the process that was at this answer ended with another query", code="E9002", hint="read it again"
                )
            if self._base is None:
                self._get_ready()
            began = time.monotonic()
            try:
                try:
                    self._send(request, tables)
                except BaseException:  # in the middle of a sentence
                    self.end()
                    raise
                answer = self._wait(clock, began)
            finally:
                clock.spent += time.monotonic() - began
        if "error" in answer.told:
            if clock.left <= 0 and answer.told["error"]["code"] in {"E5001", "E5004"}:
                raise clock.too_slow()
            raise as_error(answer.told["error"])
        return answer

    def open(self, opening: Mapping[str, Any]) -> None:
        """Serve another session."""
        self.state, self.functions = None, []
        self.ask(opening, Clock(None, None))
        self.state, self.opened = opening["session"], self.opened + 1

    def begin(self) -> None:
        """Count memory from here."""
        if self._base is not None:
            self._before = memory.resident(self._process.pid)

    def interrupt(self) -> None:
        """Ask its query to stop; where it does not in time, the process is ended."""
        self._cancelled = time.monotonic()
        self._tell({"do": "interrupt"})

    def tell(self, request: Mapping[str, Any]) -> None:
        """Send a request that has no answer; dropped where another thread is sending, for it is about tidiness only."""
        if self._writing.acquire(blocking=False):
            try:
                self._write(request)
            finally:
                self._writing.release()

    def end(self) -> None:
        """End the process, and what it started."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        temp_dirs.remove_of(self._process.pid)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if not self._crash.closed:
            self._crash.seek(0)
            self._trace = self._crash.read().decode(errors="replace")
            self._crash.close()
        _all.discard(self)

    def let_go(self) -> None:
        """Tell the process that nobody asks any more; it ends by itself."""
        with contextlib.suppress(OSError):
            _stdin(self._process).close()

    # -- the conversation --------------------------------------------------------------------------------------------

    def _get_ready(self) -> None:
        while self._receive(None) is None:
            pass
        self._base = self._before = memory.resident(self._process.pid)

    def _tell(self, request: Mapping[str, Any]) -> None:
        with self._writing:
            self._write(request)

    def _write(self, request: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError, ValueError):  # it is dead, which is heard as the end of its answers
            stdin = _stdin(self._process)
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()

    def _send(self, request: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        with self._writing:
            self._write({**request, "tables": [*tables]} if tables else request)
            with contextlib.suppress(OSError, ValueError):
                for table in tables.values():
                    with pa.ipc.new_stream(_stdin(self._process), table.schema) as writer:
                        writer.write_table(table)
                _stdin(self._process).flush()

    def _wait(self, clock: Clock, began: float) -> _Answer:
        try:
            return self._watched(clock, began)
        except KeyboardInterrupt:
            self._tell({"do": "interrupt"})
            self._await_end()
            raise

    def _watched(self, clock: Clock, began: float) -> _Answer:
        stopped: float | None = None
        watching = clock.bytes is not None and bool(self._before)
        while True:
            now = time.monotonic()
            if stopped is None and now - began >= clock.left:
                stopped = now
                self._tell({"do": "interrupt"})
            for since, why in ((stopped, clock.too_slow), (self._cancelled, _cancelled)):
                if since is not None and now - since >= GRACE:
                    self.end()
                    raise why()
            due = GRACE if stopped is not None or clock.seconds is None else clock.left - (now - began)
            answer = self._receive(_TICK if watching else max(min(due, 0.2), 0.001), clock)
            if answer is not None:
                return answer
            if watching and memory.resident(self._process.pid) - self._before > (clock.bytes or 0):
                self.end()
                raise clock.too_large()

    def _await_end(self) -> None:
        """Give the query its grace; its answer is nobody's."""
        until = time.monotonic() + GRACE
        with contextlib.suppress(CounterbalanceError):
            while time.monotonic() < until:
                if self._receive(0.05) is not None:
                    return
        self.end()

    def _receive(self, seconds: float | None, clock: Clock | None = None) -> _Answer | None:
        """Return an answer, or ``None`` where none begins within so many seconds; what is told before it goes to who listens here."""
        poll = select.poll()
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - a pipe was asked for
        poll.register(stdout.fileno(), select.POLLIN)
        while b"\n" not in self._heard:
            if not poll.poll(None if seconds is None else seconds * 1000):
                return None
            data = os.read(stdout.fileno(), 1 << 16)
            if not data:
                self._fell(clock)
            self._heard += data
        line, _, self._heard = self._heard.partition(b"\n")
        told = json.loads(line)
        payload = bytearray(told.pop("size"))
        have = min(len(self._heard), len(payload))
        payload[:have], self._heard = self._heard[:have], self._heard[have:]
        view = memoryview(payload)[have:]
        while view:
            read = os.readv(stdout.fileno(), [view])
            if not read:
                self._fell(clock)
            view = view[read:]
        if "progress" in told:
            progress.tell(progress.Progress(**told["progress"]))
            return None
        return _Answer(told, pa.py_buffer(payload))

    def _fell(self, clock: Clock | None) -> NoReturn:
        """Tell why the process ended by itself, as far as that can be known."""
        self.end()
        code = self._process.returncode
        how = how_it_ended(code)
        if code in {-signal.SIGKILL, -signal.SIGABRT, 1} and clock is not None:
            if clock.bytes is not None:
                raise clock.too_large()
            if code == -signal.SIGKILL:
                raise LimitError(
                    f"the process of the query {how}: most likely the machine is out of memory",
                    code="E5006",
                    hint="set a limit with memory=…, or ask for less",
                )
        crashed = self._crashed_in()
        if crashed or self.functions:
            names = crashed or "the query calls " + ", ".join(f"{n.partition('__')[0]}()" for n in self.functions)
            raise FunctionError(
                f"the process of the query {how}: {names}",
                code="E8012",
                hint="the session goes on without it; look into the function, or leave it out",
            )
        raise CounterbalanceError(
            f"the process of the query {how}", code="E9001", hint="the session goes on; report the query"
        )

    def _crashed_in(self) -> str | None:
        """Return which function was at work when the process crashed, of the traceback that it left."""
        frames = _FRAME.findall(self._trace)
        homes: dict[str, list[Any]] = {}
        for function in functions().values():
            module = sys.modules.get(function.call.__module__)
            homes.setdefault(str(getattr(module, "__file__", None)), []).append(function)
        for file, line, where in frames:
            for function in homes.get(file, ()):
                if where in {function.call.__name__, "__call__", "open"} or len(homes[file]) == 1:
                    return f"{function.name}() at {file}, line {line}"
        return None


class _Answer:
    """What a worker told.

    Args:
        told: Fields.
        payload: Bytes of Arrow IPC.
    """

    def __init__(self, told: dict[str, Any], payload: pa.Buffer) -> None:
        self.told, self.payload = told, payload


def _cancelled() -> LimitError:
    return LimitError("cancelled", code="E5004")


def _stdin(process: Any) -> Any:
    return process.stdin


def _around() -> tuple[object, ...]:
    """Return what a worker takes from this process when it is started."""
    return dict(os.environ), tuple(sys.path), tempfile.gettempdir()


# -- the pool --------------------------------------------------------------------------------------------------------

_all: Final[set[Worker]] = set()
_idle: Final[list[Worker]] = []
_inherited: Final[list[Worker]] = []
_turn = threading.RLock()
"""Taken again by a reader that is given up, and collected, in the middle."""


def take(preferred: Worker | None = None) -> Worker:
    """Return a worker for one session: the one it had, another that is idle, or a new one."""
    unfit: list[Worker] = []
    with _turn:
        found = None
        for worker in sorted(_idle, key=lambda w: w is not preferred):
            _idle.remove(worker)
            if worker.fit:
                found = worker
                break
            unfit.append(worker)
    _end(unfit)
    worker = found or Worker()
    worker.users = 1
    worker.begin()
    return worker


def give_back(worker: Worker) -> None:
    """Keep a worker for the next query, or end it."""
    with _turn:
        kept = worker.alive and len(_idle) < _MOST_IDLE
        if kept:
            _idle.append(worker)
    if not kept:
        worker.end()


def prepare() -> None:
    """Start a worker if none is idle, so that it is ready when it is needed."""
    with _turn:
        if not any(worker.fit for worker in _idle):
            _idle.append(Worker())


def _end(workers: Iterable[Worker]) -> None:
    for worker in workers:
        worker.end()


@atexit.register
def end_all() -> None:
    """End every worker of this process."""
    with _turn:
        _idle.clear()
    for worker in list(_all):
        worker.let_go()
        worker.end()


def _leave() -> None:
    """Leave the parent's workers alone in a child that was forked: they are not its own."""
    _inherited.extend(_all)  # not even letting go of them would end well
    _idle.clear()
    _all.clear()


os.register_at_fork(after_in_child=_leave)
