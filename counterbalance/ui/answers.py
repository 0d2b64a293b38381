"""How results and errors leave the server: JSON or Arrow for programs, a page for people."""

from __future__ import annotations

import base64
import datetime as dt
import io
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa
from starlette.responses import HTMLResponse, Response

from counterbalance.engine.errors import (
    BusyError,
    CounterbalanceError,
    LimitError,
    NotFoundError,
    RefusedError,
    RequestError,
    SensitiveError,
    SourceError,
    kind_of,
)
from counterbalance.report import pages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

ARROW: Final = "application/vnd.apache.arrow.stream"
_OPTION: Final = '--sensitive "why"'
"""Option that hints name, which a browser has not."""
_EXACT: Final = 2**53 - 1
_EXACT_DIGITS: Final = 15
_STATUS: Final = (
    (NotFoundError, 404),
    (SensitiveError, 403),
    (RefusedError, 403),
    (RequestError, 400),
    (SourceError, 400),
    (LimitError, 413),
    (BusyError, 409),
    (CounterbalanceError, 500),
)


def as_json(body: Any, status: int = 200) -> Response:
    """Return an answer in JSON; whole numbers that JavaScript would round, such as ids that are hashes, are texts."""
    return Response(
        orjson.dumps(_exact(body), default=_plain, option=orjson.OPT_NON_STR_KEYS),
        status,
        media_type="application/json",
    )


def _exact(value: Any) -> Any:
    if isinstance(value, int):
        return value if -_EXACT <= value <= _EXACT else str(value)
    if isinstance(value, list | tuple):
        return [_exact(v) for v in value]
    return {k: _exact(v) for k, v in value.items()} if isinstance(value, dict) else value


def _plain(value: Any) -> Any:
    """Return what JSON has no form for as text: bytes in base64, moments in ISO 8601, whole numbers beyond 64 bits."""
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    return str(value)


def as_rows(request: Request, rows: pa.Table, *, notes: Sequence[str] = (), **more: Any) -> Response:
    """Return a table as the request asks: as a stream of Arrow, or as JSON.

    Args:
        request: With ``Accept``.
        rows: The table.
        notes: What a person should know beside it.
        more: Further fields of the JSON.
    """
    if ARROW in request.headers.get("accept", ""):
        buffer = io.BytesIO()
        with pa.ipc.new_stream(buffer, rows.schema) as stream:
            stream.write_table(rows)
        return Response(buffer.getvalue(), media_type=ARROW)
    columns = [{"name": field.name, "type": str(field.type)} for field in rows.schema]
    values = list(zip(*map(_values, rows.columns), strict=True)) if columns else []
    return as_json({"columns": columns, "rows": values, "notes": list(notes), **more})


def _number(value: Decimal) -> Any:
    """Return a decimal as a number where that is exact, and as text where it is not."""
    if not value.is_finite():
        return None
    if len(value.as_tuple().digits) > _EXACT_DIGITS:
        return str(value)
    return int(value) if value == value.to_integral_value() else float(value)


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column; those that Python has no form for, such as dates of far away years, as text."""
    found: list[Any]
    try:
        found = column.to_pylist()
    except (OverflowError, ValueError):
        found = column.cast(pa.string()).to_pylist()
    return found


async def body_of(request: Request) -> Any:
    """Return what a request sends as JSON.

    Raises:
        RequestError: It is none.
    """
    try:
        return orjson.loads(await request.body())
    except orjson.JSONDecodeError as error:
        raise RequestError(f"the body is no JSON: {error}", code="E3759", hint='such as {"sql": "SELECT 1"}') from error


def page(request: Request, name: str, *, status: int = 200, **contents: Any) -> Response:
    """Return a page.

    Args:
        request: Whose address it is.
        name: Of its template, without ``.html.j2``.
        status: Of HTTP.
        contents: What is put into the template; all of it is escaped.
    """
    place = request.app.state.place
    template = pages.template(__package__, "pages/base.html.j2", f"pages/{name}.html.j2")
    shared = {
        "lakes": list(place.lakes),
        "lake": request.path_params.get("lake", ""),
        "here": request.scope["path"],
        "purpose": place.purpose(request),
        "allow_refresh": place.allow_refresh,
        "annotator": place.annotator,
        "advice": advice,
    }
    return HTMLResponse(template.render(**shared, **contents), status)


def advice(hint: str) -> str:
    """Return a hint or a note as it helps in a browser.

    Example:
        >>> advice('state a purpose: --sensitive "why", which is logged')
        'state a purpose: the button at the top, which is logged'
    """
    return hint.replace(_OPTION, "the button at the top")


def status_of(error: CounterbalanceError) -> int:
    """Return the status of HTTP that goes with an error."""
    return next(code for kind, code in _STATUS if isinstance(error, kind))


async def cut(request: Request, error: Exception) -> Response:
    """Return that a body was larger than it said."""
    del request, error
    return as_json(
        {"error": {"code": "E3758", "message": "the body is too large", "hint": None, "retryable": False}}, 413
    )


async def failed(request: Request, error: Exception) -> Response:
    """Return an error of this package as JSON to programs, as a page to people."""
    if not isinstance(error, CounterbalanceError):
        error = CounterbalanceError(f"the server failed: {kind_of(error)}", hint="its terminal shows where")
    status = status_of(error)
    if request.url.path.startswith("/api/"):
        return as_json({"error": error.to_dict()}, status)
    return page(request, "error", status=status, error=error)
