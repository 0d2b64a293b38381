"""Show what the lake holds: tables, and how its rows are spread."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from counterbalance.report.figures import Figure, Section, cell
from counterbalance.report.renderer import Chart, FigureRenderer, FigureSpec, Row
from counterbalance.report.svg import Axis, Mark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterbalance.engine.session import Session

_CALL: Final = re.compile(r"(\w+)\(")


def _bars(column: str = "images") -> Chart:
    """Return bars of a column of counts."""

    def count(row: Row) -> Mark:
        return Mark(str(row["value"] if row["value"] is not None else "(none)"), float(row[column]))

    return Chart("bars", Axis(column, show=lambda v: f"{v:,.0f}", start=0.0), count, most=12)


SPECS: Final = (
    FigureSpec(
        "splits",
        "Splits and sources",
        "Images by the split and the source that they were read from.",
        _bars(),
        sql="SELECT concat_ws(' · ', split, source) AS value, count(*) AS images FROM images GROUP BY ALL ORDER BY images DESC, value",
        empty="There are no images in this lake.",
    ),
    FigureSpec(
        "captions-per-image",
        "Captions an image",
        "How many images have how many texts, by where the texts come from.",
        _bars(),
        sql=(
            "SELECT concat(origin, ', ', texts) AS value, count(*) AS images FROM (SELECT image_id, coalesce(origin, 'unknown') AS origin, "
            "count(*) AS texts FROM captions GROUP BY ALL) GROUP BY origin, texts ORDER BY origin, texts"
        ),
        empty="There are no captions in this lake.",
    ),
    FigureSpec(
        "caption-length",
        "Words a caption",
        "Captions by their number of words; the last bar holds all longer ones.",
        _bars("captions"),
        sql=(
            "SELECT CASE WHEN words >= 40 THEN '40 or more' ELSE concat(words, ' to ', words + 3) END AS value, count(*) AS captions "
            "FROM (SELECT least(4 * (len(string_split_regex(trim(text), '\\s+')) // 4), 40) AS words FROM captions "
            "WHERE text IS NOT NULL) "
            "GROUP BY words ORDER BY words"
        ),
        empty="There are no captions in this lake.",
    ),
    FigureSpec(
        "categories",
        "What is seen",
        "Images with at least one box of a category.",
        _bars(),
        sql=(
            "SELECT category AS value, count(DISTINCT image_id) AS images, count(*) AS boxes FROM detections "
            "GROUP BY category ORDER BY images DESC, value"
        ),
        empty="There are no boxes in this lake.",
    ),
    FigureSpec(
        "people",
        "People an image",
        "Images by how many persons have a box of at least 30 pixels on its shorter side, crowds left out; of several who drew "
        "boxes those of the one who drew most.",
        _bars(),
        sql=(
            "SELECT CASE WHEN persons >= 10 THEN '10 or more' ELSE CAST(persons AS VARCHAR) END AS value, count(*) AS images FROM "
            "(SELECT i.image_id, least(count(p.detection_id), 10) AS persons FROM (SELECT DISTINCT image_id FROM detections) AS i "
            "LEFT JOIN persons AS p ON p.image_id = i.image_id AND p.min_side >= 30 AND NOT coalesce(p.is_crowd, false) "
            "AND p.origin IS NOT DISTINCT FROM (SELECT origin FROM persons GROUP BY origin ORDER BY count(*) DESC, origin LIMIT 1) "
            "GROUP BY i.image_id) GROUP BY persons ORDER BY persons"
        ),
        empty="There are no boxes in this lake.",
    ),
    FigureSpec(
        "open-labels",
        "Labels that are not sensitive",
        "Images by label, of those with a score the ones of at least 0.5; labels of perceived gender, race or ethnicity appear "
        "in the audits below only.",
        _bars(),
        sql=(
            "SELECT concat(attribute, ': ', value) AS value, count(DISTINCT image_id) AS images FROM labels "
            "WHERE score IS NULL OR score >= 0.5 GROUP BY attribute, labels.value ORDER BY attribute, images DESC, 1"
        ),
        empty="There are no such labels in this lake.",
    ),
)


def section(renderer: FigureRenderer) -> Section:
    """Return how the rows are spread."""
    figures = [renderer.figure(spec) for spec in SPECS]
    return Section(
        "spread", "What is in it", "Plain counts, to know what the audits below stand on.", figures, compact=True
    )


def tables(session: Session) -> list[dict[str, Any]]:
    """Return name, rows, bytes, pinned version and meaning of every table, base tables first."""
    order = "list_position(['images', 'captions', 'detections', 'labels'], name)"
    text = f"SELECT name, rows, version, bytes, doc FROM meta.tables ORDER BY {order} NULLS LAST, name"
    rows = session.sql(text).to_arrow().to_pylist()
    return [
        {
            **r,
            "rows": cell(r["rows"]),
            "size": cell(None) if r["bytes"] is None else _size(r["bytes"]),
            "count": r["rows"],
        }
        for r in rows
    ]


def _size(count: int) -> str:
    """Return bytes as a person writes them."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def notes(session: Session) -> list[str]:
    """Return what must be said about the tables as a whole."""
    failed = session.sql(
        "SELECT column_name IS NULL AS on_the_way_in, code, count(*) AS n FROM meta.errors WHERE code <> 'skipped' "
        "GROUP BY ALL ORDER BY n DESC, code"
    ).fetchall()
    found = []
    for way, said in ((True, "items were refused on the way in"), (False, "values could not be computed")):
        codes = [(code, n) for on_the_way_in, code, n in failed if on_the_way_in == way]
        if codes:
            listed = ", ".join(f"{c}: {n:,}" for c, n in codes[:6])
            found.append(f"{sum(n for _, n in codes):,} {said} ({listed}); see meta.errors.")
    hidden = session.sensitive_attributes()
    if hidden:
        found.append(
            f"Labels of {', '.join(sorted(hidden))} are kept apart; audits use them, single ones are never shown."
        )
    return found


def runs(session: Session) -> list[dict[str, Any]]:
    """Return what was read into the lake, oldest first; the last twenty."""
    rows = (
        session.sql(
            "SELECT at, target, written, updated, rejected FROM meta.runs WHERE kind = 'ingest' AND state = 'finished' ORDER BY at DESC LIMIT 20"
        )
        .to_arrow()
        .to_pylist()
    )
    return [
        {
            "at": r["at"].strftime("%Y-%m-%d %H:%M"),
            "target": r["target"],
            **{k: cell(r[k]) for k in ("written", "updated", "rejected")},
        }
        for r in reversed(rows)
    ]


def functions(session: Session, figures: Iterable[Figure]) -> list[dict[str, Any]]:
    """Return functions that the figures' SQL calls, with their versions."""
    called = {name for figure in figures for name in _CALL.findall(figure.sql)}
    rows = (
        session.sql("SELECT name, version, doc FROM meta.functions WHERE kind = 'function' ORDER BY name")
        .to_arrow()
        .to_pylist()
    )
    return [{**r, "doc": (r["doc"] or "").replace("``", "")} for r in rows if r["name"] in called]
