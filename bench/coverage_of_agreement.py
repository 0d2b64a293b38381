"""Simulate intervals of what annotators, models and judges agree on."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from coverage_samples import DRAWS, alike, held, parts_of, rows_of, shown

import counterbalance as cb
from counterbalance.udfs.kappas import CELLS, PATTERNS, cohen_kappa, fleiss_kappa, krippendorff_alpha

if TYPE_CHECKING:
    from collections.abc import Iterator


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


def of_answered_persons(_: cb.Session, draw: np.random.Generator) -> Iterator[tuple[object, ...]]:
    """Yield the same of persons, and min_size_study: an annotator a sample, who is right alike about persons of an image."""
    samples, right = 200, 0.8
    for images, correlation in itertools.product((10, 30, 100), (0.0, 0.3, 0.8)):
        found = rows_of(draw, samples, images, right, correlation)
        count = len(found["row_id"])
        model = draw.random(count) < 0.5
        sides = pa.array(found["sample"] + 10, pa.float32())
        names = np.array(["p", "q"])
        said = names[np.where(found["hit"], model, ~model).astype(int)]
        boxes = {"detection_id": found["row_id"], "image_id": found["image_id"], "category": ["person"] * count}
        boxes |= {name: pa.array(np.ones(count), pa.float32()) for name in "xy"} | dict.fromkeys(
            ("width", "height"), sides
        )
        labels = {
            "label_id": found["row_id"],
            "image_id": found["image_id"],
            "detection_id": found["row_id"],
            "attribute": ["x"] * count,
            "value": said,
            "score": pa.nulls(count, pa.float32()),
            "annotator": np.char.add(np.char.add("a", found["sample"].astype(str)), "@s"),
        }
        ids = np.arange(samples * images)
        lake = cb.connect(f"memory://persons-{images}-{correlation}")
        lake.ingest(
            {
                "images": pa.table({"image_id": ids, "key": ids.astype(str)}),
                "detections": pa.table(boxes),
                "labels": pa.table(labels),
            }
        )
        modelled = pa.table({"image_id": found["row_id"], "label": names[model.astype(int)]})
        metrics = "weighted_agreement", "precision", "recall"
        asked = [(right, *(f"CASE WHEN metric = '{m}' THEN {end} END" for end in ("low", "high"))) for m in metrics]
        own = "(SELECT image_id AS detection_id, label FROM modelled)"
        other = "(SELECT detection_id, value AS label FROM labels)"
        bins = list(range(10, 10 + samples))
        with lake.session() as session:
            call = "label_validation(modelled, 'x', unit := 'person', min_count := 0)"
            rows = [held(session, call, *asked, where="annotator LIKE 'a%'", modelled=modelled)]
            call = f"min_size_study({own}, {other}, bins := {bins}, min_count := 0)"
            rows.append(held(session, call, (right, "low", "high"), modelled=modelled))
        yield images, correlation, *(cell for one in rows for cell in parts_of([one]))


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
