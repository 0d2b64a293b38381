"""Queries of a session in a worker process: one that does not stop, or takes too much, costs its worker."""

from __future__ import annotations

import itertools
import os
import re
import threading
import weakref
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine import memory
from counterbalance.engine.backends.duckdb.backend import is_closed
from counterbalance.engine.errors import RequestError
from counterbalance.engine.executors.local import can_be_imported
from counterbalance.engine.functions import GROUP, imported
from counterbalance.engine.isolation import process
from counterbalance.engine.isolation.values import encoded
from counterbalance.engine.plugins import entry_points
from counterbalance.engine.result import Result
from counterbalance.engine.sql import arguments, parse, queries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterbalance.engine.catalog.pinned import Pinned
    from counterbalance.engine.functions import Function
    from counterbalance.engine.isolation.process import Clock, Worker
    from counterbalance.engine.query_engine import QueryEngine

_numbers: Final = itertools.count(1)
_importable: Final[weakref.WeakKeyDictionary[Any, bool]] = weakref.WeakKeyDictionary()
_SHARE: Final = 0.75
"""Of the memory, for DuckDB, which spills what it has no place for; the rest is for reading, functions and answers."""


class Remote:
    """Reads in a worker process what a session reads; what cannot be read there, it leaves to the session's own engine.

    Args:
        engine: The session's own, whose snapshot is read.
        timeout: Seconds a query may run, planning included and waits for its reader left out.
        memory: What a query may take, such as ``"2GB"``.
        required: A query that can run in this process only is refused, rather than run here.
        settings: Of the worker's session.

    Raises:
        RequestError: The memory is not a size.
    """

    def __init__(
        self,
        engine: QueryEngine,
        *,
        timeout: float | None,
        memory: str | None,
        required: bool,
        settings: Mapping[str, Any],
    ) -> None:
        self._engine, self.timeout, self._memory = engine, timeout, memory
        self._bytes = None if memory is None else size_of(memory)
        self._required, self._settings = required, settings
        process.prepare()
        self._seat = _Seat()
        self._borrowing = threading.RLock()
        weakref.finalize(self, self._seat.leave, "leave").atexit = False

    def close(self) -> None:
        """Let the worker forget this session."""
        self._seat.leave("forget")

    def interrupt(self) -> None:
        """Stop the query that is running; from another thread."""
        worker = self._seat.worker
        if worker is not None and worker.lent_to is self._seat:
            worker.interrupt()

    def renew(self) -> None:
        """Read other versions from here on."""
        self._seat.state = next(_numbers)

    def sql(self, text: str, params: Mapping[str, Any], max_rows: int | None, here: Callable[[], Result]) -> Result:
        """Return the result of a statement that only reads; ``here`` gives it where it is read in this process."""
        if why := self._stays_here(text):
            return _noted(here(), why)
        tables = {n: v for n, v in params.items() if arguments.is_table(v)}
        values = {n: v for n, v in params.items() if n not in tables}
        return self._elsewhere("sql", text, values, tables, max_rows)

    def audit(self, name: str, params: Mapping[str, Any], max_rows: int | None, here: Callable[[], Result]) -> Result:
        """Return the result of an audit."""
        tables = {n: v for n, v in params.items() if hasattr(v, "__arrow_c_stream__")}
        text = " ".join(f"{name} {value}" for name, value in params.items() if name not in tables)
        if why := self._stays_here(f"{name} {text}"):
            return _noted(here(), why)
        values = {n: v for n, v in params.items() if n not in tables}
        return self._elsewhere("audit", name, values, tables, max_rows)

    def expand(self, text: str, params: Mapping[str, Any], here: Callable[[], str]) -> str:
        """Return the query as plain SQL over base tables, word lists and functions."""
        parse.check_length(text)
        if self._stays_here(text):
            return here()
        request = {"do": "expand", "text": text, "values": _encoded(params), **_functions()}
        with self._lent(self._opening()) as worker:
            return str(worker.ask(request, self._clock()).told["sql"])

    def _elsewhere(
        self, what: str, text: str, values: Mapping[str, Any], tables: Mapping[str, Any], max_rows: int | None
    ) -> Result:
        request: dict[str, Any] = {"do": what, "text": text, "values": _encoded(values), **_functions()}
        request |= {"max_rows": max_rows, "folder": _folder()}
        given = {name: arguments.rows_of(name, table) for name, table in tables.items()}
        query = _Query(self, request, given)
        return Result(query.read, query.schema, query.sql, notes=query.notes, most_bytes=self._bytes)

    def _stays_here(self, text: str) -> str | None:
        """Tell why a query can run in this process only, if so: it calls what no other process finds, or reads rows bound here.

        Raises:
            RequestError: It does, and the session was asked for by ``isolated=True`` (E3064).
        """
        if self._engine.backend.closed:
            raise is_closed()
        only_here = [f"{f.name}()" for f in imported() if _calls(text, f.name) and not _can_be_imported(f)]
        only_here += [r.shown for name, r in self._engine.resolver.bound.items() if name in text]
        if only_here and self._required:
            raise RequestError(
                f"{only_here[0]} is known to this process only, and isolated=True asks for another",
                code="E3064",
                hint="put functions into a module or a file of functions; give tables to sql() by name",
            )
        return f"{only_here[0]} is known to this process only" if only_here else None

    # -- the worker --------------------------------------------------------------------------------------------------

    def _clock(self) -> Clock:
        return process.Clock(self.timeout, self._bytes)

    @contextmanager
    def _lent(self, opening: Mapping[str, Any]) -> Iterator[Worker]:
        """Lend a worker that has this session open at a snapshot; others have to take another one meanwhile."""
        with self._borrowing:
            seat, worker = self._seat, self._seat.worker
            if worker is not None and worker.lent_to is seat and worker.alive and worker.state == opening["session"]:
                worker.users += 1
            else:
                worker = seat.worker = process.take(worker)
                worker.lent_to = seat
        try:
            if worker.state != opening["session"]:
                worker.open(opening)
            yield worker
        finally:
            with self._borrowing:
                worker.users -= 1
                idle = not worker.users
            if idle:
                worker.lent_to = None
                process.give_back(worker)
            if not worker.alive:
                process.prepare()

    def _opening(self) -> dict[str, Any]:
        """Return what a worker is told of this session, as it is now."""
        duckdb = None if self._bytes is None else f"{int(self._bytes * _SHARE)}B"
        lakes = {"": self._engine.resolver.main, **self._engine.resolver.attached}
        return {
            "do": "open",
            "session": self._seat.state,
            "memory": self._memory,
            "lakes": {name: _told(pinned) for name, pinned in lakes.items()},
            "settings": {**self._settings, "memory": duckdb},
        }


class _Seat:
    """Which worker a session was at last, and the number that it has there."""

    def __init__(self) -> None:
        self.worker: Worker | None = None
        self.state = next(_numbers)

    def leave(self, how: str) -> None:
        """Tell that worker that the session is no more."""
        if self.worker is not None and self.worker.state == self.state:
            self.worker.tell({"do": how, "session": self.state, "quietly": True})


class _Query:
    """A query as its worker knows it; planned anew where that worker is gone or serves another session.

    Args:
        session: Whose it is.
        request: The request that plans it.
        tables: Tables of the caller's.
    """

    def __init__(self, session: Remote, request: dict[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self._session, self._request, self._tables = session, request, tables
        self._opening = session._opening()  # noqa: SLF001 - its own session; read at this snapshot, whatever comes
        self._planned: tuple[Worker, int] | None = None
        self._id = request["id"] = next(_numbers)
        self._drop: weakref.finalize[Any, Any] | None = None
        self.notes: list[str] = []
        self._told: list[str] = []
        self._planning = session._clock()  # noqa: SLF001 - its own session
        with self._at_work(self._planning):
            pass
        self.sql: str = self._sql

    def schema(self) -> pa.Schema:
        """Return the columns, without running it."""
        with self._at_work(self._planning) as worker:
            answer = worker.ask({"do": "schema", "id": self._id}, self._planning)
        return pa.ipc.read_schema(answer.payload)

    def read(self) -> Iterator[pa.RecordBatch]:
        """Run it; batch after batch."""
        clock = self._session._clock()  # noqa: SLF001 - its own session
        clock.spent = self._planning.spent
        stream = next(_numbers)
        ended = False
        with self._at_work(clock) as worker:
            try:
                while True:
                    self._check_open()
                    ended = True
                    answer = worker.ask({"do": "next", "id": self._id, "stream": stream}, clock)
                    ended = False
                    self._note(answer.told["notes"])
                    if "end" in answer.told:
                        ended = True
                        return
                    yield pa.ipc.open_stream(answer.payload).read_next_batch()
            finally:
                if not ended:
                    worker.tell({"do": "drop", "stream": stream, "quietly": True})

    def _note(self, told: list[str]) -> None:
        """Put what the worker says by now in the place of what it said before; notes of others stay."""
        own = [note for note in self.notes if note not in self._told]
        self.notes[:] = [*own, *(note for note in told if note not in own)]
        self._told = told

    def _check_open(self) -> None:
        if self._session._engine.backend.closed:  # noqa: SLF001 - its own session
            raise is_closed()

    @contextmanager
    def _at_work(self, clock: Clock) -> Iterator[Worker]:
        """Lend a worker that has planned it."""
        session = self._session
        self._check_open()
        with session._lent(self._opening) as worker:  # noqa: SLF001 - its own session
            if self._planned != (worker, worker.opened):
                told = worker.ask(self._request, clock, self._tables).told
                worker.functions = sorted({*worker.functions, *told["functions"]})
                self._sql = str(told["sql"])
                self._note(told["notes"])
                self._planned = worker, worker.opened
                self._drop = weakref.finalize(self, worker.tell, {"do": "drop", "id": self._id, "quietly": True})
                self._drop.atexit = False
            yield worker


def _noted(result: Result, why: str) -> Result:
    result.notes.append(f"{why}, so the query runs in it, and limits are kept as far as DuckDB keeps them")
    return result


def _can_be_imported(function: Function) -> bool:
    """Tell whether a worker process finds a function: an installed one, one of a file, or one of a module; looked up once."""
    if function.source is not None:
        return True
    call = function.call
    if call not in _importable:
        installed = call.__module__.partition(".")[0] in _installed() and "<locals>" not in call.__qualname__
        _importable[call] = installed or can_be_imported(function)
    return _importable[call]


@cache
def _installed() -> frozenset[str]:
    """Return packages that declare functions by an entry point, which every process loads."""
    return frozenset(entry.value.partition(".")[0] for entry in entry_points(GROUP))


def _functions() -> dict[str, Any]:
    """Return modules and files in which a worker finds the functions and queries that were declared here."""
    shared = [f for f in imported() if _can_be_imported(f)]
    modules = {f.call.__module__ for f in shared if f.source is None}
    return {
        "modules": sorted(m for m in modules if m.partition(".")[0] not in _installed()),
        "udfs": sorted({f.source for f in shared if f.source is not None}),
        "queries": queries.added(),
    }


def _told(pinned: Pinned) -> dict[str, Any]:
    """Return a lake at its snapshot, for another process."""
    place, taken = pinned.location, pinned.snapshot
    return {
        "uri": place.root if place.is_local else place.uri,
        "storage_options": dict(place.storage_options),
        "versions": dict(taken.versions),
        "coded": sorted(taken.coded),
        "unfinished": taken.unfinished,
        "details": dict(taken.details),
        "moment": None if taken.moment is None else taken.moment.isoformat(),
        "closed": {
            "views": sorted(pinned.closed.views),
            "columns": {table: sorted(names) for table, names in pinned.closed.columns.items()},
        },
        "declared": [d.to_json() for d in pinned.declared.by_target.values()],
    }


def _encoded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: encoded(value, name) for name, value in values.items()}


def _calls(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - as a string
    except OSError:
        return "/"


def size_of(text: str) -> int:
    """Return the bytes of a memory limit.

    Raises:
        RequestError: It is not a size.
    """
    try:
        return memory.parse(text)
    except ValueError:
        raise RequestError(
            f"cannot open a session: {text!r} is not a size", code="E3041", hint="write 512MB, 2GB, 1.5GiB …"
        ) from None
