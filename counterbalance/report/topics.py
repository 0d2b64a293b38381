"""Topics of texts by sparse autoencoders: which go with which label, and what the pictures behind them show."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import CounterbalanceError
from counterbalance.report import pictures
from counterbalance.report.figures import Figure, Section, Strip
from counterbalance.report.renderer import Chart, FigureRenderer, FigureSpec
from counterbalance.report.row_marks import PMI, mark

if TYPE_CHECKING:
    from counterbalance.engine.lake import Lake

_VIEWS: Final = {"sae_texts", "sae_feature_topics", "sae_topic_clusters"}
_TOP: Final = 4
"""Topics of a label."""
_EACH: Final = 4
"""Pictures of a topic."""
_TEXTS: Final = 16
"""Texts of a topic that are looked at: several may be of one image, and not every image is stored."""
_SIDE: Final = 160
_PMI: Final = f"topic_pmi(feature_rows(sae_texts), sae_feature_topics, sae_topic_clusters, top := {_TOP})"
_EXAMPLES: Final = (
    "SELECT topic, image_id, text FROM topic_examples(sae_texts, feature_rows(sae_texts), sae_feature_topics, "
    f"sae_topic_clusters, chosen := (SELECT DISTINCT topic FROM {_PMI}), k := {_TEXTS}) ORDER BY topic, rank"
)
_TOPICS: Final = FigureSpec(
    "topic-pmi",
    "Topics, by gender words of captions",
    "PMI of a label and a topic: how much more often features that stand for the topic are active in texts of images with "
    "the label than by chance. Intervals are over autoencoders: how much a value depends on their training.",
    Chart("dots", PMI, mark(lambda r: f"{r['label']}: {r['topic']}", "score", note="")),
    sql=f"SELECT * FROM {_PMI} ORDER BY label, rank",
    empty="No topic has enough texts of a labelled image.",
)


def sections(renderer: FigureRenderer, lake: Lake, *, blur: bool = False) -> list[Section]:
    """Return the chapter, where the recipe ``sae_topics`` was run; nothing otherwise.

    Args:
        renderer: Makes the figure.
        lake: Whose stored pictures are shown.
        blur: Blur the heads of people in them; see ``pictures``.
    """
    there = {name for (name,) in renderer.session.sql("SELECT name FROM meta.views").fetchall()}
    if not there >= _VIEWS:
        return []
    figure = renderer.figure(_TOPICS)
    if not figure.gap:
        figure = _with_pictures(renderer, lake, figure, blur=blur)
    says = "What texts are about, as features of sparse autoencoders tell it (recipe sae_topics)."
    return [Section("topics", "Topics", says, [figure])]


def _with_pictures(renderer: FigureRenderer, lake: Lake, figure: Figure, *, blur: bool) -> Figure:
    """Add images of the texts in which each topic is most active, as far as the lake stores them."""
    try:
        rows = renderer.session.sql(_EXAMPLES).to_arrow().to_pylist()
    except CounterbalanceError as error:
        return replace(figure, notes=[*figure.notes, f"Pictures are not shown: {error.message} ({error.code})"])
    wanted: dict[str, list[int]] = {}
    for row in rows:
        own = wanted.setdefault(row["topic"], [])
        if row["image_id"] is not None and row["image_id"] not in own:
            own.append(row["image_id"])
    order = [ids[place] for place in range(_TEXTS) for ids in wanted.values() if place < len(ids)]
    found = pictures.of_images(lake, renderer.session, order, side=_SIDE, blur=blur)
    strips = [Strip(topic, [found[i] for i in ids if i in found][:_EACH]) for topic, ids in wanted.items()]
    strips = [s for s in strips if s.pictures]
    if not strips:
        return figure
    note = "Below, images of the texts in which a topic is most active; they were chosen by the texts alone."
    return replace(figure, strips=strips, notes=[*figure.notes, note, *([pictures.BLURRED] if blur else [])])
