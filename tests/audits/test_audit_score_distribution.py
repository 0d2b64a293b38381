"""score_distribution: counts of scores by range and label against counting in plain Python; intervals; small counts hidden."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from statsmodels.stats.proportion import proportion_confint

EDGES = [0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9]


def rows_of(scores, images=None, annotators=None, attribute="positive"):
    n = len(scores)
    return pa.table(
        {
            "image_id": pa.array(range(n) if images is None else images, pa.int64()),
            "attribute": [attribute] * n,
            "score": pa.array(scores, pa.float32()),
            "annotator": annotators or ["model"] * n,
        }
    )


@pytest.fixture
def run(empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=list(range(3000)))})

    def audit(labels, **options):
        found = empty_lake.audit("score_distribution", attribute="positive", labels=labels, **options)
        return {(r["annotator"], r["label"], r["score_from"]): r for r in found.to_arrow().to_pylist()}

    return audit


def groups(labels):
    return pa.table({"image_id": pa.array(range(len(labels)), pa.int64()), "label": list(labels)})


def test_against_counting(run):
    draw = np.random.default_rng(0)
    scores = np.float32(draw.beta(0.7, 1.2, 3000))
    labels = draw.choice(["f", "m", "unclear"], 3000, p=[0.5, 0.4, 0.1])
    rows = run(rows_of(scores), groups=groups(labels))
    assert set(rows) == {("model", label, edge) for label in "fm" for edge in EDGES}
    for label in "fm":
        own = scores[labels == label]
        count = Counter(np.digitize(own, np.float32(EDGES)).tolist())
        for place, edge in enumerate(EDGES):
            row = rows["model", label, edge]
            assert (row["count"], row["n"], row["images"]) == (count[place + 1], len(own), len(own))
            assert row["score_to"] == (EDGES[place + 1] if place < 6 else None)
            assert row["share"] == count[place + 1] / len(own)
            wanted = proportion_confint(count[place + 1], len(own), method="wilson")
            assert (row["low"], row["high"]) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("edge", EDGES[1:])
def test_a_score_where_a_range_begins_lies_in_it(run, edge):
    """Also where it is no float32: 0.3 is stored as 0.30000001 and 0.9 as 0.89999998."""
    rows = run(rows_of([edge] * 12))
    assert {k[2] for k, r in rows.items() if r["count"]} == {edge}


def test_the_ends(run):
    rows = run(rows_of([0.0] * 15 + [1.0] * 25 + [float("nan"), None]))
    assert {k[2]: r["count"] for k, r in rows.items() if r["count"]} == {0: 15, 0.9: 25}
    assert {r["n"] for r in rows.values()} == {40}


def test_other_ranges_and_attributes(run):
    both = pa.concat_tables([rows_of([0.2] * 20 + [0.7] * 30), rows_of([0.2] * 7, attribute="negative")])
    rows = run(both, bins=[0.5, 0.5, 0.25])
    assert {k[2]: (r["score_to"], r["count"]) for k, r in rows.items()} == {
        0: (0.25, 20), 0.25: (0.5, 0), 0.5: (None, 30)
    }  # fmt: skip


def test_scores_of_one_image_are_as_good_as_one(run):
    """Five captions of each image with the same score: the interval is that of the images."""
    images = [i for i in range(60) for _ in range(5)]
    scores = [0.1 if i < 40 else 0.95 for i in images]
    row = run(rows_of(scores, images))["model", "all", 0]
    assert (row["count"], row["n"], row["images"]) == (200, 300, 60)
    wanted = proportion_confint(40, 60, method="wilson")
    assert row["high"] - row["low"] == pytest.approx(wanted[1] - wanted[0], rel=0.05)


def test_annotators_are_kept_apart(run):
    rows = run(rows_of([0.1] * 20 + [0.95] * 20, annotators=["a"] * 20 + ["b"] * 20))
    assert {k[0]: k[2] for k, r in rows.items() if r["count"]} == {"a": 0, "b": 0.9}


@pytest.mark.parametrize("few", [3, 9])
def test_few_in_a_range_do_not_follow(run, few):
    """Neither from the label's other ranges nor from the other label and a call that counts both together."""
    scores = [0.95] * few + [0.1] * 40 + [0.5] * 30 + [0.95] * 20 + [0.1] * 40 + [0.5] * 30
    rows = run(rows_of(scores), groups=groups(["f"] * (70 + few) + ["m"] * 90))
    hidden = {(k[1], k[2]) for k, r in rows.items() if r["count"] is None}
    assert ("f", 0.9) in hidden
    assert all(len({edge for label, edge in hidden if label == one}) >= 2 for one in "fm")
    assert all(r["share"] is r["low"] is r["high"] is None for r in rows.values() if r["count"] is None)
    assert all(r["suppressed"] == (r["count"] is None) for r in rows.values())


def test_few_images_with_many_scores_are_few(run):
    """Six images with five scores in a range, and 60 with all but one of theirs in another."""
    images = [i for i in range(6) for _ in range(5)] + [i for i in range(10, 70) for _ in range(5)]
    scores = [0.95] * 30 + [0.1] * 300
    rows = run(rows_of(scores, images), min_count=0)
    assert rows["model", "all", 0.9]["smallest"] == rows["model", "all", 0]["smallest"] == 6
    hidden = run(rows_of(scores, images))
    assert all(hidden["model", "all", edge][c] is None for edge in (0, 0.9) for c in ("count", "share", "low", "high"))


def test_a_small_label_is_hidden(run):
    rows = run(rows_of([0.1] * 60), groups=groups(["f"] * 7 + ["m"] * 28 + ["x"] * 25))
    assert {k[1] for k, r in rows.items() if r["n"] is None} == {"f", "x"}
    assert all(
        r[c] is None for r in rows.values() if r["n"] is None for c in ("count", "images", "share", "low", "high")
    )
