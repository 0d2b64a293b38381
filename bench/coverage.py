"""Show how often intervals hold the truth, of every audit that has one: 95 % is asked.

    python bench/coverage.py > docs/coverage.md
    python bench/coverage.py --only "Areas under a curve"

Draws samples of which the truth is known, such as clusters of rows that are alike to a degree, and computes from each the
intervals of audits: by the engine's own SQL functions where an audit does no more, and else by asking the audit. Many
samples go into one call where an audit has a row for each of many labels, concepts or categories.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

import counterbalance as cb
from counterbalance.udfs.associations import effect_interval
from counterbalance.udfs.attackers import attack_vectors, split_interval
from counterbalance.udfs.kappas import CELLS, PATTERNS, cohen_kappa, fleiss_kappa, krippendorff_alpha
from counterbalance.udfs.transfer import POINTS, transfer_fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES = (1, 2, 3, 5, 10)
DRAWS = 4000
RATES = (0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99)

AUDITS: dict[str, dict[str, str]] = {
    "agreement": {
        "Wilson: share of equal labels, confusion, Jaccard": "Shares",
        "kappas and alpha (beyond_chance_low)": "Agreement",
        "Wilson, of as many pairs as an annotator's are worth": "Agreement of one annotator, and of labels",
        "Wilson, boxes of one image": "Rows of one image",
    },
    "artifact_shift": {"cuts (split_interval)": "Cuts of a dataset", "Wilson": "Shares"},
    "association": {
        "effect_interval": "Effect sizes",
        "Student's t over a standard deviation": "Mean cosines",
        "effect_interval, of sources": "Vectors of one source",
    },
    "attribute_auc": {"Newcombe (area_interval)": "Areas under a curve"},
    "attribute_frequencies": {"Wilson": "Shares"},
    "attribute_matrix": {"Wilson": "Shares", "ratio_low, ratio_high": "Ratios of what is seen to chance"},
    "average_precision": {"Student's t over the jackknife, on the logit": "Average precision"},
    "balance": {"Wilson": "Shares"},
    "bias_transfer": {"Fisher, normal, bootstrap": "Correlations over categories", "Wilson": "Shares"},
    "casc": {"effect_interval": "Effect sizes", "the same, of sources": "Vectors of one source"},
    "cluster_representation": {"Wilson": "Shares", "squared distances to Wilson's ends": "A cluster and the whole"},
    "compare_attributes": {"Newcombe": "Differences of two shares, and log-odds"},
    "compare_crime_words": {"squares of the ends of two ratios": "Two datasets"},
    "compare_demographics": {"Newcombe": "Differences of two shares, and log-odds"},
    "compare_intersections": {"Newcombe": "Differences of two shares, and log-odds"},
    "compare_sentiment": {"Newcombe, of effective sizes": "Two datasets"},
    "concept_ratio": {"Wilson": "Shares", "Newcombe": "Differences of two shares, and log-odds"},
    "contrast_balance": {"Wilson": "Shares", "ratio_low, ratio_high": "Objects of a contrast set"},
    "cooccurrence": {
        "ratio_low, ratio_high": "Ratios of what is seen to chance",
        "the same, of captions (design_effects)": "Labels and concepts of captions",
    },
    "counterfactual_retrieval": {
        "Wilson, of effective sizes": "Shares and means of rows in clusters",
        "Newcombe": "Differences of two shares, and log-odds",
    },
    "crime_words": {
        "Wilson": "Shares",
        "ratio_low, ratio_high": "Ratios of what is seen to chance",
        "both, of persons (effective_size, design_effect)": "Persons of images",
    },
    "demographics": {"Wilson": "Shares"},
    "detection_recall": {
        "Wilson, of effective sizes": "Rows of one image",
    },
    "directional_amplification": {"Agresti and Min, Agresti and Caffo, Student's t": "Amplification"},
    "edit_quality": {"Wilson, of effective sizes": "Shares and means of rows in clusters"},
    "generated_ratio": {"Wilson": "Shares"},
    "geography": {"Wilson": "Shares", "ratio_low, ratio_high": "Ratios of what is seen to chance"},
    "harmful_zero_shot": {"Wilson": "Shares"},
    "hate_content_rate": {"Wilson, of effective sizes": "Rows of one image"},
    "ieat": {"effect_interval": "Effect sizes", "the same, of sources": "Vectors of one source"},
    "image_text_matching": {
        "Student's t": "Means of pairs",
        "Wilson": "Shares",
        "both, of pairs of one image": "Shares and means of rows in clusters",
    },
    "intersections": {"Wilson": "Shares", "ratio_low, ratio_high": "Ratios of what is seen to chance"},
    "keyword_profile": {"inverse hyperbolic sine of log-odds": "Differences of two shares, and log-odds"},
    "label_validation": {
        "squares of Wilson's ends, weighted; Wilson": "Labels beside answers",
        "kappas (beyond_chance_low)": "Agreement",
    },
    "leakage": {"cuts (split_interval)": "Cuts of a dataset"},
    "lic": {"cuts (split_interval)": "Cuts of a dataset"},
    "markedness": {"Wilson": "Shares"},
    "min_size_study": {"Wilson": "Shares", "kappa (beyond_chance_low)": "Agreement"},
    "proposal_recall": {"Wilson": "Shares"},
    "ratio": {
        "odds of Wilson's ends": "The more frequent of two",
        "the same, of effective sizes": "Shares and means of rows in clusters",
    },
    "ratio_shift": {"logarithm of a ratio of odds, by images": "A ratio before and after"},
    "retrieval_bias": {"Student's t by images, Wilson of effective sizes": "Shares and means of rows in clusters"},
    "retrieval_bias_models": {"Student's t by images, Wilson of effective sizes": "Shares and means of rows in clusters"},
    "retrieval_bias_queries": {"Wilson: bias": "Shares"},
    "retrieval_bias_sets": {"Student's t by images": "Shares and means of rows in clusters"},
    "self_similarity": {"Student's t over the jackknife": "Pairs of one label"},
    "score_distribution": {"Wilson, of effective sizes": "Rows of one image"},
    "sentiment": {"Wilson of effective sizes, Student's t by images": "Shares and means of rows in clusters"},
    "similarity_bias": {"Welch": "Mean cosines", "Welch, of sources": "Vectors of one source"},
    "so_b_it": {"Wilson": "Shares", "ratio_low, ratio_high, of the first K": "What is retrieved for a word"},
    "spurious_correlations": {"Newcombe": "Differences of two shares, and log-odds"},
    "spurious_probe": {"cuts (split_interval)": "Cuts of a dataset"},
    "subject_alterations": {"Wilson": "Shares"},
    "subject_errors": {"Wilson, of effective sizes": "Shares and means of rows in clusters"},
    "topic_pmi": {"Student's t over autoencoders": "Topics over autoencoders"},
    "weat": {"effect_interval": "Effect sizes"},
    "win_rates": {"Wilson, of effective sizes": "What a judge prefers"},
}  # fmt: skip
"""Of each audit: how its intervals are made, and which section says how often they hold the truth."""


class Section(NamedTuple):
    """Hold what a section says, the columns of its table, and what gives its rows."""

    about: str
    columns: str
    rows: Callable[[cb.Session, np.random.Generator], Iterator[tuple[object, ...]]]


# One row of images a count: of the n images of the k-th name, k - 1 are hit.
NAMES = "zero France Peru Germany Italy Spain Japan Brazil Canada Kenya Norway".split()  # noqa: SIM905
OF_NAMES = "(SELECT image_id, name AS label FROM units)"
OF_HITS = "(SELECT image_id, name AS label FROM units WHERE hit)"
OF_SIDES = "(SELECT image_id, CASE WHEN hit THEN 'female' ELSE 'male' END AS label FROM units)"
BOX = "(SELECT image_id, 'x' AS category, 9 * place AS x, 0 AS y, 9 AS width, 9 AS height, {} FROM {})"
WILSON = {
    "agreement": (
        ("agreement('x', labels := (SELECT image_id, CAST(NULL AS BIGINT) AS detection_id, 'x' AS attribute, CASE WHEN hit "
        "THEN 'p' ELSE 'q' END AS value, concat('a ', name) AS annotator FROM units UNION ALL SELECT image_id, NULL, 'x', "
        "'p', concat('b ', name) FROM units), min_count := 0)"),
        "metric IN ('agreement', 'confusion', 'jaccard')",
    ),
    "artifact_shift": (
        ("artifact_shift((SELECT image_id, name AS label, [sin(image_id), cos(image_id)] AS embedding FROM units WHERE hit), "
        "(SELECT image_id, [sin(7 * image_id), cos(3 * image_id)] AS embedding FROM units), (SELECT image_id, name AS label "
        "FROM units WHERE NOT hit), seeds := 1, min_count := 0)"),
        "metric = 'edited_share'",
    ),
    "attribute_frequencies": (
        ("attribute_frequencies((SELECT image_id, name AS category, CASE WHEN hit THEN 'x' ELSE 'y' END AS attribute "
        "FROM units), min_count := 0)"),
    ),
    "attribute_matrix": (
        ("attribute_matrix((SELECT image_id, 'name' AS category, name AS attribute FROM units WHERE hit UNION ALL SELECT "
        "image_id, 'place', concat('p', place % 2) FROM units WHERE hit), 'name', 'place', min_count := 0)"),
    ),
    "balance": (f"balance({OF_HITS}, min_count := 0)",),
    "bias_transfer": (
        ("bias_transfer((SELECT concat('c', image_id) AS concept, k - 2 AS value FROM units), (SELECT concat('c', image_id) "
        "AS category, place - 6 AS value FROM units), min_count := 0)"),
        "metric LIKE 'data%'",
    ),
    "cluster_representation": (
        f"cluster_representation((SELECT image_id, name AS cluster FROM units), {OF_SIDES}, min_count := 0)",
        "true",
        "share_low",
        "share_high",
    ),
    "concept_ratio": (
        f"concept_ratio({OF_SIDES}, (SELECT image_id, name AS concept FROM units), min_count := 0)",
    ),
    "contrast_balance": (
        ("contrast_balance((SELECT image_id AS edit_id, k AS image_id, name AS label FROM units WHERE hit), (SELECT k AS "
        "image_id, 'x' AS concept FROM units), min_count := 0)"),
        "measure = 'group'",
    ),
    "crime_words": (
        (f"crime_words({OF_SIDES}, (SELECT image_id, concat('big ', name) AS text FROM units), (SELECT DISTINCT "
        "concat('big ', name) AS term, 'c' AS class FROM units), min_count := 0)"),
        "true",
        "share_low",
        "share_high",
    ),
    "demographics": (f"demographics({OF_HITS}, min_count := 0)",),
    "detection_recall": (
        (f"detection_recall({BOX.format('1e0 AS score', 'units WHERE hit')}, {BOX.format('false AS is_crowd', 'units')}, "
        f"{OF_NAMES}, min_count := 0)"),
        "metric = 'recall_50'",
    ),
    "edit_quality": (
        ("edit_quality((SELECT image_id AS edit_id, image_id, name AS label, 't' AS template, hit AS accepted, name AS "
        "predicted, 0 AS background FROM units), min_count := 0)"),
        "metric = 'accepted'",
    ),
    "generated_ratio": (
        f"generated_ratio((SELECT image_id, name AS category, place FROM units), {OF_SIDES}, min_count := 0)",
    ),
    "geography": (
        f"geography({OF_NAMES}, (SELECT image_id, name AS text FROM units), min_count := 0)",
        "label = 'all'",
        "share_low",
        "share_high",
    ),
    "harmful_zero_shot": (
        (f"harmful_zero_shot((SELECT image_id, CASE WHEN hit THEN 'x' ELSE 'y' END AS predicted FROM units), {OF_NAMES}, "
        "(SELECT 'x' AS term, 'c' AS class), min_count := 0)"),
    ),
    "hate_content_rate": (
        ("hate_content_rate('x', labels := (SELECT image_id, 'x' AS attribute, 'y' AS value, CASE WHEN hit THEN 0.9 ELSE 0.1 "
        f"END AS score, 'a' AS annotator FROM units), groups := {OF_NAMES}, min_count := 0)"),
        "true",
        "low / 100",
        "high / 100",
    ),
    "image_text_matching": (
        ("image_text_matching((SELECT image_id AS pair_id, CASE WHEN hit THEN 1 ELSE 0 END AS rr, 0.5 AS r_o, place AS o_r, k "
        "AS cc, place AS c_o, 0.5 AS o_c FROM units), min_count := 0)"),
        "true",
        "correct_low",
        "correct_high",
        "round(correct * n)",
    ),
    "intersections": (
        f"intersections({OF_HITS}, (SELECT image_id, concat('p', place % 2) AS label FROM units), min_count := 0)",
    ),
    "markedness": (
        ("markedness((SELECT image_id, CASE WHEN hit THEN [1e0, 0e0] ELSE [0e0, 1e0] END AS embedding FROM units), (SELECT "
        "'person' AS category, [1e0, 0e0] AS embedding UNION ALL SELECT 'other', [0e0, 1e0]), "
        f"{OF_NAMES}, min_count := 0)"),
        "true",
        "share_low",
        "share_high",
    ),
    "min_size_study": (
        ("min_size_study((SELECT image_id AS detection_id, CASE WHEN hit THEN 'x' ELSE 'y' END AS label FROM units), (SELECT "
        "image_id AS detection_id, 'x' AS label FROM units), (SELECT image_id AS detection_id, image_id, 'x' AS category, k AS width, 99 AS height FROM "
        "units), bins := [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], min_count := 0)"),
    ),
    "proposal_recall": (
        ("proposal_recall(proposal := (SELECT name AS term, [1e0, 0e0] AS embedding FROM units), reference := (SELECT "
        "concat('w', image_id) AS term, CASE WHEN hit THEN [1e0, 0e0] ELSE [0e0, 1e0] END AS embedding FROM units))"),
        "metric = 'recall'",
        "low",
        "high",
        "round(value * n)",
    ),
    "retrieval_bias_queries": (
        ("retrieval_bias_queries(hits := (SELECT k AS query_id, image_id AS item_id, place + 1 AS rank, 0.5 AS score FROM "
        "units), labelled_hits := (SELECT k AS query_id, image_id AS item_id, place + 1 AS rank, 0.5 AS score FROM units), "
        "item_groups := (SELECT image_id AS item_id, CASE WHEN hit THEN 'male' ELSE 'female' END AS label FROM units))"),
        "metric = 'bias'",
        "(1 + low) / 2",
        "(1 + high) / 2",
        "round(n * (1 + value) / 2)",
    ),
    "score_distribution": (
        (
            "score_distribution('x', [0.5], labels := (SELECT image_id, 'x' AS attribute, CASE WHEN hit THEN 0.9 ELSE 0.1 END "
            f"AS score, 'a' AS annotator FROM units), groups := {OF_NAMES}, min_count := 0)"
        ),
    ),
    "so_b_it": (
        (f"so_b_it((SELECT image_id FROM units), (SELECT 'x' AS category, [1e0] AS embedding), {OF_SIDES}, asked := (SELECT "
        "DISTINCT k AS query_id, name AS category FROM units), hits := (SELECT k AS query_id, image_id AS item_id, place + 1 "
        "AS rank FROM units), min_count := 0)"),
        "true",
        "share_low",
        "share_high",
    ),
    "subject_alterations": (
        ("subject_alterations((SELECT image_id AS pair_id, name AS original, 'x' AS counterfactual FROM units WHERE hit), "
        "'original', min_count := 0)"),
    ),
    "win_rates": (
        (
            "win_rates((SELECT image_id, name AS first, 'x' AS second, CASE WHEN hit THEN name ELSE 'x' END AS winner FROM "
            "units), min_count := 0)"
        ),
        "true",
        "low",
        "high",
        "wins",
    ),
}  # fmt: skip
"""Calls of audits with plain shares; then which rows are shares, the columns of the ends, and the count."""
SHARES = """
WITH sized AS (
  SELECT *, effective_size(total, n, squares, products, sizes, clusters) AS m FROM drawn
)
SELECT
  avg(CASE WHEN wilson_low(total * m / n, m) <= $truth AND $truth <= wilson_high(total * m / n, m) THEN 1 ELSE 0 END),
  avg(CASE WHEN wilson_low(total, n) <= $truth AND $truth <= wilson_high(total, n) THEN 1 ELSE 0 END),
  median(seen)
FROM sized
"""
MEANS = """
SELECT avg(CASE WHEN abs(total / n) <= clustered_point(n, sizes)
  * sqrt(clustered_variance(total, n, squares, products, sizes, clusters)) THEN 1 ELSE 0 END)
FROM drawn
"""
RATIOS = """
SELECT
  avg(CASE WHEN ratio_low(both, a, b, n) <= $truth AND $truth <= ratio_high(both, a, b, n) THEN 1 ELSE 0 END),
  avg(CASE WHEN both > 0 AND abs(ln(both * n / a / b / $truth)) <=
    half_interval(sqrt(greatest(1 / both - 1 / a - 1 / b - 1 / n + 2 * both / a / b, 0))) THEN 1 ELSE 0 END)
FROM drawn
"""
MARGINS = ((0.01, 0.5), (0.1, 0.05), (0.1, 0.5), (0.5, 0.5), (0.9, 0.1), (0.9, 0.9))
DIFFERENCES = """
SELECT
  avg(CASE WHEN difference_low(a / n, wilson_low(a, n), b / m, wilson_high(b, m)) <= $difference
    AND $difference <= difference_high(a / n, wilson_high(a, n), b / m, wilson_low(b, m)) THEN 1 ELSE 0 END),
  avg(CASE WHEN abs(ln((a + 0.5) / (n - a + 0.5)) - ln((b + 0.5) / (m - b + 0.5)) - $log_odds)
    <= 2 * asinh(half_interval(sqrt(1 / (a + 0.25) + 1 / (n - a + 0.25) + 1 / (b + 0.25) + 1 / (m - b + 0.25))) / 2)
    THEN 1 ELSE 0 END)
FROM drawn
"""
PAIR_MEANS = """
SELECT
  avg(CASE WHEN abs(mean) <= half_interval(sqrt(variance / n)) THEN 1 ELSE 0 END),
  avg(CASE WHEN abs(mean) <= student_point(n - 1) * sqrt(variance / n) THEN 1 ELSE 0 END)
FROM drawn
"""
CLUSTERED_DIFFERENCES = """
WITH sized AS (
  SELECT
    *,
    effective_size(total, n, squares, products, sizes, clusters) AS m,
    effective_size(b_total, b_n, b_squares, b_products, b_sizes, b_clusters) AS b_m
  FROM drawn
),
ends AS (
  SELECT
    total / n AS a,
    wilson_low(total * m / n, m) AS a_low,
    wilson_high(total * m / n, m) AS a_high,
    b_total / b_n AS b,
    wilson_low(b_total * b_m / b_n, b_m) AS b_low,
    wilson_high(b_total * b_m / b_n, b_m) AS b_high
  FROM sized
)
SELECT avg(CASE WHEN difference_low(a, a_low, b, b_high) <= $truth AND $truth <= difference_high(a, a_high, b, b_low)
  THEN 1 ELSE 0 END)
FROM ends
"""
DELTA_DIFFERENCES = """
WITH ends AS (
  SELECT
    both * n / one / other AS a,
    ratio_low(both, one, other, n) AS a_low,
    ratio_high(both, one, other, n) AS a_high,
    b_both * b_n / b_one / b_other AS b,
    ratio_low(b_both, b_one, b_other, b_n) AS b_low,
    ratio_high(b_both, b_one, b_other, b_n) AS b_high
  FROM drawn
)
SELECT avg(CASE WHEN difference_low(a, a_low, b, b_high) <= $truth AND $truth <= difference_high(a, a_high, b, b_low)
  THEN 1 ELSE 0 END)
FROM ends
"""


def alike(draw: np.random.Generator, values: np.ndarray, of_cluster: np.ndarray, correlation: float) -> np.ndarray:
    """Return values of which some are those of their cluster."""
    return np.where(draw.random(values.shape) < np.sqrt(correlation), of_cluster, values)


def sums(values: np.ndarray, sizes: np.ndarray, prefix: str = "") -> pa.Table:
    """Return sums over the clusters of each sample; ``values``: (draws, clusters, most rows), ``sizes``: (draws, clusters)."""
    own = (values * (np.arange(values.shape[2]) < sizes[..., None])).sum(axis=2)
    columns = {
        "total": own.sum(axis=1),
        "n": sizes.sum(axis=1),
        "squares": (own**2).sum(axis=1),
        "products": (own * sizes).sum(axis=1),
        "sizes": (sizes**2).sum(axis=1),
        "clusters": np.full(len(sizes), sizes.shape[1]),
        "seen": (own > 0).sum(axis=1),
    }
    return table(**{prefix + name: column for name, column in columns.items()})


def table(**columns: np.ndarray) -> pa.Table:
    """Return columns of doubles."""
    return pa.table({name: pa.array(np.asarray(column, float)) for name, column in columns.items()})


def told(session: cb.Session, text: str, samples: pa.Table, **values: float) -> tuple[float, ...]:
    """Return the row that a query gives over samples, which it calls ``drawn``."""
    return session.sql(text.replace("drawn", session.bind("drawn", samples)), **values).fetchall()[0]


def held(
    session: cb.Session, call: str, *asked: tuple[float, str, str], where: str = "true", **tables: pa.Table
) -> np.ndarray:
    """Return how many intervals of an audit's answer hold a truth, and how many there are; a truth and two ends each."""
    parts = [
        f"sum(CASE WHEN {low} <= {truth!r} AND {truth!r} <= {high} THEN 1e0 ELSE 0 END), count({low})"
        for truth, low, high in asked
    ]
    row = session.sql(f"SELECT {', '.join(parts)} FROM {call} WHERE {where}", **tables).fetchall()[0]
    return np.array(row, float).reshape(-1, 2)


def shown(share: float) -> str:
    """Return how many of the samples."""
    return "" if np.isnan(share) else f"{share:.1%}"


def parts_of(found: list[np.ndarray]) -> list[str]:
    """Return how many hold the truth, of what ``held`` told of some calls."""
    rights, counts = np.sum(found, axis=0).T
    return [shown(right / count) if count else "" for right, count in zip(rights, counts, strict=True)]


def inside(low: np.ndarray, high: np.ndarray, truth: float) -> float:
    """Return how many intervals hold the truth, of those that are there."""
    known = ~np.isnan(low)
    return float(np.mean((low[known] <= truth) & (truth <= high[known]))) if known.any() else np.nan


def of_shares(session: cb.Session, _: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield what Wilson's interval holds, by the chance of every count."""
    from scipy.stats import binom

    grid = np.linspace(0.01, 0.99, 99)
    for n in (10, 20, 50, 100, 1000):
        counts = np.arange(n + 1)
        text = "SELECT list(wilson_low(k, n) ORDER BY k), list(wilson_high(k, n) ORDER BY k) FROM drawn"
        low, high = (np.array(ends) for ends in told(session, text, table(k=counts, n=np.full(n + 1, n))))

        def of(share: float, low: np.ndarray = low, high: np.ndarray = high, n: int = n) -> float:
            return float(binom.pmf(np.arange(n + 1), n, share)[(low <= share) & (share <= high)].sum())

        over = [of(share) for share in grid]
        yield n, *(shown(of(share)) for share in RATES), shown(min(over)), shown(float(np.mean(over)))


def of_audits_with_shares(session: cb.Session, _: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield how far ends that audits give lie from Wilson's."""
    n = len(NAMES) - 1
    k, place = np.repeat(np.arange(n + 1), n), np.tile(np.arange(n), n + 1)
    columns = {"image_id": np.arange(len(k)), "k": k, "place": place, "name": np.array(NAMES)[k], "hit": place < k}
    units = pa.table(columns)
    for audit, (call, *given) in WILSON.items():
        where, low, high, count = (*given, *("true", "low", "high", "count")[len(given) :])
        text = (
            f"SELECT count({low}), max(greatest(abs({low} - wilson_low({count}, n)), abs({high} - wilson_high({count}, n)))) "
            f"FROM {call} WHERE {where}"
        )
        rows, furthest = session.sql(text, units=units).fetchall()[0]
        yield f"`{audit}`", rows, "0" if furthest < 1e-12 else f"{furthest:.2g}"


def of_clusters(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the rows of shares and means."""
    for clusters, correlation in itertools.product((10, 30, 200, 1000), (0.0, 0.3, 0.8)):
        sizes = draw.choice(SIZES, (DRAWS, clusters))
        shape = (*sizes.shape, max(SIZES))
        normal = alike(draw, draw.normal(size=shape), draw.normal(size=(*sizes.shape, 1)), correlation)
        (mean,) = told(session, MEANS, sums(normal, sizes))
        for share in (0.01, 0.1, 0.5, 0.9, 0.99):
            has = alike(draw, draw.random(shape) < share, draw.random((*sizes.shape, 1)) < share, correlation)
            right, plain, seen = told(session, SHARES, sums(has, sizes), truth=share)
            yield clusters, share, correlation, f"{seen:.0f}", shown(right), shown(mean), shown(plain)


def rows_of(
    draw: np.random.Generator, samples: int, images: int, share: float, correlation: float
) -> dict[str, np.ndarray]:
    """Return rows of images of samples, alike within an image, as columns."""
    sizes = draw.choice(SIZES, samples * images)
    image = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(image)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    hit = alike(draw, draw.random(len(image)) < share, (draw.random(len(sizes)) < share)[image], correlation)
    return {"image_id": image, "row_id": np.arange(len(image)), "place": place, "sample": image // images, "hit": hit}


def of_rows(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield what audits hold that take rows of one image as independent."""
    samples, share = 400, 0.3
    groups = "(SELECT DISTINCT image_id, concat('s', sample) AS label FROM units)"
    guesses = BOX.replace(
        "9 AS width", "9 * [1, 0.82, 0.62][1 + row_id % 3] AS width"
    )  # of 10, 7 and 3 of the ten overlaps
    boxes = f"{guesses.format('1e0 AS score', 'units WHERE hit')}, {BOX.format('false AS is_crowd', 'units')}"
    recalls = [
        (truth, *(f"CASE WHEN label <> 'all' AND metric = '{metric}' THEN {end} END" for end in ("low", "high")))
        for metric, truth in {"recall_50": share, "mean_recall": share * (10 + 7 + 3) / 30}.items()
    ]
    distribution = (
        "score_distribution('x', [0.5], labels := (SELECT image_id, 'x' AS attribute, CASE WHEN hit THEN 0.9 ELSE 0.1 END "
        f"AS score, 'a' AS annotator FROM units), groups := {groups}, min_count := 0)"
    )
    scores = (
        "hate_content_rate('x', labels := (SELECT image_id, 'x' AS attribute, 'y' AS value, CASE WHEN hit THEN 0.9 ELSE "
        f"0.1 END AS score, 'a' AS annotator FROM units), groups := {groups}, min_count := 0)"
    )
    answers = (
        "agreement('x', labels := (SELECT image_id, row_id AS detection_id, 'x' AS attribute, CASE WHEN hit THEN 'p' ELSE "
        "'q' END AS value, concat('a', sample) AS annotator FROM units UNION ALL SELECT image_id, row_id, 'x', 'p', "
        "concat('b', sample) FROM units), min_count := 0)"
    )
    for images, correlation in itertools.product((10, 100), (0.0, 0.3, 0.8)):
        units = pa.table(rows_of(draw, samples, images, share, correlation))
        found = [
            held(session, f"detection_recall({boxes}, {groups}, min_count := 0)", *recalls, units=units),
            held(session, answers, (share, "low", "high"), where="metric = 'agreement'", units=units),
            held(session, scores, (100 * share, "low", "high"), units=units),
            held(session, distribution, (share, "low", "high"), where="score_from = 0.5", units=units),
        ]
        yield images, correlation, *(cell for own in found for cell in parts_of([own]))


def of_persons(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield shares and deltas of persons in images."""
    samples, share = 400, 0.3
    call = (
        "over_representation((SELECT image_id, CASE WHEN hit THEN 'f' ELSE 'm' END AS label FROM units), (SELECT DISTINCT "
        "image_id, concat('s', sample) AS concept FROM units), 'person', 0)"
    )
    asked = (share, "share_low", "share_high"), (0.0, "delta_low", "delta_high")
    for images, correlation in itertools.product((10, 30, 100), (0.0, 0.3, 0.8)):
        units = pa.table(rows_of(draw, samples, images, share, correlation))
        yield images, correlation, *parts_of([held(session, call, *asked, where="label = 'f'", units=units)])


def of_ratios(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the rows of ratios, where two things can meet that often and both are expected ten times."""
    for n, (one, other), ratio in itertools.product((50, 200, 1000, 10_000), MARGINS, (0.3, 1.0, 1.1, 1.5, 3.0)):
        both = one * other * ratio
        if both >= min(one, other) or one + other - both > 1 or n * min(one, other) < 10:
            continue
        cells = draw.multinomial(n, [both, one - both, other - both, 1 - one - other + both], DRAWS)
        samples = table(both=cells[:, 0], a=cells[:, 0] + cells[:, 1], b=cells[:, 0] + cells[:, 2], n=np.full(DRAWS, n))
        found = told(session, RATIOS, samples, truth=ratio)
        yield n, one, other, ratio, f"{np.median(cells[:, 0]):.0f}", *map(shown, found)


def of_captions(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the PMI of ten labels of images and concepts of captions, each of which goes with one of the labels."""
    calls, concepts, rate = 8, 50, 0.1
    for images, ratio, correlation in (
        (30, 1, 0.0),
        (30, 1, 0.8),
        (200, 1, 0.8),
        (200, 3, 0.0),
        (200, 3, 0.8),
        (1000, 3, 0.8),
    ):
        found: list[list[np.ndarray]] = [[], []]
        for _ in range(calls):
            sizes = draw.choice(SIZES, images)
            image = np.repeat(np.arange(images), sizes)
            label = draw.integers(0, 10, images)
            shares = np.where(label[:, None] == np.arange(concepts) % 10, rate * ratio, rate * (10 - ratio) / 9)
            shape = (len(image), concepts)
            own, whole = (draw.random(size) for size in (shape, (images, concepts)))
            has = alike(draw, own < shares[image], (whole < shares)[image], correlation)
            unit, concept = has.nonzero()
            tables = {
                "labels_of": pa.table({"image_id": np.arange(len(image)), "label": [f"l{i}" for i in label[image]]}),
                "found": pa.table({"image_id": unit, "concept": [f"c{c}" for c in concept]}),
                "sourced": pa.table({"image_id": np.arange(len(image)), "source_id": image}),
            }
            where = "substr(label, 2) = right(concept, 1)"
            for place, sources in enumerate(("sourced", "(SELECT * FROM sourced WHERE 1 = 0)")):
                call = f"cooccurrence(labels_of, found, {sources}, min_count := 0)"
                found[place].append(held(session, call, (float(np.log(ratio)), "low", "high"), where=where, **tables))
        yield images, ratio, correlation, *(cell for own in found for cell in parts_of(own))


def of_words(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield shares and deltas among the first K images for a word."""
    calls, words = 40, 10
    call = (
        "so_b_it((SELECT image_id FROM labels_of), (SELECT 'x' AS category, [1e0] AS embedding), labels_of, {k}, asked := "
        "(SELECT DISTINCT query_id, concat('w', query_id) AS category FROM ranked), hits := ranked, min_count := 0)"
    )
    for (images, k), base, apart in (
        ((100, 20), 0.1, 1.0),
        ((100, 20), 0.5, 1.0),
        ((1000, 100), 0.1, 0.0),
        ((1000, 100), 0.5, 1.0),
    ):
        share = among_first(base, apart, k / images)
        asked = (share, "share_low", "share_high"), (share / base - 1, "delta_low", "delta_high")
        found = []
        for _ in range(calls):
            label = draw.random(images) < base
            order = np.argsort(-draw.normal(size=(words, images)) - apart * label, axis=1)[:, :k]
            ranked = {
                "query_id": np.repeat(np.arange(words), k),
                "item_id": order.ravel(),
                "rank": np.tile(np.arange(k) + 1, words),
            }
            tables = {
                "labels_of": pa.table({"image_id": np.arange(images), "label": np.where(label, "f", "m")}),
                "ranked": pa.table(ranked),
            }
            found.append(held(session, call.format(k=k), *asked, where="label = 'f'", **tables))
        yield images, k, base, f"{share:.2f}", *parts_of(found)


def among_first(base: float, apart: float, first: float) -> float:
    """Return the share of a label among the first part of all images, those with the label being apart from the others."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    at = brentq(lambda t: base * norm.sf(t - apart) + (1 - base) * norm.sf(t) - first, -9, 9)
    return float(base * norm.sf(at - apart) / first)


def of_contrast_sets(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield delta of objects in edits, one of each label of every source."""
    calls, objects = 4, 100
    call = (
        "contrast_balance((SELECT edit_id, image_id, label FROM edits), (SELECT image_id, 'x' AS concept FROM edits), seen, "
        "show := 'all', min_count := 0)"
    )
    for sources, share, ratio, correlation in (
        (30, 0.5, 1.0, 0.0),
        (30, 0.5, 1.5, 0.8),
        (300, 0.1, 1.0, 0.0),
        (300, 0.1, 1.0, 0.8),
        (300, 0.1, 1.5, 0.8),
        (300, 0.5, 1.5, 0.8),
    ):
        shares = share * np.array([ratio, 2 - ratio])
        asked = (ratio / 2, "low", "high"), (ratio - 1, "delta_low", "delta_high")
        found = []
        for _ in range(calls):
            whole = draw.random((sources, 1, objects)) < shares[:, None]
            has = alike(draw, draw.random((sources, 2, objects)) < shares[:, None], whole, correlation)
            edit, thing = has.reshape(-1, objects).nonzero()
            edits = {"edit_id": np.arange(2 * sources), "image_id": np.repeat(np.arange(sources), 2)}
            tables = {
                "edits": pa.table({**edits, "label": np.tile(["f", "m"], sources)}),
                "seen": pa.table({"edit_id": edit, "concept": [f"o{t}" for t in thing]}),
            }
            found.append(held(session, call, *asked, where="measure = 'object' AND label = 'f'", **tables))
        yield sources, share, ratio, correlation, *parts_of(found)


def of_differences(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the rows of differences and log-odds."""
    for (n, m), (one, other) in itertools.product(
        ((20, 20), (30, 300), (200, 200), (1000, 5000)), ((0.5, 0.5), (0.1, 0.1), (0.05, 0.2), (0.9, 0.5), (0.01, 0.01))
    ):
        if min(n * one, n * (1 - one), m * other, m * (1 - other)) < 1:
            continue
        log_odds = np.log(one / (1 - one)) - np.log(other / (1 - other))
        counts = {"a": draw.binomial(n, one, DRAWS), "b": draw.binomial(m, other, DRAWS)}
        samples = table(**counts, n=np.full(DRAWS, n), m=np.full(DRAWS, m))
        found = told(session, DIFFERENCES, samples, difference=one - other, log_odds=float(log_odds))
        yield n, m, one, other, *map(shown, found)


def of_two_datasets(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield differences of clustered shares, then of deltas."""
    for (a, b), (one, other), correlation in itertools.product(
        ((10, 10), (30, 300), (200, 200)), ((0.3, 0.3), (0.1, 0.2), (0.9, 0.5)), (0.0, 0.3, 0.8)
    ):
        drawn = []
        for clusters, share, prefix in ((a, one, ""), (b, other, "b_")):
            sizes = draw.choice(SIZES, (DRAWS, clusters))
            shape = (*sizes.shape, max(SIZES))
            has = alike(draw, draw.random(shape) < share, draw.random((*sizes.shape, 1)) < share, correlation)
            drawn.append(sums(has, sizes, prefix))
        samples = pa.table({n: t[n] for t in drawn for n in t.column_names})
        (right,) = told(session, CLUSTERED_DIFFERENCES, samples, truth=one - other)
        yield "shares of clusters", a, b, one, other, correlation, shown(right)
    for (a, b), (one, other) in itertools.product(
        ((200, 200), (200, 2000), (1000, 1000)), ((1.0, 1.0), (1.5, 0.5), (0.5, 0.5))
    ):
        drawn = []
        for n, ratio, prefix in ((a, one, ""), (b, other, "b_")):
            both = 0.1 * 0.5 * ratio
            cells = draw.multinomial(n, [both, 0.1 - both, 0.5 - both, 0.4 + both], DRAWS)
            counts = {"both": cells[:, 0], "one": cells[:, 0] + cells[:, 1], "other": cells[:, 0] + cells[:, 2]}
            drawn.append({prefix + k: v for k, v in {**counts, "n": np.full(DRAWS, n)}.items()})
        (right,) = told(session, DELTA_DIFFERENCES, table(**drawn[0], **drawn[1]), truth=one - other)
        yield "delta", a, b, one - 1, other - 1, "", shown(right)


def of_wholes(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the difference of a cluster's share from that of all images."""
    calls, clusters = 40, 10
    call = "cluster_representation(placed, labels_of, min_count := 0)"
    for images, size, (base, share) in itertools.product(
        (100, 1000), (0.1, 0.5), ((0.5, 0.5), (0.5, 0.8), (0.1, 0.1), (0.1, 0.18))
    ):
        found = []
        for _ in range(calls):
            label = draw.random(images) < base
            chance = np.where(label, share / base, (1 - share) / (1 - base)) * size
            image, cluster = (draw.random((images, clusters)) < chance[:, None]).nonzero()
            tables = {
                "labels_of": pa.table({"image_id": np.arange(images), "label": np.where(label, "f", "m")}),
                "placed": pa.table({"image_id": image, "cluster": cluster}),
            }
            found.append(held(session, call, (share - base, "low", "high"), where="label = 'f'", **tables))
        yield images, size, base, share, *parts_of(found)


def of_effects(_: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the rows of effect sizes."""
    for (n, m), apart, spread in itertools.product(((10, 10), (20, 200), (500, 500)), (0.0, 0.5, 2.0), (1.0, 2.0)):
        shares = []
        for values in (draw.normal, lambda size: draw.exponential(size=size) - 1):
            x, y = values(size=(DRAWS, n)) + apart, values(size=(DRAWS, m)) * spread
            given = (
                x.mean(axis=1) - y.mean(axis=1),
                x.var(axis=1),
                np.full(DRAWS, n),
                y.var(axis=1),
                np.full(DRAWS, m),
            )
            found = effect_interval(*(pa.array(column.astype(float)) for column in given))
            truth = apart / np.sqrt((n + m * spread**2) / (n + m) + n * m / (n + m) ** 2 * apart**2)
            shares.append(inside(*(found.field(end).to_numpy() for end in ("low", "high")), truth))
        yield n, m, apart, spread, *map(shown, shares)


def pictures(draw: np.random.Generator, label: np.ndarray, apart: float) -> np.ndarray:
    """Return vectors of 32, in half of which images with a label are apart from the others."""
    return draw.normal(size=(len(label), 32)) + apart * label[:, None] * (np.arange(32) % 2)


def vectors(rows: np.ndarray, **columns: object) -> pa.Table:
    """Return a table with an embedding a row."""
    return pa.table({**columns, "embedding": pa.array(rows.astype(np.float32).tolist(), pa.list_(pa.float32()))})


def of_edits(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield how often the intervals of no difference hold it, of five edits a source, that are alike or not."""
    calls, edits = 12, 5
    prompts = vectors(np.eye(32), category=[f"c{i}" for i in range(32)])
    given = "prompts, labels_of, label := 'f', against := 'm', min_count := 0"
    asked = {
        f"association(pictured, {given}": (0.0, "low", "high"),
        f"similarity_bias(pictured, {given}": (0.0, "low", "high"),
        "casc(pictured, prompts, labels_of, min_count := 0": (0.0, "low", "high"),
    }
    for sources, alike, both in itertools.product((20, 200), (0.0, 0.8), (False, True)):
        found: dict[str, list[np.ndarray]] = {}
        for _ in range(calls):
            source = np.repeat(np.arange(sources), edits)
            label = np.arange(len(source)) % 2 if both else draw.permutation(np.arange(sources) % 2)[source]
            rows = np.sqrt(alike) * draw.normal(size=(sources, 32))[source]
            rows += np.sqrt(1 - alike) * draw.normal(size=(len(source), 32))
            tables = {
                "prompts": prompts,
                "pictured": vectors(rows, image_id=np.arange(len(source))),
                "labels_of": pa.table({"image_id": np.arange(len(source)), "label": np.array(["f", "m"])[label]}),
            }
            made_of = pa.table({"image_id": np.arange(len(source)), "source_id": source})
            for call, truth in asked.items():
                own = held(session, f"{call}, sources := made_of)", truth, **tables, made_of=made_of)
                found.setdefault(call, []).append(own)
            alone = held(session, f"{next(iter(asked))})", next(iter(asked.values())), **tables)
            found.setdefault("alone", []).append(alone)
        yield sources, alike, "both" if both else "one", *(cell for own in found.values() for cell in parts_of(own))


def of_cosines(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield differences of mean cosines, plain and over one standard deviation; half of the categories are apart."""
    calls = 12
    prompts = vectors(np.eye(32), category=[f"c{i}" for i in range(32)])
    for (n, m), apart in itertools.product(((10, 10), (20, 200), (200, 200)), (0.0, 1.0)):
        known = np.arange(200_000) < 100_000
        many = pictures(draw, known, apart)
        many /= np.linalg.norm(many, axis=1)[:, None]
        x, y = many[known][:, 1::2], many[~known][:, 1::2]
        parts = np.array([n, m]) / (n + m)
        means = [side.mean(axis=0) for side in (many[known], many[~known])]
        squares = sum(p * (side**2).mean() for p, side in zip(parts, (many[known], many[~known]), strict=True))
        whole = np.sqrt(squares - sum(p * mean.mean() for p, mean in zip(parts, means, strict=True)) ** 2)
        difference = float(x.mean() - y.mean())
        own = np.sqrt(parts[0] * x.var(axis=0) + parts[1] * y.var(axis=0) + parts.prod() * difference**2).mean()
        truths = {
            "similarity_bias(pictured, prompts, labels_of, 'f', 'm', min_count := 0)": difference,
            "association(pictured, prompts, labels_of, 'group', 'f', 'm', min_count := 0)": difference / own,
            "association(pictured, prompts, labels_of, 'global', 'f', 'm', min_count := 0)": difference / whole,
        }
        found: dict[str, list[np.ndarray]] = {call: [] for call in truths}
        for _ in range(calls):
            label = np.arange(n + m) < n
            tables = {
                "pictured": vectors(pictures(draw, label, apart), image_id=np.arange(n + m)),
                "labels_of": pa.table({"image_id": np.arange(n + m), "label": np.where(label, "f", "m")}),
            }
            for call, truth in truths.items():
                where = "CAST(substr(category, 2) AS INTEGER) % 2 = 1"
                asked = float(truth), "low", "high"
                found[call].append(held(session, call, asked, where=where, **tables, prompts=prompts))
        yield n, m, apart, *(cell for rows in found.values() for cell in parts_of(rows))


def of_pairs(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the mean cosine of pairs, many labels in a call."""
    labels = 400
    for n, length in itertools.product((10, 30, 100), (0.0, 1.0, 2.0, 4.0, 8.0)):
        many = draw.normal(size=(400_000, 16)) + length * np.eye(16)[0]
        truth = float(((many / np.linalg.norm(many, axis=1)[:, None]).mean(axis=0) ** 2).sum()) if length else 0.0
        rows = draw.normal(size=(labels * n, 16)) + length * np.eye(16)[0]
        tables = {
            "pictured": vectors(rows, image_id=np.arange(labels * n)),
            "labels_of": pa.table(
                {"image_id": np.arange(labels * n), "label": [f"l{i // n}" for i in range(labels * n)]}
            ),
        }
        call = "self_similarity(pictured, labels_of, min_count := 0)"
        yield n, f"{truth:.2f}", *parts_of([held(session, call, (truth, "low", "high"), **tables)])


def of_means(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield means over pairs of texts and images, by the normal point and by Student's."""
    for n in (10, 30, 100):
        cells = []
        for values in (draw.normal(size=(DRAWS, n)), draw.exponential(size=(DRAWS, n)) - 1):
            samples = table(mean=values.mean(axis=1), variance=values.var(axis=1, ddof=1), n=np.full(DRAWS, n))
            cells += told(session, PAIR_MEANS, samples)
        yield n, *map(shown, cells)


def of_more_frequent(session: cb.Session, _: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the ratio of the more frequent to the other, by the chance of every count."""
    from scipy.stats import binom

    text = "SELECT low, high FROM ratio((SELECT image_id, text FROM said), min_count := 0)"
    for n in (10, 30, 100):
        ends = []
        for k in range(n + 1):
            said = pa.table({"image_id": np.arange(n), "text": ["a man"] * k + ["a woman"] * (n - k)})
            ends.append(session.sql(text, said=said).fetchall()[0])
        low, high = np.array(ends, float).T
        of = []
        for share in (0.5, 0.6, 0.8, 0.95, 0.99):
            truth = max(share, 1 - share) / min(share, 1 - share)
            right = (low <= truth * (1 + 1e-12)) & (truth * (1 - 1e-12) <= high)
            of.append(float(binom.pmf(np.arange(n + 1), n, share)[right].sum()))
        yield n, *map(shown, of)


def of_agreement(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the rows of kappas and alpha; their truth is that of a million targets."""
    ends = ", ".join(f"beyond_chance_{end}(agreed, chance, effective) AS {end}" for end in ("low", "high"))
    text = f"SELECT avg(CAST(truth BETWEEN low AND high AS INTEGER)) FROM (SELECT *, {ends} FROM drawn) GROUP BY place ORDER BY place"
    for targets, right in itertools.product((10, 30, 100, 1000), (0.2, 0.6, 0.9)):
        truths = [first(k) for k in kappas(*ratings(draw, 1_000_000, right))]
        tries = DRAWS // 4 if targets < 1000 else DRAWS // 10
        found = [
            {"place": place, "truth": truth, **kappa}
            for _ in range(tries)
            for place, (truth, kappa) in enumerate(zip(truths, kappas(*ratings(draw, targets, right)), strict=True))
        ]
        drawn = pa.table(
            {name: [f[name] for f in found] for name in ("place", "truth", "agreed", "chance", "effective")}
        )
        rights = session.sql(text.replace("drawn", session.bind("drawn", drawn))).fetchall()
        yield targets, right, *(shown(share) for (share,) in rights)


def first(kappa: dict[str, float]) -> float:
    """Return the value itself."""
    return next(iter(kappa.values()))


def of_annotators(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield shares of one annotator's pairs, and of a label's targets."""
    samples = 150
    for targets, right in itertools.product((10, 30, 100), (0.2, 0.6, 0.9)):
        said, _ = ratings(draw, samples * targets, right)
        image = np.arange(samples * targets)
        rows = {
            "image_id": np.tile(image, 3),
            "detection_id": pa.nulls(3 * len(image), pa.int64()),
            "attribute": ["x"] * (3 * len(image)),
            "value": [f"v{v}" for v in said.ravel()],
            "annotator": [f"{who} {i // targets}" for who in "abc" for i in image],
        }
        equal = right**2 + (1 - right**2) / 3
        both = right**2 / 3 + (1 - right**2) / 9
        asked = [
            (truth, *(f"CASE WHEN metric = '{metric}' THEN {end} END" for end in ("low", "high")))
            for metric, truth in (("annotator", equal), ("jaccard", both / (2 / 3 - both)))
        ]
        call = "agreement('x', labels := rated, min_count := 0)"
        yield targets, right, *parts_of([held(session, call, *asked, rated=pa.table(rows))])


def ratings(draw: np.random.Generator, targets: int, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Return labels that three raters give, (3, targets), and how many raters give each label, (targets, 3)."""
    said = alike(draw, draw.integers(0, 3, (3, targets)), draw.integers(0, 3, targets), right**2)
    return said, np.stack([(said == label).sum(axis=0) for label in range(3)], axis=1)


def kappas(said: np.ndarray, votes: np.ndarray) -> list[dict[str, float]]:
    """Return Cohen's kappa, Fleiss' kappa and Krippendorff's alpha, each with what its interval is made of."""
    pairs, counts = np.unique(said[:2], axis=1, return_counts=True)
    cells = [
        {"label": f"{a}", "other_label": f"{b}", "count": int(n)} for (a, b), n in zip(pairs.T, counts, strict=True)
    ]
    rows, targets = np.unique(votes, axis=0, return_counts=True)
    patterns = [
        {"votes": [{"value": f"{i}", "votes": int(v)} for i, v in enumerate(row) if v], "targets": int(n)}
        for row, n in zip(rows, targets, strict=True)
    ]
    found = [
        cohen_kappa(pa.array([cells], CELLS)),
        *(f(pa.array([patterns], PATTERNS)) for f in (fleiss_kappa, krippendorff_alpha)),
    ]
    return [array.to_pylist()[0] for array in found]


def of_answers(_: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield weighted agreement, precision and recall; each annotator answers about targets of its own."""
    samples, names, sizes = 300, np.array(["p", "q", "r"]), np.array([0.6, 0.3, 0.1])
    for each, right in itertools.product((10, 30, 100), (0.6, 0.9)):
        said = np.full((3, 3), (1 - right) / 2) + np.eye(3) * (right - (1 - right) / 2)
        model = np.repeat(np.tile(np.arange(3), samples), each)
        answers = (draw.random(len(model))[:, None] > said[model].cumsum(axis=1)).sum(axis=1)
        others = np.repeat(np.arange(3), (sizes * 20 * len(model)).astype(int) - samples * each)
        count = len(model) + len(others)
        rows = {
            "label_id": np.arange(len(model)),
            "image_id": np.arange(len(model)),
            "detection_id": pa.nulls(len(model), pa.int64()),
            "attribute": ["x"] * len(model),
            "value": names[answers],
            "score": pa.nulls(len(model), pa.float32()),
            "annotator": [f"a{i // (3 * each)}@s" for i in range(len(model))],
        }
        lake = cb.connect(f"memory://answers-{each}-{right}")
        lake.ingest(
            {
                "images": pa.table({"image_id": np.arange(count), "key": [f"{i}" for i in range(count)]}),
                "labels": pa.table(rows),
            }
        )
        modelled = pa.table({"image_id": np.arange(count), "label": names[np.concatenate([model, others])]})
        truths = {"metric = 'weighted_agreement'": right, "metric = 'precision'": right}
        for i, label in enumerate(names):
            truths[f"metric = 'recall' AND label = '{label}'"] = float(sizes[i] * right / (sizes * said[:, i]).sum())
        asked = [
            (truth, *(f"CASE WHEN {row} THEN {end} END" for end in ("low", "high"))) for row, truth in truths.items()
        ]
        with lake.session() as session:
            call = "label_validation(modelled, 'x', min_count := 0)"
            found = held(session, call, *asked, where="annotator LIKE 'a%'", modelled=modelled)
        yield each, right, *parts_of([found])


def of_cuts(_: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield scores of classifiers; their truth is the mean score over all the samples."""
    for images, rows, share, seeds, apart in (
        (40, 1, 0.2, 5, 0.0),
        (40, 1, 0.2, 5, 1.0),
        (40, 5, 0.2, 5, 1.0),
        (200, 1, 0.2, 5, 0.0),
        (200, 1, 0.2, 5, 1.0),
        (200, 5, 0.2, 5, 0.0),
        (200, 5, 0.2, 5, 1.0),
        (200, 1, 0.1, 10, 1.0),
    ):
        samples = 200
        ids = np.repeat(np.arange(images), rows)
        label = ids % 2 == 0
        given = pa.array([ids.tolist()]), pa.array([np.where(label, "f", "m").tolist()])
        values: dict[str, list[list[float]]] = {
            m: [] for m in ("auc", "accuracy", "folded", "confidence", "difference")
        }
        ratios = []
        for _ in range(samples):
            runs = []
            for side in (0, 0.5):
                each, own = (draw.normal(size=(size, 5)) for size in (images, len(ids)))
                seen = np.sqrt(0.8) * each[ids] + np.sqrt(0.2) * own if rows > 1 else own
                seen[:, 0] += (apart + side) * label
                found = attack_vectors(given[0], pa.array([seen.tolist()]), given[1], seeds=seeds, test_share=share)
                runs.append(found.to_pylist()[0])
            for metric in ("auc", "accuracy", "confidence"):
                values[metric].append([run[metric] for run in runs[0]])
            values["folded"].append([0.5 + abs(run["accuracy"] - 0.5) for run in runs[0]])
            values["difference"].append([b["confidence"] - a["confidence"] for a, b in zip(*runs, strict=True)])
            ratios.append(min(run["n_test"] / run["n_train"] for run in runs[0]))
        cells = []
        for metric, of in values.items():
            least = 1.0 if metric in {"confidence", "difference"} else 0.5  # as the audits have it
            ends = split_interval(pa.array(of), pa.array([max(ratio, least) for ratio in ratios]))
            low, high = (ends.field(end).to_numpy(zero_copy_only=False) for end in ("low", "high"))
            top = np.inf if metric == "difference" else 1.0
            cells.append(shown(inside(low, np.minimum(high, top), float(np.mean(of)))))
        yield images, rows, f"{share:.0%}", seeds, f"{np.mean(values['auc']):.2f}", *cells


def of_categories(_: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield correlations and fits over categories of which both biases are normal."""
    asked = [*itertools.product(("fisher",), (10, 30, 100), (0.0, 0.5, 0.9))]
    asked += [*itertools.product(("bootstrap",), (30,), (0.0, 0.5, 0.9)), ("bootstrap", 100, 0.5)]
    for interval, n, rho in asked:
        samples = DRAWS // 4 if interval == "fisher" else 200 if n < 100 else 100
        x = draw.normal(size=(samples, n))
        y = rho * x + np.sqrt(1 - rho**2) * draw.normal(size=(samples, n)) + 0.5
        points = [
            [{"category": f"c{i}", "x": a, "y": b} for i, (a, b) in enumerate(zip(*pair, strict=True))]
            for pair in zip(x.tolist(), y.tolist(), strict=True)
        ]
        truths = {"rho": rho, "r2": rho**2, "slope": rho, "intercept": 0.5}
        cells = [of_metric(transfer_fit(pa.array(points, POINTS), 1, interval), m, t) for m, t in truths.items()]
        if interval == "fisher":
            cells.append(of_metric(transfer_fit(pa.array(points, POINTS), 3, interval), "r2", rho**2))
        yield interval, n, rho, *map(shown, cells), *[""] * (5 - len(cells))


def of_metric(fits: pa.Array, metric: str, truth: float) -> float:
    """Return how many fits hold the truth of a metric."""
    rows = [next(row for row in fit if row["metric"] == metric) for fit in fits.to_pylist()]
    low, high = (np.array([row[end] for row in rows], float) for end in ("low", "high"))
    return inside(low, high, truth)


def of_shifts(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the change of a ratio between two texts of an image, of which the second is the first in a share of images."""
    text = "SELECT low, high FROM ratio_shift((SELECT image_id, a AS text FROM said), (SELECT image_id, b AS text FROM said), min_count := 0)"
    words = np.array(["a woman", "a man"])
    for n, before, alike in itertools.product((50, 200), (0.6,), (0.0, 0.6, 0.9)):
        found = []
        for drawn in (0.3, before, 0.8):
            after = alike * before + (1 - alike) * drawn
            truth = after / (1 - after) / (before / (1 - before))
            ends = []
            for _ in range(100):
                first = draw.random(n) < before
                second = np.where(draw.random(n) < alike, first, draw.random(n) < drawn)
                said = pa.table(
                    {"image_id": np.arange(n), "a": words[first.astype(int)], "b": words[second.astype(int)]}
                )
                ends.append(session.sql(text, said=said).fetchall()[0])
            low, high = np.array(ends, float).T
            found.append(float(((low <= truth) & (truth <= high)).mean()))
        yield n, before, alike, *map(shown, found)


def of_areas(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield areas under the curve of normal scores, an attribute a sample."""
    from scipy.stats import norm

    samples = 1000
    call = "attribute_auc(scored, labelled, min_count := 0)"
    for (n, m), area in itertools.product(((10, 10), (10, 100), (50, 50), (200, 200)), (0.5, 0.7, 0.9, 0.99)):
        shift = np.sqrt(2) * norm.ppf(area)
        score = draw.normal(size=(samples, n + m)) + shift * (np.arange(n + m) < n)
        category = [f"c{i}" for i in np.repeat(np.arange(samples), n + m)]
        rows = {"image_id": np.arange(score.size), "category": category}
        tables = {
            "scored": pa.table({**rows, "attribute": ["x"] * score.size, "score": score.ravel()}),
            "labelled": pa.table({**rows, "attribute": np.tile(np.where(np.arange(n + m) < n, "x", "y"), samples)}),
        }
        found = held(session, call, (area, "low", "high"), where="attribute = 'x'", **tables)
        yield n, m, area, *parts_of([found])


def of_precisions(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield average precision of normal scores of ten concepts."""
    from sklearn.metrics import average_precision_score

    call = "SELECT low, high FROM average_precision(p, t, least := 1, min_count := 0) ORDER BY metric DESC, concept"
    names = np.array(list("abcdefghij"))
    for images, share, shift in itertools.product((100, 400), (0.1, 0.4), (0.5, 1.0, 2.0)):
        many = draw.random(200_000) < share
        truth = average_precision_score(many, draw.normal(size=many.size) + shift * many)
        right = []
        for _ in range(100):
            shown_ = draw.random((images, names.size)) < share
            scores = draw.normal(size=shown_.shape) + shift * shown_
            image, place = np.indices(shown_.shape)
            tables = {
                "p": pa.table({"image_id": image.ravel(), "concept": names[place.ravel()], "score": scores.ravel()}),
                "t": pa.table({"image_id": image[shown_], "concept": names[place[shown_]]}),
            }
            low, high = np.array(session.sql(call, **tables).fetchall(), float).T
            right.append((low <= truth) & (truth <= high))
        held_ = np.array(right)
        yield images, share, shift, shown(float(held_[:, 1:].mean())), shown(float(held_[:, 0].mean()))


def of_topics(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield scores of topics over autoencoders, whose features differ in how much they go with a label."""
    images, topics, calls = 200, 50, 8
    labels_of = pa.table({"image_id": np.arange(images), "label": np.where(np.arange(images) % 2, "f", "m")})
    truths: dict[float, float] = {}
    for saes, strength in itertools.product((100, 3, 10, 30), (0.0, 0.5)):
        found = []
        for _ in range(1 if saes == 100 else calls):
            # every second topic goes with the label, and the others against it
            tilt = strength * np.where(np.arange(topics) % 2, -1, 1) + 0.3 * draw.normal(size=(saes, topics))
            sign = np.where(np.arange(images) % 2, 1, -1)
            active = draw.random((images, saes, topics)) < 0.2 * np.exp(tilt * sign[:, None, None] / 2)
            image, sae, topic = active.nonzero()
            step = [1] * topics
            pairs = [(s, t) for s in range(saes) for t in range(topics)]
            features = {"image_id": image, "sae": sae, "feature": sae * topics + topic}
            shares = {
                "step": [1] * len(pairs),
                "sae": [s for s, _ in pairs],
                "feature": [s * topics + t for s, t in pairs],
                "cluster": [f"c{t}" for _, t in pairs],
                "share": [1.0] * len(pairs),
            }
            names = [f"c{t}" for t in range(topics)]
            tables = {
                "features": pa.table(features),
                "shares": pa.table(shares),
                "clusters": pa.table({"step": step, "cluster": names, "topic": names}),
                "labels_of": labels_of,
            }
            call = f"topic_pmi(features, shares, clusters, labels_of, top := {topics}, min_count := 0)"
            where = "label = 'f' AND CAST(substr(topic, 2) AS INTEGER) % 2 = 0"
            if saes == 100:
                text = f"SELECT avg(score) FROM {call} WHERE {where}"
                truths[strength] = session.sql(text, **tables).fetchall()[0][0]
            else:
                asked = truths[strength], "low", "high"
                found.append(held(session, call, asked, where=where, **tables))
        if found:
            yield saes, f"{truths[strength]:.2f}", *parts_of(found)


def of_amplification(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield amplification of pairs, and its mean, of training data that leave no doubt about the signs."""
    concepts, calls = 6, 200
    shares = np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.3, 0.1, 0.1, 0.2, 0.7, 0.4]])
    signs = np.sign(shares[0] - shares[1])
    named = np.array([f"c{i}" for i in range(concepts)])
    for n, base, direction in (
        (50, "test", "group_to_concept"),
        (300, "test", "group_to_concept"),
        (300, "train", "group_to_concept"),
        (50, "test", "concept_to_group"),
        (100, "test", "concept_to_group"),
        (300, "test", "concept_to_group"),
    ):
        pairs, means = [], []
        for _ in range(calls):
            tables = {}
            for source, size in (("test", n), ("train", 2000 if base == "test" else 400)):
                label = draw.integers(0, 2, size)
                has = draw.random((size, concepts)) < shares[label]
                tables[f"{source}_labels"] = pa.table(
                    {"image_id": np.arange(size), "label": np.array(["f", "m"])[label]}
                )
                tables[f"{source}_concepts"] = pairs_of(has, named)
                if source == "test":
                    seen = np.where(
                        draw.random(has.shape) < 0.7, has, draw.random(has.shape) < 0.25 + shares[label] / 2
                    )
                    said = np.where(draw.random(size) < 0.8, label, draw.integers(0, 2, size))
                    tables["seen"] = pairs_of(seen, named)
                    tables["said"] = pa.table({"image_id": np.arange(size), "label": np.array(["f", "m"])[said]})
            given = "predicted_concepts := seen" if direction == "group_to_concept" else "predicted_groups := said"
            call = (
                f"directional_amplification({given}, groups := test_labels, concepts := test_concepts, train_groups := "
                f"train_labels, train_concepts := train_concepts, base := '{base}', show := 'all', min_count := 0)"
            )
            tables.pop("said" if direction == "group_to_concept" else "seen")
            rows = session.sql(f"SELECT level, label, concept, low, high FROM {call}", **tables).fetchall()
            right = shares / shares.sum(axis=0)
            truth = 0.3 * (0.25 - shares / 2) if direction == "group_to_concept" else 0.1 - 0.2 * right
            for level, label, concept, low, high in rows:
                if low is None:
                    continue
                if level == "mean":
                    wanted = float((truth * np.array([signs, -signs])).mean())
                    means.append(low <= wanted <= high)
                else:
                    at = "fm".index(label), int(concept[1:])
                    wanted = float(truth[at] * (signs[at[1]] if label == "f" else -signs[at[1]]))
                    pairs.append(low <= wanted <= high)
        yield n, base, direction, shown(float(np.mean(pairs))), shown(float(np.mean(means)))


def of_judgements(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield how often a model wins, two judgements an image, a pair of models a sample."""
    samples = 400
    for images, rate, correlation in itertools.product((10, 30, 200), (0.5, 0.9), (0.0, 0.8)):
        wins = rate - 0.1 if rate < 0.9 else 0.85
        tied = 2 * (rate - wins)
        lots = alike(draw, draw.random((samples, images, 2)), draw.random((samples, images, 1)), correlation)
        winner = np.where(lots < wins, "a", np.where(lots < wins + tied, "tie", "b"))
        names = np.array([f"{i}" for i in np.repeat(np.arange(samples), 2 * images)])
        first = np.where(np.arange(winner.size) % 2, "a", "b")
        judged = {
            "image_id": np.arange(winner.size) // 2,
            "first": np.char.add(first, names),
            "second": np.char.add(np.where(first == "a", "b", "a"), names),
            "winner": np.where(winner.ravel() == "tie", "tie", np.char.add(winner.ravel(), names)),
        }
        cells = []
        for ties, truth in (("half", rate), ("excluded", wins / (1 - tied))):
            call = f"win_rates(judged, '{ties}', min_count := 0)"
            found = held(session, call, (truth, "low", "high"), where="model LIKE 'a%'", judged=pa.table(judged))
            cells += parts_of([found])
        yield images, rate, correlation, *cells


def pairs_of(has: np.ndarray, named: np.ndarray) -> pa.Table:
    """Return the concepts of images."""
    image, concept = has.nonzero()
    return pa.table({"image_id": image, "concept": named[concept]})


SECTIONS = {
    "Shares": Section(
        """Wilson's interval of a share of n independent rows, by the chance of every count (exact, nothing is drawn). *least* and
*mean* are over 99 true shares from 0.01 to 0.99. Counts are whole, so that coverage jumps: that of a share of 0.01 of 10 is 90.4 %
or 99.6 %, whatever the interval, and no interval without a draw of its own holds 93 to 97 % everywhere. Wilson's does on
average, and falls short where fewer than about three are expected to have it, or to lack it.""",
        "n | " + " | ".join(map(str, RATES)) + " | least | mean",
        of_shares,
    ),
    "Shares that audits give": Section(
        """Audits with such shares are asked for all counts that they can have of 10, or for the counts 1 to 10 of their sum: the
ends are those of the table above.""",
        "audit | ends | furthest from Wilson's",
        of_audits_with_shares,
    ),
    "Shares and means of rows in clusters": Section(
        f"""The intervals of `sentiment`, the `retrieval_bias` family, `counterfactual_retrieval`, `subject_errors`, `edit_quality`, `ratio`
and `image_text_matching`, over clusters of
{", ".join(map(str, SIZES))} rows, such as images with captions; {DRAWS} samples. Rows of a cluster have the cluster's own value
with a probability whose square is the correlation.

* *share*: Wilson's interval of `effective_size` independent rows. *seen* is the median number of clusters with what is
  counted. Where few have it (or lack it), how alike their rows are cannot be seen, and the interval holds more than it says.
* *mean*: Student's t around a mean of normal values, with the root of `clustered_variance`.
* *independent*: Wilson's interval as if no row had a cluster, beside it.""",
        "clusters | true share | correlation | seen | share | mean | independent",
        of_clusters,
    ),
    "Rows of one image": Section(
        """Images of 1 to 10 rows, 0.3 of which have what is counted; 400 samples, so that figures are off by 1.1 points. Scores of
`hate_content_rate` and `score_distribution` and boxes of `detection_recall` (mean_recall beside recall) and `agreement` go by
images; of the boxes that are found a third overlap enough for all ten recalls, a third for 7, a third for 3. Persons counted
without their images are off in the same way: see *independent* in the table above.""",
        "images | correlation | recall_50 | mean_recall | agreement | hate_content_rate | score_distribution",
        of_rows,
    ),
    "Persons of images": Section(
        """The share of a label, and its delta, among persons in images that have something: `crime_words` and others with unit
'person'; 400 samples.""",
        "images | correlation | share | delta",
        of_persons,
    ),
    "Ratios of what is seen to chance": Section(
        f"""The intervals of `ratio_low` and `ratio_high`: PMI in `cooccurrence`, delta in `crime_words` and `geography`, the ratio
in `intersections` and `attribute_matrix`; {DRAWS} samples. Images have the one thing, the other, or both; *seen* is the median
number of both. *delta* is the interval of the delta method, beside them, which has none for a count of 0. No interval can end
at what the counts allow, and hold a truth that lies there or close to it: where (nearly) all of one have the other, the lower
end alone tells.""",
        "images | have one | have the other | ratio | seen | ratio_low to ratio_high | delta",
        of_ratios,
    ),
    "Labels and concepts of captions": Section(
        """PMI in `cooccurrence` with `sources`: ten labels of images, and concepts that a tenth of the captions have, each of
which goes with one label; 400 pairs. Beside it the same without sources, as if captions of one image were independent.""",
        "images | ratio | correlation | with sources | without",
        of_captions,
    ),
    "What is retrieved for a word": Section(
        """The share of a label among the first K images for a word in `so_b_it`, and its delta: 400 words, 10 of which share their
images.""",
        "images | K | base share | share among the first K | share | delta",
        of_words,
    ),
    "Objects of a contrast set": Section(
        """The label's share of the edits in which an object is found, and its delta, in `contrast_balance`: two edits of each source,
one of each label, alike to a degree; 400 objects. The sides of a contrast set are equal by construction, and edits of one source
are compared with each other: intervals that know of neither hold more than they say.""",
        "sources | share with the object | ratio | correlation | share | delta",
        of_contrast_sets,
    ),
    "Differences of two shares, and log-odds": Section(
        f"""The intervals of `concept_ratio`, `spurious_correlations` and the `compare_` family (Newcombe's), and of the log-odds of
`keyword_profile`; {DRAWS} samples.""",
        "images | others | share | other share | difference | log-odds",
        of_differences,
    ),
    "Two datasets": Section(
        f"""The difference of two shares of rows in clusters in `compare_sentiment`, and of two deltas in `compare_crime_words`, of a
label that half of the images have and a word that a tenth have; {DRAWS} samples.""",
        "difference of | clusters, or images | of the other | value | other value | correlation | held",
        of_two_datasets,
    ),
    "A cluster and the whole": Section(
        """The difference of a label's share in a cluster from that of all images, in `cluster_representation`: 400 clusters, 10 of
which share their images.""",
        "images | part in the cluster | share of all | share in the cluster | difference",
        of_wholes,
    ),
    "Effect sizes": Section(
        f"""The intervals of `weat`, `ieat`, `association` and `casc` (`effect_interval`): normal values of two groups that are apart
by so many standard deviations of the first; {DRAWS} samples. How uncertain a variance is, is taken to be as of normal values:
*exponential* are values with a long tail, beside them, where intervals of large effects are too narrow.""",
        "values | others | apart | spread of the others | normal | exponential",
        of_effects,
    ),
    "Vectors of one source": Section(
        """The intervals of `association`, `similarity_bias` and `casc` where labels do not differ, of five vectors a source, such as
edits, of which so much is common to those of one; all of a source have one label, or both labels stand there. `ieat` takes vectors of
one source as these do. *each alone* is `association` without `sources`, beside it. With both labels intervals are too wide, since
what a source has in common is no difference; 384 intervals each, so that figures are off by 1.1 points.""",
        "sources | alike | labels of a source | association | similarity_bias | casc | each alone",
        of_edits,
    ),
    "Mean cosines": Section(
        """The difference of mean cosines in `similarity_bias`, and over one standard deviation in `association` ('group', and 'global',
which takes the deviation as known): 192 categories, 16 of which share their images; off by 1.6 points.""",
        "images | others | apart | similarity_bias | group | global",
        of_cosines,
    ),
    "Pairs of one label": Section(
        """The mean cosine of the pairs of a label in `self_similarity`; 400 labels. Where the vectors have no direction in common
(0.00) what varies first varies not at all.""",
        "vectors | mean cosine | held",
        of_pairs,
    ),
    "Means of pairs": Section(
        f"""The mean difference of scores in `image_text_matching`, by Student's t; {DRAWS} samples, of normal values and of values
with a long tail. *point of the normal* is what it was before, beside it.""",
        "pairs | point of the normal | normal values | point of the normal | exponential values",
        of_means,
    ),
    "The more frequent of two": Section(
        """The value of `ratio`, the odds of the more frequent of two classes of captions, by the chance of every count (exact), for
true shares of the one class.""",
        "captions | 0.5 | 0.6 | 0.8 | 0.95 | 0.99",
        of_more_frequent,
    ),
    "A ratio before and after": Section(
        """The value of `ratio_shift`, of images with one text on either side: *alike* is the share of images of which the second text
names what the first does, whatever it would be else; 100 samples, so that figures
are off by 2.2 points.""",
        "images | share of men before | alike | after 0.3 | as before | after 0.8",
        of_shifts,
    ),
    "Agreement": Section(
        """The intervals of kappas and alpha in `agreement` and `label_validation`: two raters, or three, give one of three labels,
right with a chance; else any of the three; 1000 samples, 400 of 1000 targets.""",
        "targets | right | Cohen's kappa | Fleiss' kappa of three | Krippendorff's alpha of three",
        of_agreement,
    ),
    "Agreement of one annotator, and of labels": Section(
        """In `agreement`, the share of equal labels of one annotator of three with both others, of as many pairs as these are
worth, and Jaccard's index of a label: 450 and 1350 of 150 samples.""",
        "targets | right | annotator | jaccard",
        of_annotators,
    ),
    "Labels beside answers": Section(
        """In `label_validation`, of so many answers about each of three labels of a model, whose shares are 0.6, 0.3 and 0.1; 300
annotators.""",
        "answers each | right | weighted_agreement | precision | recall of 0.6 | of 0.3 | of 0.1",
        of_answers,
    ),
    "Cuts of a dataset": Section(
        """The intervals of `leakage`, `lic`, `spurious_probe` and `artifact_shift` (`split_interval`), of a regression over vectors of
five numbers, of images with one or five rows that are alike (correlation 0.8), by so many cuts; 200 samples, so that figures
are off by 1.5 points. The truth is the mean score of classifiers that learn from datasets of this size. *folded* is 50 % +
|accuracy - 50 %|, as `leakage` has it; *difference* that of the confidence of two classifiers by the same cuts. That cuts have as
much in common as they have rows (Nadeau and Bengio's correction) is too little; see the argument `ratio` of `split_interval`.""",
        "images | rows each | to judge by | cuts | mean AUC | auc | accuracy | folded | confidence | difference",
        of_cuts,
    ),
    "Correlations over categories": Section(
        """The intervals of `bias_transfer`, of categories whose two biases are normal; 1000 samples, 200 with the bootstrap, 100 of these of 100. *cubic* is
r2 of degree 3. The bootstrap gives none of fewer than 30 categories.""",
        "interval | categories | rho | rho | r2 | slope | intercept | cubic",
        of_categories,
    ),
    "Areas under a curve": Section(
        """`attribute_auc` (area_interval) of normal scores; 1000 samples. Near 1 it holds more often than it says.""",
        "images with the label | without | true area | held",
        of_areas,
    ),
    "Average precision": Section(
        """`average_precision` of normal scores of ten concepts; 100 samples of each, so that figures of single concepts (`ap`) are off by
0.7 points, those of the mean (`map`) by 2.2. The truth is the precision of 200,000 images.""",
        "images | share with the concept | shift of scores | ap | map",
        of_precisions,
    ),
    "Topics over autoencoders": Section(
        """The scores of `topic_pmi`: how they vary over autoencoders, with the images as they are; 200 topics that
go with a label, or do not.""",
        "autoencoders | true score | held",
        of_topics,
    ),
    "Amplification": Section(
        """Pairs, and their mean, in `directional_amplification`, of two labels and six concepts: 200 means, off by 1.5 points, and 12
pairs of each.""",
        "images | base | direction | pairs | mean",
        of_amplification,
    ),
    "What a judge prefers": Section(
        """The rates of `win_rates`: two judgements of each image, in both orders, alike to a degree, a fifth of which
are ties, a tenth where a model wins mostly; 400 pairs of models. A tie is taken to vary as a win does, which makes the interval
of 'half' wider than it need be.""",
        "images | true rate | correlation | ties 'half' | ties 'excluded'",
        of_judgements,
    ),
}  # fmt: skip
ABOUT = """# How often intervals hold the truth

Made by `python bench/coverage.py > docs/coverage.md`: samples with a known truth, as many as each section says; nominal 95 %. Of
N samples a figure is off by 0.22 / sqrt(N): 1.1 points of 400, 0.3 of 4000.

Figures beyond 93 to 97 % have one of four reasons: so few samples that they are off by as much; counts, which are whole, so that
coverage jumps from one to the next (shares, and what is made of them); clusters of which few have what is counted, or sides that
are alike by construction, where the interval is wide for want of knowing; and a long tail, of which an audit cannot know, where
intervals of few values, and of effect sizes, are too short.

| audit | interval | section |
|---|---|---|"""


def anchor(title: str) -> str:
    """Return what a heading is linked by."""
    return title.lower().replace(",", "").replace("'", "").replace(" ", "-")


def line(*cells: object) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(SECTIONS), choices=list(SECTIONS), metavar="SECTION")
    given = parser.parse_args()
    lake = cb.connect("memory://coverage")
    lake.ingest({"images": pa.table({"image_id": [1], "key": ["one"]})})
    print(ABOUT)
    for audit, intervals in AUDITS.items():
        for interval, title in intervals.items():
            line(f"`{audit}`", interval, f"[{title}](#{anchor(title)})")
    with lake.session() as session:
        for title, section in SECTIONS.items():
            if title in given.only:
                began = time.process_time()
                columns = section.columns.split(" | ")
                print(f"\n## {title}\n\n{section.about}\n")
                line(*columns)
                print("|" + "---|" * len(columns))
                for row in section.rows(session, np.random.default_rng(zlib.crc32(title.encode()))):
                    line(*row)
                print(f"{title}: {time.process_time() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
