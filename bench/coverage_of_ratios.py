"""Simulate intervals of ratios of what is seen to chance."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from coverage_samples import DRAWS, SIZES, alike, held, parts_of, shown, table, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    import counterbalance as cb

RATIOS = """
SELECT
  avg(CASE WHEN ratio_low(both, a, b, n) <= $truth AND $truth <= ratio_high(both, a, b, n) THEN 1 ELSE 0 END),
  avg(CASE WHEN both > 0 AND abs(ln(both * n / a / b / $truth)) <=
    half_interval(sqrt(greatest(1 / both - 1 / a - 1 / b - 1 / n + 2 * both / a / b, 0))) THEN 1 ELSE 0 END)
FROM drawn
"""
MARGINS = ((0.01, 0.5), (0.1, 0.05), (0.1, 0.5), (0.5, 0.5), (0.9, 0.1), (0.9, 0.9))


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
