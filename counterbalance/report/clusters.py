"""Clusters of captions: who is shown more often in which kind of scene, and a map of them; for lakes that have them."""

from __future__ import annotations

from typing import Final

from counterbalance.engine.errors import CounterbalanceError
from counterbalance.report import svg
from counterbalance.report.figures import Figure, Section, cut_off, signed, table_of
from counterbalance.report.renderer import Chart, FigureRenderer, FigureSpec, Row
from counterbalance.report.row_marks import mark
from counterbalance.report.scatter import Point, points
from counterbalance.report.svg import Axis, Mark, Tone

_VIEWS: Final = {"caption_clusters_set", "caption_clusters_words", "caption_clusters_map"}


def _points(value: float) -> str:
    """Return a difference of shares in percentage points."""
    return signed(value).replace("%", "pp")


_AXIS: Final = Axis("share of male images, less that among all labelled ones, in percentage points", 0.0, _points)
_LEGEND: Final[dict[Tone, str]] = {
    "over": "more male than all images",
    "under": "less male",
    "even": "cannot be told, or too few",
}
_SHARES: Final = FigureSpec(
    "cluster-representation",
    "Kinds of scenes, by gender words of captions",
    "Share of images with words of men only, among those with words of one gender, that have a caption in a cluster, less "
    "the share among all. Clusters were made from captions without gendered words; the words are those that mark each.",
    Chart("dots", _AXIS, mark(lambda r: _name_cluster(r, 3), "difference")),
    sql=(
        "SELECT r.cluster, r.label, w.words, r.count, r.n, r.share, r.base_share, r.difference, r.low, r.high, r.suppressed "
        "FROM cluster_representation(caption_clusters_set) AS r JOIN caption_clusters_words AS w ON w.cluster = r.cluster "
        "WHERE r.label = 'male' ORDER BY r.difference DESC NULLS LAST, r.cluster"
    ),
    empty="No image of a cluster has words of one gender.",
)
_MAP: Final = (
    "SELECT m.cluster, m.x, m.y, w.words, r.difference, r.low, r.high FROM caption_clusters_map AS m "
    "LEFT JOIN caption_clusters_words AS w ON w.cluster = m.cluster "
    "LEFT JOIN cluster_representation(caption_clusters_set) AS r ON r.cluster = m.cluster AND r.label = 'male' "
    "ORDER BY m.caption_id"
)


def sections(renderer: FigureRenderer) -> list[Section]:
    """Return the chapter, where the recipe ``caption_clusters`` was run; nothing otherwise."""
    there = {name for (name,) in renderer.session.sql("SELECT name FROM meta.views").fetchall()}
    if not there >= _VIEWS:
        return []
    says = "Captions in clusters of like meaning, gendered words left out (recipe caption_clusters)."
    return [Section("scenes", "Kinds of scenes", says, [renderer.figure(_SHARES), _map(renderer)])]


def _name_cluster(row: Row, words: int) -> str:
    return " ".join([str(row["cluster"]), *(row["words"] or [])[:words]])


def _map(renderer: FigureRenderer) -> Figure:
    name, title = "cluster-map", "A map of the captions"
    says = (
        "A sample of captions, each a spot; captions of like meaning lie near each other (t-SNE). Distances between groups, "
        "their sizes and directions mean nothing. Names are a cluster's number and first word; colours are those of the figure above."
    )
    try:
        rows = renderer.session.sql(_MAP).to_arrow()
    except CounterbalanceError as error:
        return Figure(name, title, says, gap=f"{error.message} ({error.code})")
    if not rows.num_rows:
        return Figure(name, title, says, gap="No captions are on the map.", call=_MAP)
    given = [Point(r["x"], r["y"], _name_cluster(r, 1), _tone(r)) for r in rows.to_pylist()]
    desc = f"{len(given):,} captions in {len({p.name for p in given})} clusters"
    wide, narrow = (
        points(given, _LEGEND, title=title, desc=desc, name=f"{name}-{width}", width=width)
        for width in (svg.WIDE, svg.NARROW)
    )
    columns, cells = table_of(rows)
    return Figure(name, title, says, wide, narrow, columns, cells, call=_MAP, notes=cut_off(rows, cells))


def _tone(row: Row) -> Tone:
    if row["difference"] is None or row["low"] is None:
        return "even"
    return svg.tone(Mark("", row["difference"], row["low"], row["high"]), _AXIS)
