"""Run a query in a thread of its own, so that Ctrl-C and the time limit always get through.

DuckDB notices an interrupt between vectors; a Python function, ``repeat`` of gigabytes or a long sort may not come back
for minutes. Then only ending the process helps, and that is what a time limit does here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from counterbalance.engine.errors import CounterbalanceError, LimitError
from counterbalance.shell.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

_TICK = 0.1
_PATIENCE = 5.0
"""Seconds that work has for stopping by itself."""
GRACE = 1.0


class _Work(threading.Thread, Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__(daemon=True, name="query")
        self._work = work
        self.over = threading.Event()
        self.value: T
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.value = self._work()
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits, whatever it is
            self.error = error
        finally:
            self.over.set()

    def result(self) -> T:
        error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # the traceback holds this frame: no circle, or the engine's objects outlive the interpreter
        return self.value


def supervise(
    work: Callable[[], T],
    *,
    interrupt: Callable[[], None],
    limit: float | None = None,
    watch: Stopwatch | None = None,
    patient: bool = False,
) -> T:
    """Do work in another thread and hand over its result or error.

    Args:
        work: What to do.
        interrupt: Asks the work to stop; called at the limit and at Ctrl-C.
        limit: Seconds; none without it.
        watch: Counts them.
        patient: When the work goes on ``GRACE`` seconds after an interrupt, wait for it until the next Ctrl-C instead
            of ending the process, for a shell that wants to live.

    Raises:
        LimitError: The limit was reached (E5001).
        KeyboardInterrupt: Ctrl-C was pressed; the work has ended.
    """
    watch = watch or Stopwatch()
    thread = _Work(work)
    thread.start()
    try:
        while not thread.over.wait(_TICK if limit is None else min(_TICK, max(limit - watch.seconds, 0.001))):
            if limit is not None and watch.seconds >= limit:
                raise too_slow(limit)
    except (KeyboardInterrupt, LimitError) as reason:
        _await_end(thread, interrupt, reason if isinstance(reason, LimitError) else None, patient=patient)
        raise
    return thread.result()


def _await_end(thread: _Work[T], interrupt: Callable[[], None], reason: LimitError | None, *, patient: bool) -> None:
    """Interrupt until the work ends: the database forgets an interrupt that comes before it has begun."""
    try:
        began = time.monotonic()
        while time.monotonic() - began < GRACE:
            interrupt()
            if thread.over.wait(_TICK):
                return
        if patient:
            sys.stderr.write("waiting for the query to stop; Ctrl-C again leaves the shell at once\n")
            while not thread.over.wait(_TICK):
                interrupt()
            return
    except KeyboardInterrupt:
        end(None)
    end(reason)


@contextlib.contextmanager
def ends_in_time(message: str) -> Iterator[None]:
    """End the process (130) where Ctrl-C does not get through in time.

    For work in the main thread that knows how to stop, but may be deep inside a database when it is asked to.

    Args:
        message: What to say then, on stderr.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    over = threading.Event()

    def watch() -> None:
        while told := os.read(reading, 1):
            if told[0] == signal.SIGINT and not over.wait(_PATIENCE):
                sys.stderr.write(f"{message}\n")
                end(None)

    watcher = threading.Thread(target=watch, daemon=True, name="ctrl-c")
    watcher.start()
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)  # written to at once, whatever Python is at
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.close(writing)
        watcher.join()
        os.close(reading)


def too_slow(limit: float) -> LimitError:
    """Return the error of a query that reached its time limit."""
    return LimitError(
        f"the query was stopped after {limit:g} s, its time limit",
        code="E5001",
        hint="give it more with --timeout SECONDS (0: no limit), or ask for less",
    )


def end(reason: CounterbalanceError | None) -> NoReturn:
    """End the process at once, with the error's message and code (130 for Ctrl-C), because a thread does not stop."""
    from counterbalance.shell import output
    from counterbalance.shell.errors import show

    for part in list(output.unfinished):
        with contextlib.suppress(OSError):
            part.unlink()
    if sys.__stderr__ is not None and sys.__stderr__.isatty():
        sys.__stderr__.write("\x1b[?25h")  # a bar hides the cursor, and keeps sys.stderr to itself
    code = 130
    if reason is None:
        sys.stderr.write("interrupted\n")
    else:
        code = reason.exit_code
        show(reason)
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)
