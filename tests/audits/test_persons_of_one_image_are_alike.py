"""Audits that count persons, and other units that share an image, say how many images these are in, with intervals and tests to match."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

SHOWN = "min_count := 0"


def persons(seed, images=60, crowd=6, shares=(0.5, 0.3, 0.2)):
    """Draw persons of images, alike within one: (person, image, label, age)."""
    draw = np.random.default_rng(seed)
    rows = []
    for image in range(images):
        kept = draw.choice(3, p=shares)
        for _ in range(int(draw.integers(1, crowd + 1))):
            label = kept if draw.random() < 0.7 else draw.choice(3, p=shares)
            rows.append((1_000 + len(rows), image, "abc"[label], "xy"[int(draw.random() < 0.4)]))
    return rows


def tables(rows, at=""):
    ids = pa.array([r[0] for r in rows], pa.int64())
    return {
        f"labels_of{at}": pa.table({"image_id": ids, "label": [r[2] for r in rows]}),
        f"ages{at}": pa.table({"image_id": ids, "label": [r[3] for r in rows]}),
        f"in_images{at}": pa.table({"image_id": ids, "source_id": pa.array([r[1] for r in rows], pa.int64())}),
    }


def ask(session, query, given):
    """Run a query over those of the tables that it names."""
    return session.sql(query, **{k: v for k, v in given.items() if re.search(rf"\b{k}\b", query)}).fetchall()


def effective(session, rows, name):
    """Return of how many independent persons a share is, from sums that are made here."""
    sizes, found = Counter(r[1] for r in rows), Counter(r[1] for r in rows if name(r))
    sums = (
        sum(found.values()),
        len(rows),
        sum(v * v for v in found.values()),
        sum(v * sizes[i] for i, v in found.items()),
        sum(v * v for v in sizes.values()),
        len(sizes),
    )
    return session.sql(f"SELECT effective_size({', '.join(f'CAST({s} AS DOUBLE)' for s in sums)})").fetchall()[0][0]


@pytest.mark.parametrize("seed", range(3))
def test_shares(session, seed):
    rows = persons(seed)
    call = f"SELECT label, count, n, low, high, images FROM demographics(labels_of, sources := in_images, {SHOWN})"
    for label, count, n, low, high, images in ask(session, call, tables(rows)):
        those = [r for r in rows if r[2] == label]
        assert (count, n, images) == (len(those), len(rows), len({r[1] for r in those}))
        size = effective(session, rows, lambda r, label=label: r[2] == label)
        assert size < 0.8 * n
        wilson = proportion_confint(count * size / n, size, method="wilson")
        assert (low, high) == pytest.approx(wilson, rel=1e-9)


def test_pairs_of_labels(session):
    rows = persons(5)
    call = "SELECT label, other, count, low, high, images, ratio_high - ratio_low AS width, p FROM intersections(labels_of, ages{}, min_count := 0)"
    alike = {r[:2]: r for r in ask(session, call.format(", sources := in_images"), tables(rows))}
    apart = {r[:2]: r for r in ask(session, call.format(""), tables(rows))}
    assert len(alike) == 6
    for (label, other), (_, _, count, low, high, images, width, p) in alike.items():
        those = [r for r in rows if r[2:] == (label, other)]
        assert (count, images) == (len(those), len({r[1] for r in those}))
        size = effective(session, rows, lambda r, pair=(label, other): r[2:] == pair)
        assert (low, high) == pytest.approx(
            proportion_confint(count * size / len(rows), size, method="wilson"), rel=1e-9
        )
        assert apart[label, other][2] == apart[label, other][5] == count
        assert width >= apart[label, other][6]
        assert p >= apart[label, other][7]


def test_two_datasets(session):
    first, second = persons(7), persons(8, shares=(0.3, 0.4, 0.3))
    given = tables(first, "_a") | tables(second, "_b")
    call = (
        f"compare_demographics(labels_of_a, labels_of_b, sources := in_images_a, other_sources := in_images_b, {SHOWN})"
    )
    found = ask(session, f"SELECT item, label, statistic, p, images_a, images_b FROM {call}", given)
    sides, effects = [], []
    for rows in (first, second):
        sizes = {label: effective(session, rows, lambda r, label=label: r[2] == label) for label in "abc"}
        shares = {label: sum(r[2] == label for r in rows) / len(rows) for label in "abc"}
        spread = sum(1 - s for s in shares.values())
        effects.append(sum((1 - shares[label]) * len(rows) / sizes[label] for label in "abc") / spread)
        sides.append((sizes, shares))
    for item, label, statistic, p, images_a, images_b in found:
        if item == "distribution":
            table = [
                [sum(r[2] == name for r in rows) / e for name in "abc"]
                for rows, e in zip((first, second), effects, strict=True)
            ]
            expected = stats.chi2_contingency(table, correction=False)
            assert (statistic, p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-7)
            assert (images_a, images_b) == (None, None)
            continue
        (one, shares), (two, others) = sides
        pooled = (shares[label] * one[label] + others[label] * two[label]) / (one[label] + two[label])
        z = (shares[label] - others[label]) / math.sqrt(pooled * (1 - pooled) * (1 / one[label] + 1 / two[label]))
        assert (statistic, p) == pytest.approx((z, 2 * stats.norm.sf(abs(z))), rel=1e-7)
        assert [images_a, images_b] == [len({r[1] for r in rows if r[2] == label}) for rows in (first, second)]


@pytest.mark.parametrize(
    "call",
    [
        "demographics(labels_of, min_count := 0{})",
        "intersections(labels_of, ages, min_count := 0{})",
        "compare_demographics(labels_of, ages, min_count := 0{})",
        "compare_intersections(labels_of, labels_of, ages, ages, min_count := 0{})",
    ],
)
def test_images_with_one_person_each_are_images(session, call):
    rows = [(person, person, label, age) for person, _, label, age in persons(2)]
    others = ", other_sources := in_images" if call.startswith("compare") else ""
    alike, apart = (
        ask(session, f"SELECT * EXCLUDE (params) FROM {call.format(told)}", tables(rows))
        for told in (", sources := in_images" + others, "")
    )
    assert alike
    for one, other in zip(alike, apart, strict=True):
        assert [pytest.approx(v, rel=1e-12) if isinstance(v, float) else v for v in one] == list(other)


def test_units_without_a_source_are_on_their_own(session):
    rows = persons(3)
    given = tables(rows)
    known = given["in_images"].to_pylist()
    half = [{**r, "source_id": r["source_id"] if r["source_id"] % 2 else None} for r in known]
    given["in_images"] = pa.Table.from_pylist(half, schema=given["in_images"].schema)
    images = defaultdict(set)
    for person, image, label, _ in rows:
        images[label].add(image if image % 2 else (person,))
    call = f"SELECT label, images FROM demographics(labels_of, sources := in_images, {SHOWN})"
    assert dict(ask(session, call, given)) == {label: len(found) for label, found in images.items()}


def test_boxes_know_their_images(lake):
    boxes = "SELECT detection_id, image_id FROM detections"
    assert set(lake.sql("SELECT * FROM person_images").fetchall()) == set(lake.sql(boxes).fetchall()) != set()
