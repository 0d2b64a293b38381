"""Simulate intervals of effect sizes, mean cosines and mean scores."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from coverage_samples import DRAWS, held, inside, parts_of, shown, table, told, vectors

from counterbalance.udfs.associations import effect_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    import counterbalance as cb

PAIR_MEANS = """
SELECT
  avg(CASE WHEN abs(mean) <= half_interval(sqrt(variance / n)) THEN 1 ELSE 0 END),
  avg(CASE WHEN abs(mean) <= student_point(n - 1) * sqrt(variance / n) THEN 1 ELSE 0 END)
FROM drawn
"""


def of_effects(_: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the rows of effect sizes."""
    for (n, m), apart, spread in itertools.product(((10, 10), (20, 200), (500, 500)), (0.0, 0.5, 2.0), (1.0, 2.0)):
        shares = []
        for values in (draw.normal, lambda size: draw.exponential(size=size) - 1):
            x, y = values(size=(DRAWS, n)) + apart, values(size=(DRAWS, m)) * spread
            errors = x.var(axis=1) / (n - 1), y.var(axis=1) / (m - 1)
            given = (
                x.mean(axis=1) - y.mean(axis=1),
                np.sqrt(sum(errors)),
                np.floor(sum(errors) ** 2 / (errors[0] ** 2 / (n - 1) + errors[1] ** 2 / (m - 1))),
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


def of_edits(session: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield how often the intervals of no difference hold it, of five edits a source, that are alike or not."""
    calls, edits = 12, 5
    prompts = vectors(np.eye(32), category=[f"c{i}" for i in range(32)])
    given = "prompts, labels_of, label := 'f', against := 'm', min_count := 0"
    ends = pa.table({"image_id": np.arange(32) + 10_000, "label": [f"{side}{i}" for i in range(16) for side in "ab"]})
    opposite = np.repeat(np.eye(32)[:16], 2, axis=0) * np.tile([1, -1], 16)[:, None]
    tested = (
        "ieat(beside, ends, labels_of, 'a{0}', 'b{0}', 'f', 'm', permutations := 1, min_count := 0, sources := made_of"
    )
    tests = " UNION ALL ".join(f"SELECT low, high FROM {tested.format(i)})" for i in range(16))
    asked = {
        f"association(pictured, {given}": (0.0, "low", "high"),
        f"similarity_bias(pictured, {given}": (0.0, "low", "high"),
        "casc(pictured, prompts, labels_of, min_count := 0": (0.0, "low", "high"),
    }
    for sources, alike, labels in itertools.product((20, 200), (0.0, 0.8), (1, 2, 3)):
        found: dict[str, list[np.ndarray]] = {}
        for _ in range(calls):
            source = np.repeat(np.arange(sources), edits)
            label = np.arange(len(source)) % labels if labels > 1 else draw.permutation(np.arange(sources) % 2)[source]
            rows = np.sqrt(alike) * draw.normal(size=(sources, 32))[source]
            rows += np.sqrt(1 - alike) * draw.normal(size=(len(source), 32))
            tables = {
                "prompts": prompts,
                "pictured": vectors(rows, image_id=np.arange(len(source))),
                "labels_of": pa.table({"image_id": np.arange(len(source)), "label": np.array(["f", "m", "x"])[label]}),
            }
            made_of = pa.table({"image_id": np.arange(len(source)), "source_id": source})
            for call, truth in asked.items():
                own = held(session, f"{call}, sources := made_of)", truth, **tables, made_of=made_of)
                found.setdefault(call, []).append(own)
            beside = pa.concat_tables([tables["pictured"], vectors(opposite, image_id=ends["image_id"].to_numpy())])
            given_ieat = {"beside": beside, "ends": ends, "labels_of": tables["labels_of"], "made_of": made_of}
            found.setdefault("ieat", []).append(held(session, f"({tests})", (0.0, "low", "high"), **given_ieat))
            alone = held(session, f"{next(iter(asked))})", next(iter(asked.values())), **tables)
            found.setdefault("alone", []).append(alone)
        yield sources, alike, labels, *(cell for own in found.values() for cell in parts_of(own))


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
