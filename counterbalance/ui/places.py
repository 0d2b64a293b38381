"""The map: images at the places that a view gives them, coloured by a column; what is drawn around leads to Browse."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from starlette.responses import Response
from starlette.routing import Route

from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.report.svg import plain
from counterbalance.ui.answers import page
from counterbalance.ui.facets import offered
from counterbalance.ui.selection import is_number, name_of, no_vectors, open_columns, vector_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from starlette.requests import Request

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.ui.selection import Columns
    from counterbalance.ui.workplace import Workplace

MOST: Final = 1_000_000
"""Points of a map."""
_CLASSES: Final = 8
"""Colours; what is left has a grey, and so has what has no value."""
_TEXT: Final = 80
_PLACE: Final = ("image_id", "x", "y")


async def show(request: Request) -> Response:
    """Show the map that the address asks for, or how to make one."""
    place: Workplace = request.app.state.place
    given = request.query_params

    def work(lake: Lake, session: Session) -> dict[str, Any]:
        maps = _maps(session)
        view = given.get("view") or next(iter(maps), "")
        own = _colours(maps, open_columns(lake, session), view) if view in maps else []
        return {
            "maps": list(maps),
            "view": view,
            "colours": own,
            "vectors": (vectors := vector_columns(columns := open_columns(lake, session))),
            "lacks": None if vectors else no_vectors(columns),
        }

    found = await place.ask(request, work)
    return page(request, "map", colour=given.get("colour", ""), most=MOST, **found)


async def points(request: Request) -> Response:
    """Return all points of a view, as JavaScript and numpy read them without parsing.

    Four bytes (uint32, little endian) tell the length of a head in JSON, which is padded to eight: ``count``, ``classes``
    (what each colour means, with how many have it), whether these are ``ordered``, and ``notes``. Then follow ``count`` ids (int64), pairs of places
    (float32) and classes (uint8).
    """
    place: Workplace = request.app.state.place
    view, colour = request.query_params.get("view", ""), request.query_params.get("colour", "")

    def work(lake: Lake, session: Session) -> bytes:
        maps = _maps(session)
        if view not in maps:
            raise NotFoundError(
                f"no map {view[:80]!r}{did_you_mean(view[:80], maps)}",
                code="E1063",
                hint="a map is a materialized view with image_id, x and y",
            )
        own = _colours(maps, open_columns(lake, session), view)
        if colour and colour not in own:
            raise RequestError(
                f"no column {colour[:80]!r} to colour by{did_you_mean(colour[:80], own)}",
                code="E3761",
                hint=", ".join(own),
            )
        return _packed(session.sql(_query(view, colour), most=MOST + 1).to_arrow())

    return Response(await place.ask(request, work), media_type="application/octet-stream")


def _maps(session: Session) -> dict[str, Mapping[str, str]]:
    """Return columns of the relations that give images a place, by name."""
    known = {r.name: dict(r.columns) for r in session.relations() if r.schema is None and r.name not in BASE_TABLES}
    return {
        name: columns
        for name, columns in known.items()
        if columns.get("image_id") == "int64" and all(is_number(columns.get(c, "")) for c in ("x", "y"))
    }


def _colours(maps: Mapping[str, Mapping[str, str]], columns: Columns, view: str) -> list[str]:
    """Return what points of a map may be coloured by: columns of its own, and of images."""
    own = [c for c, kind in maps[view].items() if c not in _PLACE and (is_number(kind) or kind in {"string", "bool"})]
    return [*own, *(f"images.{c}" for c in offered(columns))]


def _query(view: str, colour: str) -> str:
    owner, _, column = colour.rpartition(".")
    value = f"{'i' if owner else 'm'}.{name_of(column)}" if colour else "NULL"
    joined = " LEFT JOIN images AS i ON i.image_id = m.image_id" if owner else ""
    return (
        f"SELECT m.image_id, TRY_CAST(m.x AS FLOAT) AS x, TRY_CAST(m.y AS FLOAT) AS y, {value} AS value "
        f"FROM {name_of(view)} AS m{joined} WHERE m.image_id IS NOT NULL AND isfinite(TRY_CAST(m.x AS FLOAT)) "
        "AND isfinite(TRY_CAST(m.y AS FLOAT)) ORDER BY m.image_id LIMIT $most"
    )


def _packed(rows: pa.Table) -> bytes:
    notes = [f"only the first {MOST:,} images are drawn"] if rows.num_rows > MOST else []
    rows = rows.slice(0, MOST)
    ids, x, y = (rows.column(c).to_numpy() for c in _PLACE)
    places = np.column_stack([x, y]).astype("<f4")
    values = rows.column("value")
    ordered = not (pa.types.is_string(values.type) or pa.types.is_boolean(values.type) or pa.types.is_null(values.type))
    classes, told = _classes(values, ordered=ordered)
    head = orjson.dumps({"count": len(ids), "classes": told, "ordered": ordered, "notes": notes})
    head += b" " * (-(len(head) + 4) % 8)
    return b"".join(
        [len(head).to_bytes(4, "little"), head, ids.astype("<i8").tobytes(), places.tobytes(), classes.tobytes()]
    )


def _classes(values: pa.ChunkedArray, *, ordered: bool) -> tuple[NDArray[np.uint8], list[dict[str, Any]]]:
    """Return the class of each value, and what classes mean: the most frequent values, or parts of numbers of equal size."""
    if values.null_count == len(values):
        return np.zeros(len(values), np.uint8), [{"text": "images", "count": len(values), "rest": True}]
    if ordered:
        numbers = values.cast(pa.float64(), safe=False)
        numbers = pc.if_else(pc.is_finite(numbers), numbers, None)
        different = pc.unique(numbers).drop_null().sort()
        if len(different) > _CLASSES:
            return _told(*_parts(numbers.to_numpy()))
        kinds, texts = different, [f"{v:.4g}" for v in different.to_pylist()]
        values = numbers
    else:
        values = values.cast(pa.string())
        counts = pc.value_counts(values.drop_null())
        order = sorted(counts.to_pylist(), key=lambda c: (-c["counts"], c["values"]))[:_CLASSES]
        kinds = pa.array([c["values"] for c in order], pa.string())
        texts = [plain(c["values"][:_TEXT]) or "(empty)" for c in order]
    found = pc.index_in(values, value_set=kinds, skip_nulls=True).fill_null(_CLASSES)
    return _told(found.to_numpy().astype(np.uint8), texts)


def _parts(numbers: NDArray[np.float64]) -> tuple[NDArray[np.uint8], list[str]]:
    """Return in which of parts of about equal size numbers lie, and from where to where each goes."""
    ends = np.unique(np.nanquantile(numbers, np.linspace(0, 1, _CLASSES + 1)))
    found = np.clip(np.searchsorted(ends, numbers, side="right") - 1, 0, max(0, len(ends) - 2))
    found[np.isnan(numbers)] = _CLASSES
    return found.astype(np.uint8), [f"{low:.4g} to {high:.4g}" for low, high in pairwise(ends)] or [f"{ends[0]:.4g}"]


def _told(found: NDArray[np.uint8], texts: Sequence[str]) -> tuple[NDArray[np.uint8], list[dict[str, Any]]]:
    counted = np.bincount(found, minlength=_CLASSES + 1)
    told = [{"text": t, "count": int(counted[n]), "rest": False} for n, t in enumerate(texts)]
    if counted[_CLASSES]:
        told += [{"text": "", "count": 0, "rest": True}] * (_CLASSES - len(told))
        told.append({"text": "others, or without a value", "count": int(counted[_CLASSES]), "rest": True})
    return found, told


ROUTES: Final = (Route("/lakes/{lake}/map", show), Route("/api/lakes/{lake}/map", points))
