"""What a worker process runs: one session after another, one request at a time.

Requests come as lines of JSON on stdin, tables of the caller's behind them as Arrow IPC streams; answers are a line of JSON
and, where it says so, bytes of Arrow IPC; lines before it tell how far it is. stdout belongs to this conversation alone. A parent that is gone closes
stdin, and this process ends.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import faulthandler
import json
import os
import queue
import sys
import threading
import time
import traceback
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import pyarrow as pa

from counterbalance.engine import memory, temp_dirs
from counterbalance.engine.catalog import closed, definitions, snapshot
from counterbalance.engine.catalog.pinned import Pinned
from counterbalance.engine.errors import CounterbalanceError, LimitError
from counterbalance.engine.executors.worker_main import die_first, own_streams
from counterbalance.engine.functions import load_file
from counterbalance.engine.isolation.values import decoded
from counterbalance.engine.progress import Progress, heard_by
from counterbalance.engine.session import Session
from counterbalance.engine.sql import parse, queries
from counterbalance.engine.store.location import Location

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterbalance.engine.functions import OpenFunctions
    from counterbalance.engine.result import Result
    from counterbalance.engine.store.pins import Pin

_LAST: Final = 1.0
"""Seconds that a query has for ending after the parent is gone."""


class _NoPin:
    """The parent's session keeps the versions."""

    def release(self) -> None:
        """Do nothing, for nothing is kept here."""


def _session(lakes: Mapping[str, Mapping[str, Any]], settings: Mapping[str, Any]) -> Session:
    """Return the parent's session here: on the same snapshot, with what was declared when that was taken."""
    moments = {"": settings["at"], **settings["attached_at"]}
    by_place = {(lake["uri"], moments.get(name)): lake for name, lake in lakes.items()}

    def pinned(location: Location, at: str | None) -> Pinned:
        lake = by_place[location.uri, at]
        moment = None if lake["moment"] is None else dt.datetime.fromisoformat(lake["moment"])
        taken = snapshot.Snapshot(
            lake["versions"], frozenset(lake["coded"]), lake["unfinished"], lake["details"], moment
        )
        columns = {table: frozenset(names) for table, names in lake["closed"]["columns"].items()}
        hidden = closed.Closed(frozenset(lake["closed"]["views"]), columns)
        declared = [definitions.Definition.from_json(text) for text in lake["declared"]]
        by_target = definitions.Definitions({d.target: d for d in declared})
        return Pinned(cast("Pin", _NoPin()), location, taken, snapshot.codes(location), by_target, hidden)

    places = {name: Location(lake["uri"], lake["storage_options"]) for name, lake in lakes.items()}
    return Session(places.pop(""), attach=places, pins=pinned, **settings)


class Server:
    """Answers a parent's requests.

    Args:
        told: Where answers go.
    """

    def __init__(self, told: int) -> None:
        self._told = told
        self._telling = threading.Lock()
        self._session: Session | None = None
        self._results: dict[int, Result] = {}
        self._streams: dict[int, pa.RecordBatchReader] = {}
        self._models: OpenFunctions | None = None
        self._number: int | None = None

    def interrupt(self) -> None:
        """Stop what runs; from another thread."""
        session = self._session
        if session is not None:
            session.interrupt()

    def answer(self, request: Mapping[str, Any]) -> None:
        """Do what is asked, and tell the outcome; ``quietly`` asks for none."""
        payload: pa.Buffer | None = None
        try:
            reply, payload = getattr(self, f"_{request['do']}")(request)
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent raises it
            reply = {"error": _as_told(error)}
        except KeyboardInterrupt:
            reply = {"error": _as_told(LimitError("cancelled", code="E5004"))}
        if "quietly" not in request:
            self.tell(reply, payload)

    def tell(self, reply: Mapping[str, Any], payload: pa.Buffer | None = None) -> None:
        """Send an answer."""
        size = 0 if payload is None else payload.size
        with self._telling:
            _write_all(self._told, memoryview(json.dumps({**reply, "size": size}).encode() + b"\n"))
            if payload is not None:
                _write_all(self._told, memoryview(payload))

    def tell_progress(self, progress: Progress) -> None:
        """Send how far a function is; from any thread, before the answer."""
        self.tell({"progress": asdict(progress)})

    def close(self) -> None:
        """Let the session go, with its models and its spill space."""
        self._models = None
        if self._session is not None:
            self._session.close()
        self._let_go()

    def _let_go(self) -> None:
        self._streams.clear()
        self._results.clear()
        self._session = None

    # -- requests ----------------------------------------------------------------------------------------------------

    def _open(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], None]:
        """Serve another session; models of the last one that had any stay for the next."""
        self._leave({"session": self._number})
        memory.uncap() if request["memory"] is None else memory.cap(request["memory"])
        self._session, self._number = _session(request["lakes"], request["settings"]), request["session"]
        return {}, None

    def _leave(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], None]:
        """Let go of a session that nobody holds any more; its models stay for the next."""
        if request["session"] == self._number and self._session is not None:
            self._models = self._session.functions or self._models
            self._let_go()
        return {}, None

    def _sql(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], None]:
        values = _prepared(request)
        return self._planned(request, self._own().sql(request["text"], values, max_rows=request["max_rows"]))

    def _audit(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], None]:
        values = _prepared(request)
        with _folder(request["folder"]):
            found = self._own().audit(request["text"], max_rows=request["max_rows"], **values)
        return self._planned(request, found)

    def _planned(self, request: Mapping[str, Any], found: Result) -> tuple[dict[str, Any], None]:
        self._results[request["id"]] = found
        return {"sql": found.sql, "notes": found.notes, "functions": [*self._own().functions]}, None

    def _expand(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], None]:
        return {"sql": self._own().expand(request["text"], **_prepared(request))}, None

    def _schema(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], pa.Buffer]:
        return {}, self._results[request["id"]].schema.serialize()

    def _next(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], pa.Buffer | None]:
        """Return the next rows of a reading, which begins with the first of them; at its end all that is to be known."""
        found, stream = self._results[request["id"]], request["stream"]
        if stream not in self._streams:
            self._streams[stream] = found.to_batches()
        try:
            batch = self._streams[stream].read_next_batch()
        except BaseException as error:
            del self._streams[stream]
            if isinstance(error, StopIteration):
                return {"notes": found.notes, "end": True}, None
            raise
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return {"notes": found.notes}, sink.getvalue()

    def _drop(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], None]:
        """Forget a result, or a reading of one that was given up."""
        self._results.pop(request.get("id", -1), None)
        self._streams.pop(request.get("stream", -1), None)
        return {}, None

    def _forget(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], None]:
        """Forget a session that was closed."""
        if request["session"] == self._number:
            self.close()
        return {}, None

    def _own(self) -> Session:
        assert self._session is not None  # noqa: S101 - the parent opens one first
        return self._session


def _prepared(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return values and tables of a query, when its functions are there."""
    import importlib

    for name in request["modules"]:
        importlib.import_module(name)
    for file in request["udfs"]:
        load_file(file)
    queries.restore(request["queries"])
    return {**{name: decoded(value) for name, value in request["values"].items()}, **request["tables"]}


def _as_told(error: Exception) -> dict[str, Any]:
    if isinstance(error, CounterbalanceError):
        if error.__cause__ is not None and os.environ.get("COUNTERBALANCE_DEBUG"):
            traceback.print_exception(error.__cause__)
        return {**error.to_dict(), "sql": error.sql}
    if isinstance(error, MemoryError):
        told = LimitError(
            "the query needs more memory than it may have", code="E5002", hint="narrow it, or raise --memory"
        )
        return told.to_dict()
    traceback.print_exception(error)
    text = " ".join(str(error).split())[:400]
    return CounterbalanceError(
        f"{type(error).__name__}: {text}", hint="its traceback is on stderr; report it"
    ).to_dict()


@contextlib.contextmanager
def _folder(path: str) -> Any:
    """Be where the caller is: files of word lists may be named from there."""
    with contextlib.suppress(OSError):
        os.chdir(path)
    yield


def _write_all(handle: int, data: memoryview) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _listen(asked: BinaryIO, inbox: queue.SimpleQueue[Any], server: Server) -> None:
    with contextlib.suppress(OSError, ValueError, pa.ArrowException):  # the parent died in the middle of a sentence
        while line := asked.readline():
            request = json.loads(line)
            if request["do"] == "interrupt":
                server.interrupt()
                continue
            request["tables"] = {name: pa.ipc.open_stream(asked).read_all() for name in request.get("tables", ())}
            inbox.put(request)
    inbox.put(None)
    server.interrupt()
    time.sleep(_LAST)
    temp_dirs.remove_all()
    os._exit(1)


def _warm_up() -> None:
    """Load what any query needs."""
    import duckdb
    import lance  # noqa: F401 - so that it is there

    queries.queries()
    parse.to_sql(parse.parse("SELECT 1").tree)
    duckdb.connect(":memory:").close()


def main() -> None:
    """Serve one parent; the second argument is where the traceback of a crash goes."""
    asked, told = own_streams()
    faulthandler.enable(int(sys.argv[2]))
    die_first()
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such limits here, or less is allowed already
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = int(temp_dirs.most_bytes(temp_dirs.place()).removesuffix("B"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    _warm_up()
    server = Server(told)
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(asked, inbox, server), daemon=True).start()
    server.tell({"ready": True})
    with heard_by(server.tell_progress):
        while (request := inbox.get()) is not None:
            server.answer(request)
            del request
    server.close()
