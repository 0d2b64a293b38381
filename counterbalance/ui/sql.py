"""The SQL page, and the API that runs a query, stops it, and offers how a word may go on."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from starlette.responses import Response
from starlette.routing import Route

from counterbalance.engine.dispatch import dispatch
from counterbalance.engine.errors import LimitError, RefusedError, RequestError
from counterbalance.shell.complete import SqlCompleter
from counterbalance.shell.output import OutputOptions, Sink, write_to
from counterbalance.ui.answers import as_json, as_rows, body_of, page
from counterbalance.ui.workplace import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.requests import Request

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.result import Result
    from counterbalance.engine.session import Session
    from counterbalance.engine.sql.statements import Statement
    from counterbalance.ui.workplace import Workplace

_OFFERS: Final = 50
_SHOWN: Final = 1_000
"""Rows on the page, unless more are asked for."""
_FILES: Final = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
_FILE_ROWS: Final = 1_000_000
_MOST_BYTES: Final = 32 << 20
_MOST_FILE: Final = 256 << 20
"""Bytes of an answer in memory, of rows and as a file."""


async def editor(request: Request) -> Response:
    """Show the editor, with the query of the address."""
    place: Workplace = request.app.state.place
    place.lake(request)
    own = request.headers.get("sec-fetch-site", "none") in {"none", "same-origin"}
    return page(request, "sql", query=request.query_params.get("q", ""), runs=own, files=list(_FILES), most=_SHOWN)


async def query(request: Request) -> Response:
    """Run ``{"sql": …, "params": {…}, "rows": 1000, "id": …}`` in a process of its own, which limits of time and memory end.

    Answers rows as JSON or Arrow, or with ``"format"`` (csv, jsonl, parquet) as a file. Only queries are run.
    """
    place: Workplace = request.app.state.place
    body = await _body(request)
    text, most = body["sql"], _whole(body.get("rows", _SHOWN), ROWS)
    format_ = body.get("format")
    if format_ is not None and (not isinstance(format_, str) or format_ not in _FILES):
        raise RequestError(f"no format {str(format_)[:40]!r}", code="E3753", hint="formats: " + ", ".join(_FILES))
    name = (request.scope["client_id"], str(body.get("id", ""))[:64])
    began = time.perf_counter()

    def work(_: Lake, session: Session) -> Response:
        if name[1]:
            place.running[name] = session
        try:
            result = _read(session, text, body.get("params") or {}, most if format_ is None else _FILE_ROWS)
            if format_ is not None:
                return _as_file(result, format_)
            rows = pa.Table.from_batches(_within(result.to_batches(), _MOST_BYTES), result.schema)
            return as_rows(request, rows, notes=result.notes, seconds=round(time.perf_counter() - began, 3))
        finally:
            place.running.pop(name, None)

    return await place.ask(request, work, apart=True)


def _within(batches: pa.RecordBatchReader, most: int) -> Iterator[pa.RecordBatch]:
    """Yield batches as long as they are not too much for one answer.

    Raises:
        LimitError: They are.
    """
    size = 0
    for batch in batches:
        size += batch.nbytes
        if size > most:
            raise LimitError(
                f"the answer is larger than {most >> 20} MB",
                code="E5010",
                hint="ask for fewer rows or columns, or run it in a terminal: counterbalance sql LAKE … -o FILE",
            )
        yield batch


def _as_file(result: Result, format_: str) -> Response:
    stream = io.BytesIO()
    batches = pa.RecordBatchReader.from_batches(result.schema, _within(result.to_batches(), _MOST_FILE))
    write_to(Sink(stream, OutputOptions(format=format_)), batches)
    headers = {"content-disposition": f'attachment; filename="rows.{format_}"'}
    return Response(stream.getvalue(), media_type=_FILES[format_], headers=headers)


async def stop(request: Request) -> Response:
    """Stop the query that this browser calls ``{"id": …}``; one that has not begun yet goes on, and is stopped when asked again."""
    body = await body_of(request)
    given = str(body.get("id", "")) if isinstance(body, dict) else ""
    place: Workplace = request.app.state.place
    session = place.running.get((request.scope["client_id"], given))
    if session is not None:
        session.interrupt()
    return as_json({"stopped": session is not None})


async def complete(request: Request) -> Response:
    """Offer how the word before a place may go on: ``{"sql": …, "at": 12}``, ``at`` counting characters."""
    place: Workplace = request.app.state.place
    body = await _body(request)
    at = _whole(body.get("at", len(body["sql"])), len(body["sql"]))

    def work(_: Lake, session: Session) -> list[dict[str, Any]]:
        found = SqlCompleter(session).get_completions(Document(body["sql"], at), CompleteEvent())
        return [
            {"text": c.text, "from": at + c.start_position, "kind": c.display_meta_text}
            for c, _ in zip(found, range(_OFFERS), strict=False)
        ]

    return as_json({"offers": await place.ask(request, work, plain=True)})


async def _body(request: Request) -> Mapping[str, Any]:
    body = await body_of(request)
    if (
        not isinstance(body, dict)
        or not isinstance(body.get("sql"), str)
        or not isinstance(body.get("params") or {}, dict)
    ):
        raise RequestError(
            "a query is an object with sql, a text",
            code="E3754",
            hint='such as {"sql": "SELECT $a", "params": {"a": 1}}',
        )
    return body


def _whole(given: Any, most: int) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise RequestError(f"{str(given)[:40]!r} is no number of rows or characters", code="E3754", hint="0 or more")
    return min(given, most)


def _read(session: Session, text: str, params: Mapping[str, Any], most: int) -> Result:
    """Run a query, and nothing that changes the lake."""

    def refuse(_: Statement) -> Result:
        raise RefusedError("these pages only read", code="E3220", hint="run it in a terminal: counterbalance sql LAKE")

    return dispatch(text, query=lambda t: session.sql(t, params, max_rows=most), declare=refuse, refresh=refuse)


ROUTES: Final = (
    Route("/lakes/{lake}/sql", editor),
    Route("/api/lakes/{lake}/query", query, methods=["POST"]),
    Route("/api/lakes/{lake}/complete", complete, methods=["POST"]),
    Route("/api/stop", stop, methods=["POST"]),
)
