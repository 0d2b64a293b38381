"""The application: routes of all pages and of the API beneath, behind the guard."""

from __future__ import annotations

import contextlib
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import yaml
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from counterbalance.engine.errors import CounterbalanceError, NotFoundError
from counterbalance.ui import (
    answers,
    audits,
    browse,
    compare,
    edits,
    findings,
    home,
    places,
    selection,
    sql,
    state,
    tags,
    thumbnails,
)
from counterbalance.ui.guard import Guard
from counterbalance.ui.workplace import Workplace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Mapping

    from starlette.requests import Request

    from counterbalance.engine.lake import Lake

_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
ROUTES: Final = (
    *home.ROUTES,
    *audits.ROUTES,
    *browse.ROUTES,
    *compare.ROUTES,
    *edits.ROUTES,
    *findings.ROUTES,
    *places.ROUTES,
    *sql.ROUTES,
    *state.ROUTES,
    *tags.ROUTES,
    *thumbnails.ROUTES,
)


def create(
    lakes: Mapping[str, Lake],
    *,
    token: str,
    hosts: Collection[str],
    allow_refresh: bool = False,
    annotator: str | None = None,
) -> Guard:
    """Return the application, behind its guard; ``stop`` ends what it is at.

    Args:
        lakes: By the name in addresses.
        token: Lets in who has it.
        hosts: Names and ports under which the server is asked, such as ``127.0.0.1:8010``.
        allow_refresh: Pages may start a refresh.
        annotator: Who answers on these pages; without one they keep no answers.
    """
    place = Workplace(lakes, allow_refresh=allow_refresh, annotator=annotator)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        place.close()

    app = Starlette(
        routes=[Route("/", _first), Route("/static/{name}", _static), Route("/api/openapi.json", _described), *ROUTES],
        exception_handlers={
            CounterbalanceError: answers.failed,
            ClientDisconnect: answers.cut,
            404: _unknown,
            500: answers.failed,
        },
        lifespan=lifespan,
    )
    app.state.place = place
    app.state.selections = selection.Selections()
    app.state.thumbnails = thumbnails.Thumbnails()
    return Guard(app, token, hosts, stop=place.stop)


async def _first(request: Request) -> Response:
    return RedirectResponse(f"/lakes/{next(iter(request.app.state.place.lakes))}", 303)


async def _unknown(request: Request, error: Exception) -> Response:
    del error
    return await answers.failed(request, NotFoundError(f"no page {request.url.path}", code="E1061", hint="begin at /"))


async def _described(request: Request) -> Response:
    """Describe the API as OpenAPI does; the file is held against routes and answers by a test."""
    del request
    return answers.as_json(yaml.safe_load(files(__package__).joinpath("openapi.yaml").read_bytes()))


async def _static(request: Request) -> Response:
    """Return a file of the package, by its bare name."""
    name = request.path_params["name"]
    kind = next((kind for end, kind in _KINDS.items() if name.endswith(end)), None)
    file = next((f for f in files(__package__).joinpath("static").iterdir() if f.name == name), None)
    if kind is None or file is None:
        raise NotFoundError(f"no file {name[:40]!r}", code="E1061", hint="begin at /")
    return Response(file.read_bytes(), media_type=kind, headers={"cache-control": "no-cache"})
