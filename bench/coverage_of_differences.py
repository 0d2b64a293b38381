"""Simulate intervals of differences: of two shares, two datasets, a cluster and the whole, a ratio before and after."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from coverage_samples import DRAWS, SIZES, alike, held, parts_of, shown, sums, table, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    import counterbalance as cb

DIFFERENCES = """
SELECT
  avg(CASE WHEN difference_low(a / n, wilson_low(a, n), b / m, wilson_high(b, m)) <= $difference
    AND $difference <= difference_high(a / n, wilson_high(a, n), b / m, wilson_low(b, m)) THEN 1 ELSE 0 END),
  avg(CASE WHEN abs(ln((a + 0.5) / (n - a + 0.5)) - ln((b + 0.5) / (m - b + 0.5)) - $log_odds)
    <= 2 * asinh(half_interval(sqrt(1 / (a + 0.25) + 1 / (n - a + 0.25) + 1 / (b + 0.25) + 1 / (m - b + 0.25))) / 2)
    THEN 1 ELSE 0 END)
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


def of_shifts(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the change of a ratio between two texts of an image, of which the second is the first in a share of images."""
    text = "SELECT low, high FROM ratio_shift((SELECT image_id, a AS text FROM said), (SELECT image_id, b AS text FROM said), min_count := 0)"
    words = np.array(["a woman", "a man"])
    for n, before, kept in itertools.product((50, 200), (0.6,), (0.0, 0.6, 0.9)):
        found = []
        for drawn in (0.3, before, 0.8):
            after = kept * before + (1 - kept) * drawn
            truth = after / (1 - after) / (before / (1 - before))
            ends = []
            for _ in range(100):
                first = draw.random(n) < before
                second = np.where(draw.random(n) < kept, first, draw.random(n) < drawn)
                said = pa.table(
                    {"image_id": np.arange(n), "a": words[first.astype(int)], "b": words[second.astype(int)]}
                )
                ends.append(session.sql(text, said=said).fetchall()[0])
            low, high = np.array(ends, float).T
            found.append(float(((low <= truth) & (truth <= high)).mean()))
        yield n, before, kept, *map(shown, found)
