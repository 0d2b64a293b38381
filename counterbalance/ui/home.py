"""The first page: what a lake holds, what is stale, and for what purpose closed labels are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Route

from counterbalance.engine.catalog import access
from counterbalance.engine.errors import RequestError
from counterbalance.report import overview
from counterbalance.ui.answers import as_json, body_of, page
from counterbalance.ui.audits import absolute

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.ui.workplace import Workplace

_LONGEST: Final = 500


async def home(request: Request) -> Response:
    """Show tables with their rows, what is declared and stale, and the last runs."""
    place: Workplace = request.app.state.place

    def work(lake: Lake, session: Session) -> dict[str, Any]:
        status = lake.status(sensitive=session.purpose).to_pylist()
        return {
            "uri": lake.uri,
            "place": absolute(lake.uri),
            "tables": overview.tables(session),
            "notes": overview.notes(session),
            "runs": overview.runs(session),
            "declared": status,
        }

    return page(request, "home", **await place.ask(request, work))


async def lakes(request: Request) -> Response:
    """List the lakes of this server."""
    place: Workplace = request.app.state.place
    return as_json({"lakes": [{"name": name, "uri": lake.uri} for name, lake in place.lakes.items()]})


async def tables(request: Request) -> Response:
    """List the tables of a lake."""
    place: Workplace = request.app.state.place
    return as_json({"tables": await place.ask(request, lambda _, session: overview.tables(session))})


async def purpose(request: Request) -> Response:
    """Note why this browser reads closed labels from now on, which every query then writes to the access log; ``""`` ends it."""
    place: Workplace = request.app.state.place
    body = await body_of(request)
    stated = body.get("purpose") if isinstance(body, dict) else None
    client = request.scope["client_id"]
    if not isinstance(stated, str) or not client or len(stated) > _LONGEST or not stated.isprintable():
        raise RequestError(
            f"a purpose is one line of at most {_LONGEST} characters that a browser states",
            code="E3740",
            hint='{"purpose": "…"}; "" to end it',
        )
    if stated.strip():
        access.check_purpose(stated)
        place.purposes[client] = stated
    else:
        place.purposes.pop(client, None)
    return as_json({"purpose": place.purposes.get(client)})


ROUTES: Final = (
    Route("/lakes/{lake}", home),
    Route("/api/lakes", lakes),
    Route("/api/lakes/{lake}/tables", tables),
    Route("/api/purpose", purpose, methods=["POST"]),
)
