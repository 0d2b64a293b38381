"""Two lakes, or two versions of one, side by side: what differs, with tests, and which pictures one has alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup
from starlette.routing import Route

from counterbalance.engine.errors import CounterbalanceError, NotFoundError
from counterbalance.engine.sql.parse import as_text
from counterbalance.report import comparison, svg
from counterbalance.report.figures import decimals, table_of
from counterbalance.ui.answers import page, status_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from starlette.requests import Request
    from starlette.responses import Response

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.ui.workplace import Workplace

_DRAWN: Final = 24
_SHOWN: Final = 24
_LEAST_Q: Final = 0.001
_HIDDEN: Final = ("params", "statistic", "df", "smallest_a", "smallest_b", "base_images_a", "base_images_b")
_ONLY: Final = "SELECT i.image_id, i.key FROM {here} AS i ANTI JOIN {there} AS o ON i.{column} = o.{column}"
_SAME: Final = {"sha256": "bytes", "key": "key", "uri": "address"}
"""Columns that say which picture it is, and what a page calls them."""
_FILLED: Final = f"SELECT {', '.join(f'count({c}) / greatest(count(*), 1)' for c in _SAME)} FROM {{}}"
_TITLES: Final = {
    "demographics": "Shares of labels",
    "sentiment": "Tone of texts",
    "crime_words": "Labels among texts with crime words",
    "intersections": "Labels that meet",
}


async def compare(request: Request) -> Response:
    """Show the comparison that the address asks for: ``with`` a lake, ``at`` and ``with_at`` a tag or moment, ``groups``."""
    place: Workplace = request.app.state.place
    given = request.query_params
    other = given.get("with", "")
    groups = [g for g in given.getlist("groups") if g.strip()]
    shown: dict[str, Any] = {"other": other, "at": given.get("at", ""), "with_at": given.get("with_at", "")}
    shown |= {"groups": groups or [comparison.GROUPS], "error": None, "found": None}
    shown |= await place.ask(request, lambda _, session: _choices(session), plain=True)
    if not other:
        return page(request, "compare", **shown)
    if other not in place.lakes:
        raise NotFoundError(f"no lake {other!r}", code="E1062", hint="lakes of this server: " + ", ".join(place.lakes))
    is_same = place.lakes[other].uri == place.lake(request).uri
    sides: dict[str, Any] = {"at": shown["at"] or None, "attach": {comparison.OTHER: place.lakes[other]}}
    if shown["with_at"]:
        sides["attached_at"] = {comparison.OTHER: shown["with_at"]}

    def work(_: Lake, session: Session) -> dict[str, Any]:
        return _compared(session, groups, is_same=is_same)

    try:
        shown["found"] = await place.ask(request, work, apart=True, **sides)
    except CounterbalanceError as error:
        shown["error"] = error
    return page(request, "compare", status=status_of(shown["error"]) if shown["error"] else 200, **shown)


def tags(session: Session) -> list[str]:
    """Return the newest tags of a lake, which a form offers."""
    return [name for (name,) in session.sql("SELECT name FROM meta.tags ORDER BY at DESC LIMIT 100").fetchall()]


def _choices(session: Session) -> dict[str, Any]:
    attributes = sorted(
        {a for (a,) in session.sql("SELECT DISTINCT attribute FROM labels").fetchall()} | session.sensitive_attributes()
    )
    views = ["caption_gender", *(f"image_labels({as_text(a)})" for a in attributes)]
    return {"tags": tags(session), "relations": views}


def _compared(session: Session, groups: Sequence[str], *, is_same: bool) -> dict[str, Any]:
    text = comparison.query(groups)
    result = session.sql(text)
    rows = result.to_arrow()
    heads, cells = table_of(rows.drop_columns([c for c in _HIDDEN if c in rows.column_names]), most=500)
    found = {"heads": heads, "rows": cells, "notes": result.notes, "sql": text, "charts": _charts(rows)}
    first, second = "images", f"{comparison.OTHER}.images"
    column = "image_id" if is_same else _identity(session, (first, second))
    changes = [_only(session, "came", second, first, column), _only(session, "went", first, second, column)]
    return found | {"changes": changes, "same_by": None if is_same else _SAME[column]}


def _identity(session: Session, sides: Sequence[str]) -> str:
    """Return the column by which pictures of two lakes are the same: the one that most of both have."""
    shares = zip(*(session.sql(_FILLED.format(side)).fetchall()[0] for side in sides), strict=True)
    least = dict(zip(_SAME, map(min, shares), strict=True))
    return max(least, key=least.__getitem__)


def _only(session: Session, what: str, here: str, there: str, column: str) -> dict[str, Any]:
    """Return how many images one side has alone, and the first of them."""
    query = _ONLY.format(here=here, there=there, column=column)
    count = session.sql(f"SELECT count(*) FROM ({query})").fetchall()[0][0]
    first = session.sql(f"SELECT * FROM ({query}) ORDER BY image_id LIMIT $most", most=_SHOWN).to_arrow().to_pylist()
    return {"what": what, "count": count, "first": first}


def _charts(rows: pa.Table) -> list[dict[str, Any]]:
    """Return a chart of the differences of each measure, the largest first."""
    found = []
    body = rows.to_pylist()
    for measure in dict.fromkeys(row["measure"] for row in body):
        own = [r for r in body if r["measure"] == measure and r["difference"] is not None]
        own.sort(key=lambda r: -abs(r["difference"]))
        marks = [svg.Mark(_label(r), r["difference"], r["low"], r["high"], note=_q(r)) for r in own[:_DRAWN]]
        if marks:
            title = _TITLES.get(measure, measure)
            axis = svg.Axis("difference: the first less the second", reference=0.0, show=decimals)
            draw = partial(svg.dots, marks, axis, title=title, desc=title)
            wide, narrow = (draw(name=f"{measure}-{width}", width=width) for width in (svg.WIDE, svg.NARROW))
            left_out = len(own) - len(marks)
            found.append({"title": title, "wide": Markup(wide), "narrow": Markup(narrow), "left_out": left_out})  # noqa: S704 - its texts are escaped
    return found


def _q(row: dict[str, Any]) -> str:
    return "" if row["q"] is None else f"q < {_LEAST_Q}" if row["q"] < _LEAST_Q else f"q = {row['q']:.3f}"


def _label(row: dict[str, Any]) -> str:
    item = "" if row.get("item") in {None, "all"} else f", {row['item']}"
    return f"{row['label']}{item}"


ROUTES: Final = (Route("/lakes/{lake}/compare", compare),)
