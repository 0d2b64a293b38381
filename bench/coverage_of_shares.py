"""Simulate intervals of shares: of independent rows, and of rows in clusters, in images and in persons."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from coverage_samples import DRAWS, SIZES, alike, held, parts_of, rows_of, shown, sums, table, told

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import counterbalance as cb

RATES = (0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99)
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


def of_audits_with_shares(
    calls: Mapping[str, tuple[str, ...]], session: cb.Session, _: np.random.Generator
) -> Iterator[tuple[object, ...]]:
    """Yield how far ends that audits give lie from Wilson's."""
    n = len(NAMES) - 1
    k, place = np.repeat(np.arange(n + 1), n), np.tile(np.arange(n), n + 1)
    columns = {"image_id": np.arange(len(k)), "k": k, "place": place, "name": np.array(NAMES)[k], "hit": place < k}
    units = pa.table(columns)
    for audit, (call, *given) in calls.items():
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


def of_sourced_persons(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield shares, ratios and differences of persons whose images are named by ``sources``."""
    calls, labels, share = 4, 100, 0.3
    shares = "demographics(f, sources := of_f, min_count := 0)"
    differences = "compare_demographics(f, h, 0, of_f, of_h)"
    ratios = "intersections(f, h, sources := of_f, min_count := 0)"
    where = "label <> 'all'"
    for images, correlation in itertools.product((10, 30, 100), (0.0, 0.3, 0.8)):
        found: dict[str, list[np.ndarray]] = {shares: [], ratios: [], differences: []}
        for call in range(6 * calls):
            image = {side: np.repeat(np.arange(images), draw.choice(SIZES, images)) for side in "fh"}
            of_image = {
                f"of_{side}": pa.table({"image_id": np.arange(len(own)), "source_id": own})
                for side, own in image.items()
            }
            if call < calls:
                both = {side: labelled(draw, own, labels, share, correlation) for side, own in image.items()}
                found[shares].append(
                    held(session, shares, (share, "low", "high"), where=where, f=both["f"], of_f=of_image["of_f"])
                )
                found[differences].append(
                    held(session, differences, (0.0, "low", "high"), where=where, **both, **of_image)
                )
            crossed = {side: one_each(draw, image["f"], kinds, correlation) for side, kinds in (("f", 10), ("h", 2))}
            found[ratios].append(
                held(session, ratios, (1.0, "ratio_low", "ratio_high"), **crossed, of_f=of_image["of_f"])
            )
        yield images, correlation, *(cell for own in found.values() for cell in parts_of(own))


def labelled(draw: np.random.Generator, image: np.ndarray, labels: int, share: float, correlation: float) -> pa.Table:
    """Return persons of images with each of some labels by chance, alike within an image, and all with one more."""
    of_image = (draw.random((image[-1] + 1, labels)) < share)[image]
    has = alike(draw, draw.random((len(image), labels)) < share, of_image, correlation)
    person, label = np.nonzero(has)
    names = np.concatenate([np.char.add("l", label.astype(str)), np.full(len(image), "all")])
    return pa.table({"image_id": np.concatenate([person, np.arange(len(image))]), "label": names})


def one_each(draw: np.random.Generator, image: np.ndarray, labels: int, correlation: float) -> pa.Table:
    """Return persons of images with one of some labels each, alike within an image."""
    of_image = draw.integers(0, labels, image[-1] + 1)[image]
    label = alike(draw, draw.integers(0, labels, len(image)), of_image, correlation)
    return pa.table({"image_id": np.arange(len(image)), "label": np.char.add("l", label.astype(str))})


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
