"""Edits of contrast sets beside the pictures that they were made of, with scores and ranks, and what people say of them."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from starlette.responses import Response
from starlette.routing import Route

from counterbalance.engine.errors import NotFoundError, RefusedError, SensitiveError
from counterbalance.engine.recipes.files import recipes
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.report.pictures import IS_SAFE
from counterbalance.report.sheet.review import Edits, attribute_of, edits_of, facts, format_value
from counterbalance.report.svg import plain
from counterbalance.ui import verdicts
from counterbalance.ui.answers import as_json, body_of, page
from counterbalance.ui.thumbnails import jpeg, number, side_of, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.ui.workplace import Workplace

MOST: Final = 60
"""Edits of a source that are shown."""
LETTERS: Final = "abcdefgh"
"""Keys that choose an edit."""
_TEXT: Final = 300
_SAFE: Final = f"NOT EXISTS (SELECT 1 FROM images AS i WHERE i.image_id = e.image_id AND NOT ({IS_SAFE}))"
"""Its source does not say that an edit's picture was made of one that is not safe."""
_HAS_SOURCE: Final = "e.image_id IN (SELECT image_id FROM images)"


async def show(request: Request) -> Response:
    """Show a source beside its edits: the one that the address names, else the first of which the annotator has one to answer."""
    place: Workplace = request.app.state.place
    given = request.query_params

    def work(lake: Lake, session: Session) -> dict[str, Any]:
        views = _views(session)
        view = given.get("view") or _first_open(session, views)
        found: dict[str, Any] = {"views": views, "view": view, "source": None}
        if not view:
            return found | {"recipes": [] if views else _recipes()}
        edits = edits_of(session, view)
        source = number(given["source"]) if given.get("source") else None
        why = _why_not(lake, session, edits)
        done = 0
        if place.annotator is not None and not why:
            done, first = verdicts.progress(session, edits, place.annotator)
            source = first if source is None else source
        found |= _source(session, edits, source)
        commands = [] if why else verdicts.accepted(request.path_params["lake"], edits)
        return found | {"view": edits.view, "done": done, "accepted": commands, "why": why}

    found = await place.ask(request, work, with_bytes=True)
    return page(request, "edits", **found, letters=LETTERS, values=verdicts.VALUES)


async def picture(request: Request) -> Response:
    """Show an edited picture, made of its decoded pixels."""
    place: Workplace = request.app.state.place
    view, edit, side = request.path_params["view"], request.path_params["edit_id"], side_of(request)
    unsafe = request.query_params.get("unsafe") == "1"

    def work(lake: Lake, session: Session) -> bytes | None:
        del lake
        edits = edits_of(session, view)
        (data, is_safe) = _edit(session, edits, edit, f'"{edits.picture}", {_SAFE}')
        return jpeg(data, side) if is_safe or unsafe else None

    data = await place.ask(request, work, with_bytes=True)
    if data is None:
        raise _missing(f"no picture of edit {edit} of {view} that can be shown")
    return Response(data, media_type="image/jpeg")


async def answer(request: Request) -> Response:
    """Keep what the annotator of these pages says of an edit, ``{"value": "good"}``, in the place of what was said before."""
    place: Workplace = request.app.state.place
    view, edit = request.path_params["view"], request.path_params["edit_id"]
    annotator, value = verdicts.asked(place.annotator, await body_of(request))

    def work(lake: Lake, session: Session) -> dict[str, Any]:
        edits = edits_of(session, view)
        verdicts.refuse_closed(lake, session, edits)
        edit_id, image_id, is_there = _edit(session, edits, edit, f"edit_id, image_id, {_HAS_SOURCE}")
        if not is_there:
            raise _missing(f"edit {edit_id} of {edits.view} has no source in this lake")
        named = attribute_of(edits.view)
        verdicts.keep(lake, pa.array([image_id], pa.int64()), named, value, annotator, edit_id)
        return {"edit_id": edit_id, "image_id": image_id, "attribute": named, "value": value, "annotator": annotator}

    return as_json(await place.ask(request, work, with_bytes=True, watched=False))


def _why_not(lake: Lake, session: Session, edits: Edits) -> str:
    """Return why pages keep no answers; nothing where they do."""
    try:
        verdicts.refuse_closed(lake, session, edits)
    except RefusedError as error:
        return f"{error.message}; {error.hint}"
    return ""


def _missing(what: str) -> NotFoundError:
    return NotFoundError(
        what, code="E1068", hint="edits go by the number in edit_id, their sources by that in image_id"
    )


def _edit(session: Session, edits: Edits, text: str, columns: str) -> tuple[Any, ...]:
    """Return columns of the edit that an address names."""
    edit_id = whole(text)
    query = f"SELECT {columns} FROM {edits.view} AS e WHERE edit_id = {edit_id} LIMIT 1"
    rows = [] if edit_id is None else session.sql(query).fetchall()
    if not rows:
        raise _missing(f"{edits.view} has no edit {text[:40]!r}")
    found: tuple[Any, ...] = rows[0]
    return found


def _views(session: Session) -> list[str]:
    """Return names of the stored relations that hold edits."""
    found = []
    for relation in session.relations():
        kinds = dict(relation.columns)
        is_stored = relation.schema is None and relation.name not in BASE_TABLES
        if is_stored and re.fullmatch(r"[a-z_][a-z0-9_]*", relation.name):
            of_numbers = all(kinds.get(name) == "int64" for name in ("edit_id", "image_id"))
            if of_numbers and {"binary", "large_binary"} & {*kinds.values()}:
                found.append(relation.name)
    return found


def _first_open(session: Session, views: Sequence[str]) -> str:
    """Return the first view that this session may read."""
    for view in views:
        try:
            session.sql(f"SELECT edit_id FROM {view} LIMIT 0").fetchall()
        except SensitiveError:
            continue
        return view
    return ""


def _recipes() -> list[tuple[str, str]]:
    """Return name and purpose of the recipes that make edited pictures."""
    texts = {name: " ".join(t for s in r.steps for t in s.statements) for name, r in recipes().items()}
    return [(n, r.doc) for n, r in recipes().items() if " AS edit_id" in texts[n] and " edited " in texts[n]]


def _source(session: Session, edits: Edits, source: int | None) -> dict[str, Any]:
    """Return a source between its neighbours, and its edits; both in the order of a hash, which favours none."""
    by_hash = "OVER (ORDER BY md5(CAST(image_id AS VARCHAR)), image_id)"
    text = (
        f"WITH sources AS (SELECT image_id, count(*) AS edits FROM {edits.view} WHERE image_id IS NOT NULL GROUP BY image_id) "
        f"SELECT image_id, row_number() {by_hash} AS place, lag(image_id) {by_hash} AS before, "
        f"lead(image_id) {by_hash} AS after, count(*) OVER () AS total, sum(edits) OVER () AS edits FROM sources"
    )
    chosen = "place = 1" if source is None else f"image_id = {source}"
    placed = session.sql(f"SELECT * FROM ({text}) AS p WHERE {chosen}").to_arrow().to_pylist()
    if not placed:
        if source is None:
            return {}
        raise _missing(f"{edits.view} has no edits of image {source}")
    at = placed[0]
    given = verdicts.given(session, edits, at["image_id"])
    rows = _rows(session, edits, at["image_id"], given)
    caption = session.sql(
        "SELECT text FROM captions WHERE image_id = $id AND text IS NOT NULL ORDER BY caption_id LIMIT 1",
        id=at["image_id"],
    ).fetchall()
    return {
        "source": {**at, "caption": plain(caption[0][0][:_TEXT]) if caption else ""},
        "edits": rows[:MOST],
        "more": max(0, len(rows) - MOST),
    }


def _rows(
    session: Session, edits: Edits, image_id: int, given: Mapping[int, Mapping[str, str]]
) -> list[dict[str, Any]]:
    """Return the edits of a source with what is known of each, and who answered what."""
    label = "label" if edits.has_label else "NULL AS label"
    others = "".join(f', "{c}"' for c in edits.shown)
    rows = session.sql(
        f"SELECT edit_id, {label}{others} FROM {edits.view} WHERE image_id = {image_id} "
        "ORDER BY md5(CAST(edit_id AS VARCHAR)), edit_id"
    )
    found = rows.to_arrow().to_pylist()
    ranks = {name: _ranks([row[name] for row in found]) for name in edits.shown}
    told = {name.replace("_", " "): ranks[name] for name in edits.shown}
    return [
        {
            "edit_id": row["edit_id"],
            "label": format_value(row["label"]),
            "answers": given.get(row["edit_id"], {}),
            "facts": [(name, text, told[name].get(n)) for name, text in facts(row, edits)],
        }
        for n, row in enumerate(found)
    ]


def _ranks(values: Sequence[Any]) -> Mapping[int, int]:
    """Return the rank of each score, the highest first, by place; nothing where they are no scores, or all the same.

    Example:
        >>> _ranks([0.5, 0.25, None, 0.5]), _ranks([7.5, 7.5]), _ranks(["a", "b"])
        ({0: 1, 1: 3, 3: 1}, {}, {})
    """
    scores = [v for v in values if isinstance(v, float) and math.isfinite(v)]
    if len({*scores}) < 2:
        return {}
    return {n: 1 + sum(s > v for s in scores) for n, v in enumerate(values) if v in scores}


ROUTES: Final = (
    Route("/lakes/{lake}/edits", show),
    Route("/api/lakes/{lake}/edits/{view}/{edit_id}/picture", picture),
    Route("/api/lakes/{lake}/edits/{view}/{edit_id}/answer", answer, methods=["POST"]),
)
