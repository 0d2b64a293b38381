"""Audits as figures: annotators, classifiers, rankings and balance; and the chapters of all audits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterbalance.report import groups
from counterbalance.report.association import cooccurrence, places, shares, texts
from counterbalance.report.figures import Figure, Section, decimals
from counterbalance.report.renderer import Chart, FigureRenderer, FigureSpec, Row
from counterbalance.report.row_marks import mark
from counterbalance.report.svg import Axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.engine.session import Session
    from counterbalance.report.groups import Group

_QUERIES, _ITEMS = 500, 10_000
"""A report must end on a large lake, too: so many queries against so many items."""
_CHOSEN: Final = (
    "(SELECT caption_id, image_id, text FROM captions WHERE text IS NOT NULL "
    "ORDER BY md5(CAST(image_id AS VARCHAR)), caption_id LIMIT {})"
)
_RETRIEVAL: Final = {
    "items": _CHOSEN.format(_ITEMS),
    "queries": _CHOSEN.format(_QUERIES),
    "groups": groups.CAPTIONS.images,
}


def sections(renderer: FigureRenderer) -> list[Section]:
    """Return all audits of the report, by chapter."""
    session = renderer.session
    known = groups.found(session)
    chapters = [
        ("who", "Who is shown", "How often perceived labels occur, and together.", shares(known)),
        (
            "said",
            "What texts say of whom",
            "Crime words and tone in the texts of images, by perceived group.",
            texts(known),
        ),
        (
            "with",
            "What goes with whom",
            "Objects and words that go with a perceived group more or less than by chance.",
            cooccurrence(known),
        ),
        ("where", "Places", "Countries that texts name.", places(known)),
        (
            "judged",
            "Annotators and classifiers",
            "How much those agree who gave the labels, and what a classifier finds hateful.",
            agreement(session, known),
        ),
        (
            "search",
            "Search and balance",
            "Who comes first in a ranking, and what would make groups equally frequent.",
            retrieval(),
        ),
    ]
    found = [Section(name, title, says, [renderer.figure(r) for r in specs]) for name, title, says, specs in chapters]
    if any(g.attribute for g in known):
        return found
    return [replace(s, figures=[*s.figures, _MISSING[s.name]]) if s.name in _MISSING else s for s in found]


_HOW: Final = "With labels of perceived gender, race or ethnicity (counterbalance ingest LAKE labels.csv)"
_MISSING: Final = {
    "who": Figure(
        "no-persons", "Persons by perceived label", "How often annotators or models see which label.", gap=_HOW
    ),
    "judged": Figure("no-agreement", "Agreement of annotators", "Kappa is agreement beyond chance.", gap=_HOW),
}
"""What is named where labels of persons are missing."""


def agreement(session: Session, known: Sequence[Group]) -> list[FigureSpec]:
    """Specify the figures of annotators' agreement and of hateful content."""
    named = {"cohen_kappa": "Cohen's kappa", "fleiss_kappa": "Fleiss' kappa", "agreement": "equal labels"}
    chart = Chart(
        "dots",
        Axis("1: they always agree; kappa 0: as chance would have it", show=decimals, start=0.0, end=1.0),
        mark(lambda r: _pair(named[r["metric"]], r), "value", when=lambda r: r["metric"] in named),
    )
    attributes = [g.attribute for g in known if g.attribute]
    scored = session.sql("SELECT DISTINCT attribute FROM labels WHERE score IS NOT NULL ORDER BY attribute").fetchall()
    hateful = next((a for (a,) in scored if "hate" in a.lower()), "hateful")
    rate = mark(lambda r: f"{r['annotator']} > {r['tau']:g}", "percent", note="count")
    return [
        *(
            FigureSpec(
                f"agreement-{g.name}",
                f"Agreement on {g.title}",
                "Kappa is agreement beyond chance. Agreement is not truth: annotators can be wrong together.",
                chart,
                "agreement",
                {"attribute": g.attribute},
                empty="Only one annotator labelled this.",
            )
            for g in known
            if g.attribute in attributes
        ),
        FigureSpec(
            "hateful",
            "Hateful content, as a classifier sees it",
            "Images in a hundred whose score is above a threshold: what a classifier thinks, with its errors.",
            Chart("bars", Axis("in 100 images", show=decimals, start=0.0), rate),
            "hate_content_rate",
            {"attribute": hateful, "tau": [0.3, 0.5, 0.7, 0.9]},
            empty="This lake has no scores of hateful content.",
        ),
    ]


def _pair(what: str, row: Row) -> str:
    return f"{what}: {row['annotator']}, {row['other']}" if row["other"] else what


def retrieval() -> list[FigureSpec]:
    """Specify the figures of retrieval bias and balance."""
    bias = mark(lambda r: f"first {r['k']}", "value", when=lambda r: r["metric"] == "bias", note="")
    chart = Chart("dots", Axis("bias; + is male", 0.0, decimals), bias)
    many = f"{_QUERIES} queries against at most {_ITEMS:,} items, chosen by a hash of their image."
    return [
        FigureSpec(
            "random-bias",
            "Gender among the first captions of a random ranking",
            "(male - female) / (male + female) among the first K, mean over queries: what a ranking that knows nothing shows "
            f"of this dataset. Compare a real ranking with this. {many}",
            chart,
            "retrieval_bias",
            {**_RETRIEVAL, "ranker": "random"},
            headline=False,
            empty="There are no captions to rank, or too few whose words are of one gender.",
        ),
        FigureSpec(
            "tfidf-bias",
            "Gender among the first captions that TF-IDF finds",
            f"The same for captions found by captions whose gender words were taken out. {many}",
            chart,
            "retrieval_bias",
            _RETRIEVAL,
            headline=False,
            empty="There are no captions to rank, or too few whose words are of one gender.",
        ),
        FigureSpec(
            "balance",
            "What would make genders equally frequent",
            "Weight of an image of a label in sampling or in a loss: 1 changes nothing.",
            Chart(
                "bars", Axis("weight", show=decimals, start=0.0), mark(lambda r: r["label"], "weight", "", "", "count")
            ),
            "balance",
            {"groups": groups.CAPTIONS.images},
            empty="No image has a clear label.",
        ),
    ]
