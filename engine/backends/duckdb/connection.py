"""DuckDB of sessions: an instance each, closed to the outside, which may serve one session after another.

An instance takes 12 ms to open, most of a short query's time, and 3 to close. What a query registers is known to its cursor
and goes with it; what stays in an instance are limits, functions, and the state after an error. One that has none of these
is kept when its session ends, for the next (docs/decisions/018).
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import mmap
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine import temp_dirs
from counterbalance.engine.errors import RequestError, first_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

_MOST_IDLE: Final = 2
_OLD: Final = 600.0
"""Seconds after which an instance serves no further session: how much it may spill was measured when it was opened."""
_GROWN: Final = 64 << 20
"""Bytes by which the process may have grown with a session: DuckDB keeps what a large query took until it is closed."""
_idle: Final[list[Instance]] = []
_open: Final[set[Instance]] = set()
_looked_after: Final[set[int]] = set()
"""Processes whose end is provided for."""
_ended: Final[set[int]] = set()
"""Those that came to it."""


def _around() -> tuple[object, ...]:
    """Return what a DuckDB takes from its process when it is opened: the cores, the folder for temporary files."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    return cores, tempfile.gettempdir(), os.environ.get("TMPDIR")


@dataclass(slots=True, eq=False)
class Instance:
    """A DuckDB of one session at a time.

    Args:
        connection: Its first connection; queries run on cursors of it.
        spill: Its folder.
        reusable: Whether another session may have it.
    """

    connection: duckdb.DuckDBPyConnection
    spill: str
    reusable: bool
    began: int = 0
    ended: int = 0
    process: int = field(default_factory=os.getpid)
    since: float = field(default_factory=time.monotonic)
    around: tuple[object, ...] = field(default_factory=_around)
    resident: int = 0

    @contextlib.contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a connection that knows what is registered with it and no more; an error ends the reuse of the instance."""
        self.began += 1
        with self.connection.cursor() as cursor:
            yield cursor
        self.ended += 1

    @property
    def is_fit(self) -> bool:
        """Return whether another session may have it, and nothing went wrong or is still read."""
        young = time.monotonic() - self.since < _OLD
        small = _resident() - self.resident < _GROWN
        same = self.around == _around() and Path(self.spill).is_dir()
        return self.reusable and young and small and same and self.began == self.ended


def take(memory: str | None, threads: int | None, *, reusable: bool) -> Instance:
    """Return an instance for a session: a kept one, if it may be shared with others and one is there.

    Raises:
        RequestError: A limit cannot be.
    """
    reusable = reusable and memory is None and threads is None
    while reusable and _idle:
        with contextlib.suppress(IndexError):  # another thread was faster
            kept = _idle.pop()
            kept.resident = _resident()
            if kept.is_fit:
                return kept
            _close(kept)
    _look_after_the_end()
    spill = temp_dirs.folder()
    try:
        instance = Instance(connect(spill, memory, threads), spill, reusable, resident=_resident())
    except BaseException:
        temp_dirs.remove(spill)
        raise
    _open.add(instance)
    return instance


def release(instance: Instance) -> None:
    """Keep it for the next session, or close it, now that its own has ended."""
    if instance.process != os.getpid():  # a forked child's copy lacks the threads behind it
        return
    if instance.is_fit and len(_idle) < _MOST_IDLE and os.getpid() not in _ended:
        _idle.append(instance)
    else:
        _close(instance)


def _close(instance: Instance) -> None:
    import duckdb

    _open.discard(instance)
    with contextlib.suppress(duckdb.Error):  # a query that another thread runs does not end for it
        instance.connection.close()
    temp_dirs.remove(instance.spill)


def _resident() -> int:
    """Return the bytes of memory that the process has now; 0 where that is not told."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


def _look_after_the_end() -> None:
    """Close at the end what DuckDB would tell as a leak when its module is unloaded; children of ``multiprocessing`` skip ``atexit``."""
    if os.getpid() in _looked_after:
        return
    _looked_after.add(os.getpid())
    atexit.register(_close_idle)
    processes = sys.modules.get("multiprocessing.util")
    if processes is not None:
        processes.Finalize(None, _close_idle, exitpriority=10)


def _close_idle() -> None:
    _ended.add(os.getpid())
    while _idle:
        _close(_idle.pop())


def _leave() -> None:
    """Leave the parent's instances alone in a child that was forked: not even closing them would end well."""
    for instance in _open:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(instance.connection))
    _open.clear()
    _idle.clear()


os.register_at_fork(after_in_child=_leave)


def connect(spill: str, memory: str | None, threads: int | None) -> duckdb.DuckDBPyConnection:
    """Return a closed connection: no files, no network, no extensions, settings locked; it spills into a private folder."""
    import duckdb

    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": spill,
        "preserve_insertion_order": "true",
    }
    if memory is not None:
        config["memory_limit"] = memory
    if threads is not None:
        config["threads"] = str(threads)
    try:
        connection = duckdb.connect(":memory:", config=config)
    except duckdb.Error as error:
        raise RequestError(f"cannot open a session: {first_line(error)}", code="E3041") from error
    connection.execute(
        f"SET max_temp_directory_size = '{temp_dirs.most_bytes(spill)}'"
    )  # as a config it is not kept to
    connection.execute("SET GLOBAL TimeZone = 'UTC'")  # one answer on every machine
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


@contextlib.contextmanager
def scratch() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a closed connection for a small question, such as which values of a dictionary meet a condition."""
    instance = take(None, None, reusable=True)
    try:
        with instance.cursor() as cursor:
            yield cursor
    finally:
        release(instance)
