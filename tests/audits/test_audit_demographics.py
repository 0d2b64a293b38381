"""demographics: counts and shares of perceived labels with Wilson's interval, small ones hidden."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
import pytest
from statsmodels.stats.proportion import proportion_confint


def groups(counts):
    labels = [label for label, n in counts.items() for _ in range(n)]
    return pa.table({"image_id": pa.array(range(len(labels)), pa.int64()), "label": labels})


def audit(lake, counts, **options):
    rows = lake.audit("demographics", groups=groups(counts), **options).to_arrow().to_pylist()
    return {r.pop("label"): r for r in rows}


def test_counts_shares_and_intervals(lake):
    counts = {"f": 10, "m": 4_321, "unclear": 500, "mixed": 11}
    rows = audit(lake, counts)
    n = sum(counts.values())
    assert {label: r["count"] for label, r in rows.items()} == counts
    for label, row in rows.items():
        assert (row["n"], row["suppressed"]) == (n, False)
        assert row["share"] == counts[label] / n
        low, high = proportion_confint(counts[label], n, method="wilson")
        assert (row["low"], row["high"]) == pytest.approx((low, high), rel=1e-12)


def test_a_label_of_all_images(lake):
    row = audit(lake, {"f": 25})["f"]
    assert (row["share"], row["high"]) == (1.0, pytest.approx(1.0, rel=1e-15))
    assert row["low"] == pytest.approx(proportion_confint(25, 25, method="wilson")[0], rel=1e-12)


def test_small_counts_and_one_more_are_hidden(lake):
    rows = audit(lake, {"f": 9, "m": 300, "x": 200})
    assert [label for label, r in rows.items() if r["suppressed"]] == ["f", "x"]
    assert {rows["f"][k] for k in ("count", "n", "share", "low", "high")} == {None}
    assert rows["m"]["count"] == 300
    assert rows["m"]["n"] == 509


def test_the_threshold_is_a_parameter(lake):
    assert not any(r["suppressed"] for r in audit(lake, {"f": 9, "m": 300}, min_count=9).values())
    assert all(r["suppressed"] for r in audit(lake, {"f": 9, "m": 300}, min_count=11).values())


def test_persons_are_units(lake, build):
    lake.ingest(
        {
            "detections": build.detections(
                detection_id=[90, 91, 92],
                image_id=[1, 1, 2],
                category=["person"] * 3,
                width=[40.0] * 3,
                height=[40.0] * 3,
            ),
            "labels": build.labels(
                label_id=[90, 91, 92],
                image_id=[1, 1, 2],
                detection_id=[90, 91, 92],
                attribute=["hat"] * 3,
                value=["red", "red", "blue"],
                annotator=["ann"] * 3,
            ),
        }
    )
    columns = "SELECT label, count, n FROM demographics({}, min_count := 1)"
    assert lake.sql(columns.format("person_units('hat')")).fetchall() == [("blue", 1, 3), ("red", 2, 3)]
    assert lake.sql(columns.format("image_labels('hat')")).fetchall() == [("blue", 1, 2), ("red", 1, 2)]


def test_rows_carry_their_parameters(lake):
    params = {
        json.dumps(json.loads(r["params"])) for r in lake.audit("demographics", min_count=2).to_arrow().to_pylist()
    }
    assert params == {'{"groups": "caption_gender", "min_count": 2}'}


def test_captions_of_the_lake(lake):
    found = dict(Counter(dict(lake.sql("SELECT label, count FROM demographics(min_count := 0)").fetchall())).items())
    assert found == {"male": 1, "female": 1, "mixed": 1, "unclear": 3}


def test_a_lake_without_captions_has_no_rows(empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1])})
    assert empty_lake.audit("demographics").fetchall() == []
