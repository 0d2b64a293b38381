"""The state of a lake: what is made of what, what is stale, what failed, what was done; and a refresh, where that is allowed."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Route

from counterbalance.engine.errors import CounterbalanceError, RefusedError, RequestError
from counterbalance.ui import graph
from counterbalance.ui.answers import as_json, body_of, page

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.progress import Progress
    from counterbalance.engine.session import Session
    from counterbalance.ui.workplace import Workplace

_CLOSED: Final = "sensitive/"
"""Before the names of tables of closed labels, in lineage."""
_DRAWN: Final = 60
_ROWS: Final = 200
_FAILED: Final = """\
SELECT at, table_name, column_name, key, code, message, CASE WHEN table_name = 'images' THEN TRY_CAST(key AS BIGINT)
  WHEN table_name = 'captions' THEN (SELECT c.image_id FROM captions AS c WHERE c.caption_id = TRY_CAST(key AS BIGINT))
  WHEN table_name = 'detections' THEN (SELECT d.image_id FROM detections AS d WHERE d.detection_id = TRY_CAST(key AS BIGINT)) END AS image_id
FROM meta.errors WHERE column_name IS NOT NULL ORDER BY at DESC, error_id LIMIT $most"""
_REFUSED: Final = """\
SELECT source, table_name, code, count(*) AS items, min(message) AS message FROM meta.errors WHERE column_name IS NULL
GROUP BY source, table_name, code ORDER BY items DESC, source, table_name, code LIMIT $most"""
_READS: Final = "SELECT target, relation, concat_ws('.', relation, column_name), recipe FROM meta.lineage ORDER BY ALL"
"""Inputs of each definition, one step up, and the recipe that declared it."""
_RUNS: Final = """\
SELECT at, kind, target, state, mode, written, updated, rejected, seconds FROM meta.runs ORDER BY at DESC LIMIT $most"""


@dataclass
class Refreshing:
    """A refresh that a page has started.

    Args:
        targets: What is refreshed; all without any.
        stage: What is being done.
        done: Units done.
        total: Units in all, where known.
        report: What was done, once it has ended.
        error: Why it failed.
    """

    targets: tuple[str, ...] = ()
    stage: str = ""
    done: int = 0
    total: int | None = None
    report: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    @property
    def runs(self) -> bool:
        """Tell whether it goes on."""
        return self.report is None and self.error is None

    def heard(self, progress: Progress) -> None:
        """Note how far it is."""
        self.stage, self.done, self.total = progress.stage, progress.done, progress.total


async def state(request: Request) -> Response:
    """Show what is declared, what failed or was refused, and what was done; who read closed labels, to those with a purpose."""
    place: Workplace = request.app.state.place

    def work(lake: Lake, session: Session) -> dict[str, Any]:
        declared = lake.status(sensitive=session.purpose).to_pylist()
        shown = declared[:_DRAWN]
        known = {row["target"] for row in declared}
        reads: dict[str, list[str]] = {row["target"]: [] for row in shown}
        recipes: dict[str, str] = {}
        for target, relation, name, recipe in session.sql(_READS).fetchall():
            recipes |= {} if recipe is None else {target: recipe}
            if target in reads:
                reads[target].append(name if name in known else relation.removeprefix(_CLOSED))
        kinds, states = ({row["target"]: row[of] for row in shown} for of in ("kind", "state"))
        failures = session.sql("SELECT count(*) FROM meta.errors WHERE column_name IS NOT NULL").fetchall()[0][0]
        ask = {name: session.sql(text, most=_ROWS).to_arrow().to_pylist() for name, text in _ASKED.items()}
        accesses = lake.accesses(sensitive=session.purpose).to_pylist() if session.purpose else []
        reading = [row for row in accesses if row["columns"]][-_ROWS:]
        versions = dict(session.sql("SELECT name, version FROM meta.tables").fetchall())
        drawing = graph.drawn(graph.of(reads, kinds, states, versions, recipes)) if reads else ""
        return {
            "declared": declared,
            "recipes": recipes,
            "drawing": drawing,
            "left_out": len(declared) - len(shown),
            "failures": failures,
            "accesses": reading,
            "others": len(accesses) - len(reading),
            **ask,
        }

    return page(request, "state", **await place.ask(request, work))


_ASKED: Final = {"failed": _FAILED, "refused": _REFUSED, "runs": _RUNS}


async def refresh(request: Request) -> Response:
    """Start a refresh of ``{"targets": […]}``, of all without any; answers how far it is."""
    place: Workplace = request.app.state.place
    lake, name = place.lake(request), request.path_params["lake"]
    if not place.allow_refresh:
        raise RefusedError("these pages only read", code="E3221", hint="start `counterbalance ui` with --allow-refresh")
    body = await body_of(request)
    targets = body.get("targets", []) if isinstance(body, dict) else None
    if not isinstance(targets, list) or not all(isinstance(t, str) for t in targets):
        raise RequestError("targets are names", code="E3755", hint='such as {"targets": ["captions.mood"]}')
    known = place.refreshing.get(name)
    if known is None or not known.runs:
        known = place.refreshing[name] = Refreshing(tuple(targets))
        threading.Thread(target=_refresh, args=(lake, known), daemon=True).start()
    return as_json({**asdict(known), "runs": known.runs})


async def progress(request: Request) -> Response:
    """Answer how far the refresh is that a page has started, if one was."""
    place: Workplace = request.app.state.place
    place.lake(request)
    known = place.refreshing.get(request.path_params["lake"], Refreshing(report={}))
    return as_json({**asdict(known), "runs": known.runs})


def _refresh(lake: Lake, known: Refreshing) -> None:
    try:
        report = lake.refresh(*known.targets, progress=known.heard)
    except CounterbalanceError as error:
        known.error = error.to_dict()
    except BaseException as error:
        known.error = CounterbalanceError(f"the refresh failed: {type(error).__name__}").to_dict()
        raise
    else:
        known.report = report.to_dict()


ROUTES: Final = (
    Route("/lakes/{lake}/state", state),
    Route("/api/lakes/{lake}/refresh", refresh, methods=["POST"]),
    Route("/api/lakes/{lake}/refresh", progress, methods=["GET"]),
)
