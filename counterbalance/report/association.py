"""Audits as figures: who is shown, what texts say of whom, what goes with whom, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterbalance.report import groups
from counterbalance.report.figures import percent
from counterbalance.report.renderer import Chart, FigureSpec, Row
from counterbalance.report.row_marks import DELTA, LOG_ODDS, PMI, RATIO, SHARE, mark, strongest
from counterbalance.report.svg import Axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.report.groups import Group

PLAIN_WORDS: Final = (
    "(SELECT w.image_id, w.concept FROM word_concepts AS w LEFT JOIN (SELECT term FROM lists.gender_words UNION "
    "SELECT term FROM lists.stop_words) AS l ON l.term = w.concept WHERE l.term IS NULL)"
)
"""Words of texts without gender words and function words."""


def shares(known: Sequence[Group]) -> list[FigureSpec]:
    """Specify the figures of shares of labels, and of pairs of them."""
    chart = Chart("bars", SHARE, mark(lambda r: r["label"], "share", note="count"))
    specs = [
        FigureSpec(
            f"share-{g.name}",
            f"{'Persons' if g.persons else 'Images'} by {g.title}",
            f"Share of all that have any label; 'unclear' has none that is clear, 'mixed' has several.{g.seen_by}",
            chart,
            "demographics",
            {"groups": g.persons or g.images},
            empty="No captions, no labels.",
        )
        for g in known
    ]
    persons = [g for g in known if g.persons]
    pairs = [(a, b) for i, a in enumerate(persons) for b in persons[i + 1 :]]
    return specs + [
        FigureSpec(
            f"meet-{a.name}-{b.name}",
            f"{a.title.capitalize()} and {b.title} in one person",
            f"How often two labels meet, over how often they would if they had nothing to do with each other: 1 is chance.{a.seen_by}",
            Chart(
                "dots",
                RATIO,
                mark(lambda r: f"{r['label']}, {r['other']}", "ratio", "ratio_low", "ratio_high", "count", _clear_pair),
            ),
            "intersections",
            {"groups": a.persons, "others": b.persons},
        )
        for a, b in pairs
    ]


def _clear_pair(row: Row) -> bool:
    return not {row["label"], row["other"]} & {"mixed", "unclear", "undefined"}


def texts(known: Sequence[Group]) -> list[FigureSpec]:
    """Specify the figures of crime words and sentiment."""
    specs: list[FigureSpec] = []
    for g in known:
        specs += [
            FigureSpec(
                f"crime-{g.name}",
                f"Crime words, by {g.title}",
                "Δ: the share of a label among images whose text holds a crime word, against its share among all labelled images. "
                f"+100 % is twice as often as its share would give. All words together, and their classes.{g.seen_by}",
                Chart(
                    "dots",
                    DELTA,
                    mark(
                        lambda r: r["label"] if r["level"] == "pooled" else f"{r['class']}: {r['label']}",
                        "delta",
                        "delta_low",
                        "delta_high",
                        "count",
                        lambda r: r["level"] != "term",
                    ),
                    strongest("delta", 10),
                ),
                "crime_words",
                {"groups": g.images},
                empty="No text of a labelled image holds a crime word.",
            ),
            FigureSpec(
                f"tone-{g.name}",
                f"Negative texts, by {g.title}",
                f"Share of texts with a negative VADER score among those that are not neutral. VADER is an English lexicon of 2014.{g.seen_by}",
                Chart("bars", SHARE, mark(lambda r: r["label"], "negative_ratio", "negative_low", "negative_high")),
                "sentiment",
                {"groups": g.images},
                empty="There are no texts of labelled images.",
            ),
        ]
    words = mark(
        lambda r: f"{r['term']}: {r['label']}",
        "delta",
        "delta_low",
        "delta_high",
        "count",
        lambda r: r["level"] == "term",
    )
    return [
        *specs,
        FigureSpec(
            "crime-terms",
            "Single crime words, by gender words of captions",
            "The same Δ for each word that enough images have.",
            Chart("dots", DELTA, words, strongest("delta", 10)),
            "crime_words",
            {"groups": groups.CAPTIONS.images},
            empty="No text of a labelled image holds a crime word.",
        ),
    ]


def cooccurrence(known: Sequence[Group]) -> list[FigureSpec]:
    """Specify the figures of co-occurrence, concept ratio and keywords."""
    pmi = mark(
        lambda r: f"{r['label']}: {r['concept']}",
        "pmi",
        note="count",
        when=lambda r: r["concept"] != "person",
        sure="q",
    )
    specs = [
        FigureSpec(
            f"objects-{g.name}",
            f"Objects, by {g.title}",
            "PMI of a label and an object's box in the same image: how much more often they meet than by chance; 0.69 is twice as often, \N{MINUS SIGN}0.69 half as often. "
            f"Filled where the q-value (all pairs together, Benjamini and Hochberg) is below 0.05; 'person' is left out.{g.seen_by}",
            Chart("dots", PMI, pmi, strongest("pmi", 8)),
            "cooccurrence",
            {"groups": g.images, "concepts": "category_concepts"},
            empty="No object is in enough images of a labelled group.",
        )
        for g in known
    ]
    return [
        *specs,
        FigureSpec(
            "concepts",
            "How female the words of captions are",
            "Share of images with only women's words among images with a word and the words of one gender.",
            Chart(
                "dots",
                Axis("share of female; the line is the share overall", show=percent, start=0.0, end=1.0),
                mark(lambda r: r["concept"], "value"),
                _both_ends,
                reference=lambda r: r["n_label"] / (r["n_label"] + r["n_against"]),
            ),
            "concept_ratio",
            {"groups": groups.CAPTIONS.images, "concepts": PLAIN_WORDS, "min_count": 30},
            empty="No word is in 30 images that name one gender.",
        ),
        FigureSpec(
            "keywords",
            "Words that mark a group's captions",
            "Log-odds of a word in the texts of images of one gender against the other, above 0 only; gender words and function words are left out.",
            Chart(
                "dots",
                LOG_ODDS,
                mark(
                    lambda r: f"{r['label']}: {r['keyword']}",
                    "log_odds",
                    note="count",
                    when=lambda r: r["place"] <= 8 and (r["log_odds"] or 0) > 0,
                ),
            ),
            "keyword_profile",
            {"groups": groups.CAPTIONS.images, "concepts": PLAIN_WORDS},
            empty="No word is in enough images of a labelled group.",
        ),
    ]


def _both_ends(rows: Sequence[Row], each: int = 10) -> list[Row]:
    """Return the words with the highest and the lowest share."""
    ranked = sorted(rows, key=lambda r: -r["value"])
    return ranked if len(ranked) <= 2 * each else ranked[:each] + ranked[-each:]


def places(known: Sequence[Group]) -> list[FigureSpec]:
    """Specify the figures of countries, and of the groups that go with them."""
    of_group = mark(
        lambda r: f"{r['country']}: {r['label']}",
        "delta",
        "delta_low",
        "delta_high",
        "count",
        lambda r: r["label"] != "all",
    )
    shares = mark(lambda r: r["country"], "share", "share_low", "share_high", "count", lambda r: r["label"] == "all")
    return [
        FigureSpec(
            "countries",
            "Countries that texts name",
            "Share among images whose text names any country; an image may name several.",
            Chart("bars", SHARE, shares, lambda rows: sorted(rows, key=lambda r: -r["share"])),
            "geography",
            {"groups": known[0].images},
            empty="No text names a country.",
        ),
        *(
            FigureSpec(
                f"countries-{g.name}",
                f"Countries, by {g.title}",
                f"Δ of a label among the images whose text names a country.{g.seen_by}",
                Chart("dots", DELTA, of_group, strongest("delta", 8)),
                "geography",
                {"groups": g.images},
                empty="No text of a labelled image names a country.",
            )
            for g in known[:2]
        ),
    ]
