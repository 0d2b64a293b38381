"""DuckDB as a backend: each plan runs on a cursor of its own, which knows the relations of that plan and no others."""

from __future__ import annotations

import signal
import threading
import weakref
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterbalance.engine.backends.duckdb import scan
from counterbalance.engine.backends.duckdb.connection import Instance, release, take
from counterbalance.engine.backends.duckdb.fetch import described, fetched
from counterbalance.engine.backends.duckdb.register import register_function
from counterbalance.engine.catalog import file_statistics
from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import OpenFunctions
from counterbalance.engine.sql.plan import Combined, StoredTable, new_id
from counterbalance.engine.store.pictures import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

    import duckdb

    from counterbalance.engine.errors import CounterbalanceError
    from counterbalance.engine.functions import Function
    from counterbalance.engine.sql.plan import Plan, Relation
    from counterbalance.engine.store.pictures import Unread

_BYTES_ROWS = 256


class DuckDB:
    """A DuckDB of its own, closed to the outside.

    Args:
        memory: Its limit, such as ``"2GB"``.
        threads: Worker threads; all cores by default.
        timeout: Seconds a plan may run, as far as DuckDB listens.
        reusable: Another session may have it afterwards, if nothing stays in it.
        lazy: Open it for the first plan only, limits or not.

    Raises:
        RequestError: A limit cannot be.
    """

    shortcuts = True

    def __init__(
        self,
        *,
        memory: str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        reusable: bool = True,
        lazy: bool = False,
    ) -> None:
        self.timeout = timeout
        self._take = partial(take, memory, threads, reusable=reusable)
        self._instance: Instance | None = None
        self._end: weakref.finalize[Any, Any] | None = None
        self._closed = False
        self._running: list[duckdb.DuckDBPyConnection] = []
        self._stop = threading.Event()
        self.functions = OpenFunctions()
        self.raised: list[CounterbalanceError] = []
        if not lazy and (memory is not None or threads is not None):
            self._opened()  # now: limits that cannot be are told, and a cap on the process counts what is mapped

    @property
    def closed(self) -> bool:
        """Return whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Stop what runs, and give memory, models and spill space back."""
        if not self._closed:
            self._closed = True
            self.interrupt()
            if self._end is not None:
                self._end()
            self.functions.close()

    def interrupt(self) -> None:
        """Stop what runs; from another thread."""
        for cursor in tuple(self._running):
            with suppress(Exception):  # its query ended at this moment, and it with the query
                cursor.interrupt()

    def run(
        self, plan: Plan, batch_rows: int, unread: Unread | None = None, *, few: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Run a plan; batches of at most so many rows, fewer where they hold pictures; an empty one where there is none.

        DuckDB binds a query twice whose rows are read as they come, once for its columns; with ``few`` rows they are a table
        first, since binding an audit takes as long as running it.
        """
        fill = require if unread is None else unread.fill
        with self._cursor(plan, fill) as cursor, self._stoppable(cursor):
            text, values = f"{plan.verb}{plan.sql}", dict(plan.values) or None
            with self._heard():
                if few and not plan.verb:
                    kept = new_id("rows")
                    cursor.execute(f'CREATE TEMP TABLE "{kept}" AS {text}', values)
                    text, values = f'FROM "{kept}"', None
                rows = cursor.sql(text, params=values)
                has_bytes = plan.pictures or "BLOB" in map(str, rows.types)
                batches = rows.to_arrow_reader(_BYTES_ROWS if has_bytes else batch_rows)
                batch = next(batches, None) or pa.RecordBatch.from_pylist([], batches.schema)
            while batch is not None:
                yield fetched(batch, plan.pictures, fill) if plan.pictures else batch
                with self._heard():
                    batch = next(batches, None)

    def schema(self, plan: Plan) -> pa.Schema:
        """Return the columns of a plan, without running it."""
        with self._cursor(plan) as cursor:
            rows = cursor.sql(f"{plan.verb}{plan.sql}", params=dict(plan.values) or None).limit(0)
            schema = rows.to_arrow_table().schema
            return described(schema, plan.pictures) if plan.pictures else schema

    def function(self, function: Function, constants: Mapping[str, Any]) -> str:
        """Make a Python function callable with its constants fixed; from then on this DuckDB serves no other session."""
        instance = self._opened()
        instance.reusable = False
        return register_function(instance.connection, function, constants, self.functions, self.raised, self._stop)

    def _opened(self) -> Instance:
        if self._closed:
            raise is_closed()
        if self._instance is None:
            self._instance = self._take()
            self._end = weakref.finalize(self, release, self._instance)
        return self._instance

    @contextmanager
    def _cursor(self, plan: Plan, fill: scan.Fill = require) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._opened().cursor() as cursor:
            for relation in plan.needed():
                _register(cursor, relation, fill)
            yield cursor

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """Let a function in another thread hear of Ctrl-C: DuckDB stops, and waits until all of its threads have."""
        before = signal.getsignal(signal.SIGINT)
        if not self.functions or threading.current_thread() is not threading.main_thread() or not callable(before):
            yield
            return

        def stop(number: int, frame: FrameType | None) -> Any:
            self._stop.set()
            return before(number, frame)

        self._stop.clear()
        signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def _stoppable(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Let it be stopped by ``interrupt``, by ``close``, and when its time is over."""
        timer = None if self.timeout is None else threading.Timer(self.timeout, cursor.interrupt)
        self._running.append(cursor)
        try:
            if timer is not None:
                timer.daemon = True
                timer.start()
            yield
        finally:
            self._running.remove(cursor)
            if timer is not None:
                timer.cancel()


def _register(connection: duckdb.DuckDBPyConnection, relation: Relation, fill: scan.Fill) -> None:
    """Make a relation readable under its id."""
    holds = relation.holds
    if isinstance(holds, StoredTable):
        statistics = partial(file_statistics.holding, holds.lake.location, holds.name, holds.dataset, holds.codes)
        scan.register(connection, relation.id, holds, statistics, fill)
    elif isinstance(holds, Combined):
        for part in holds.parts:
            _register(connection, part, fill)
        connection.execute(f'CREATE TEMP VIEW "{relation.id}" AS {holds.sql}')
    elif hasattr(holds, "register"):  # rows that a search found, which are read when they are asked for
        holds.register(connection, relation.id)
    else:
        connection.register(relation.id, holds)


def is_closed() -> RequestError:
    """Return the error of a session that was closed."""
    return RequestError("the session is closed", code="E3040", hint="read results before closing it")
