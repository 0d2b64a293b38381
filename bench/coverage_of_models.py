"""Simulate intervals of what is measured by models: classifiers, fits, scores, topics and predictions."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from coverage_samples import DRAWS, held, inside, parts_of, shown

from counterbalance.udfs.attackers import attack_vectors, split_interval
from counterbalance.udfs.transfer import POINTS, transfer_fit

if TYPE_CHECKING:
    from collections.abc import Iterator

    import counterbalance as cb


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


def pairs_of(has: np.ndarray, named: np.ndarray) -> pa.Table:
    """Return the concepts of images."""
    image, concept = has.nonzero()
    return pa.table({"image_id": image, "concept": named[concept]})
