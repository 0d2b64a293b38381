"""What stands out in a lake, and what is missing in it: the report's audits, run once for each state of the lake."""

from __future__ import annotations

import asyncio
import hashlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Route

from counterbalance.engine.sql import queries
from counterbalance.report import absent, chapters, overview
from counterbalance.report.build import surest
from counterbalance.report.renderer import FigureRenderer
from counterbalance.ui import audits, kept
from counterbalance.ui.answers import as_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.ui.workplace import Workplace


async def findings(request: Request) -> Response:
    """Answer the surest differences with their q, and what audits lack, as a default session sees both.

    Of a large lake that takes minutes, once for each of its states: it goes on when nobody waits any more, all who ask meanwhile wait
    for the same, and the next server that this user starts finds it in the cache.
    """
    place: Workplace = request.app.state.place
    name = request.path_params["lake"]

    def work(lake: Lake, session: Session) -> dict[str, Any]:
        state = _state(session)
        known = place.found.get(name)
        if known is None or known[0] != state:
            found = kept.findings(lake.location.root, state)
            if found is None:
                found = _found(lake, session)
                kept.keep_findings(lake.location.root, state, found)
            known = place.found[name] = (state, found)
        return known[1]

    if name not in place.finding:
        task = place.finding[name] = asyncio.ensure_future(place.ask(request, work, watched=False, sensitive=None))
        task.add_done_callback(lambda _: place.finding.pop(name))
    return as_json(await asyncio.shield(place.finding[name]))


def _state(session: Session) -> str:
    """Return a digest of what findings are made of: the versions of all tables, and the text of all audits."""
    made_of = [version("counterbalance"), *sorted(session.pinned.items())]
    texts = sorted((query.name, query.sql) for query in queries.sound())
    return hashlib.sha256(repr((made_of, texts)).encode()).hexdigest()


def _found(lake: Lake, session: Session) -> dict[str, Any]:
    renderer = FigureRenderer(session)
    sections = [overview.section(renderer), *chapters.sections(renderer)]
    figures = [f for s in sections for f in s.figures if f.tests]
    missing = absent.found(sections, lake.uri, has_captions="captions" in renderer.there)
    return {
        "findings": [
            {
                "title": f.title,
                "finding": f.finding,
                "q": q,
                "sql": f.call,
                "page": audits.address(f.audit, f.given) if f.audit else None,
            }
            for q, f in surest(figures)
        ],
        "looked_at": sum(len(f.tests) for f in figures),
        "missing": [{"why": a.why, "titles": a.titles, "commands": list(a.commands)} for a in missing],
    }


ROUTES: Final = (Route("/api/lakes/{lake}/findings", findings),)
