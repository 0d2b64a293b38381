"""hate_content_rate: percent of scores strictly over a threshold, by annotator, threshold and label."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint


def score(lake, build, scores, annotators=None, values=None):
    n = len(scores)
    lake.ingest(
        {
            "images": build.images(image_id=list(range(n))),
            "labels": build.labels(
                label_id=list(range(n)),
                image_id=list(range(n)),
                attribute=["hateful"] * n,
                value=values or ["hateful"] * n,
                score=scores,
                annotator=annotators or ["model"] * n,
            ),
        }
    )
    return lake


def run(lake, **options):
    rows = lake.audit("hate_content_rate", **options).to_arrow().to_pylist()
    return {(r["annotator"], r["tau"], r["label"]): r for r in rows}


def test_rate_and_interval(empty_lake, build):
    lake = score(empty_lake, build, [0.1] * 60 + [0.6] * 30 + [0.9] * 10)
    rows = run(lake, tau=[0.5, 0.8])
    row = rows["model", 0.5, "all"]
    assert (row["count"], row["n"], row["percent"], row["suppressed"]) == (40, 100, 40.0, False)
    low, high = proportion_confint(40, 100, method="wilson")
    assert (row["low"], row["high"]) == pytest.approx((100 * low, 100 * high), rel=1e-12)
    assert rows["model", 0.8, "all"]["percent"] == 10.0


@pytest.mark.parametrize("tau", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_score_at_the_threshold_is_not_over_it(empty_lake, build, tau):
    """Also where the threshold is not a float32: 0.3 is stored as 0.30000001."""
    lake = score(empty_lake, build, [tau] * 12)
    assert run(lake, tau=[tau])["model", tau, "all"]["count"] == 0


def test_annotators_are_kept_apart(empty_lake, build):
    lake = score(empty_lake, build, [0.9] * 20 + [0.1] * 20, ["a"] * 20 + ["b"] * 20)
    rows = run(lake)
    assert {k[0]: r["percent"] for k, r in rows.items()} == {"a": 100.0, "b": 0.0}


def test_a_value(empty_lake, build):
    lake = score(empty_lake, build, [0.9] * 20, values=["hateful"] * 5 + ["harmless"] * 15)
    assert run(lake, value="hateful", min_count=1)["model", 0.5, "all"]["count"] == 5
    assert run(lake, value="hateful", min_count=1)["model", 0.5, "all"]["n"] == 20
    assert run(lake, value="hateful")["model", 0.5, "all"]["n"] is None  # 5 of them would follow from their share


def test_groups_and_small_labels(empty_lake, build):
    lake = score(empty_lake, build, [0.9, 0.1] * 22 + [0.9])
    labels = ["m"] * 25 + ["f"] * 9 + ["x"] * 11
    groups = pa.table({"image_id": pa.array(range(45), pa.int64()), "label": labels})
    rows = run(lake, groups=groups)
    assert {k[2]: r["suppressed"] for k, r in rows.items()} == {"f": True, "m": False, "x": True}
    assert {rows["model", 0.5, "f"][k] for k in ("count", "n", "percent", "low", "high")} == {None}


@settings(max_examples=15)
@given(
    scores=st.lists(st.one_of(st.none(), st.floats(0, 1, width=32)), min_size=1, max_size=30),
    tau=st.floats(0, 1, width=32),
)
def test_agrees_with_python(build, scores, tau):
    import itertools
    import os

    import counterbalance as cb

    counter = test_agrees_with_python.__dict__.setdefault("names", itertools.count())
    lake = score(cb.connect(f"memory://hate-{os.getpid()}-{next(counter)}"), build, scores)
    known = [s for s in scores if s is not None]
    rows = run(lake, tau=[tau], min_count=0)
    assert [(r["count"], r["n"]) for r in rows.values()] == (
        [(sum(s > tau for s in known), len(known))] if known else []
    )


def test_a_score_that_is_no_number_is_no_score(empty_lake):
    ids = list(range(40))
    scores = pa.array([float("nan")] * 20 + [0.1] * 20, pa.float32())
    labels = {
        "label_id": ids,
        "image_id": ids,
        "attribute": ["hateful"] * 40,
        "value": ["x"] * 40,
        "annotator": ["m"] * 40,
    }
    images = pa.table({"image_id": ids, "key": [str(i) for i in ids]})
    empty_lake.ingest({"images": images, "labels": pa.table({**labels, "score": scores})})
    (row,) = empty_lake.audit("hate_content_rate").to_arrow().to_pylist()
    assert (row["n"], row["count"]) == (20, 0)


def test_a_threshold_that_stands_there_twice_counts_once(empty_lake, build):
    lake = score(empty_lake, build, [0.9] * 20 + [0.1] * 20)
    (row,) = run(lake, tau=[0.5, 0.5]).values()
    assert (row["count"], row["n"]) == (20, 40)


def test_images_with_two_clear_labels_are_left_out(empty_lake, build):
    lake = score(empty_lake, build, [0.9] * 40)
    labels = [(i, "f") for i in range(30)] + [(i, "m") for i in range(20, 40)] + [(i, "unclear") for i in range(40)]
    groups = pa.table({"image_id": pa.array([i for i, _ in labels], pa.int64()), "label": [g for _, g in labels]})
    rows = run(lake, groups=groups)
    assert {k[2]: r["n"] for k, r in rows.items()} == {"f": 20, "m": 10}


@pytest.mark.parametrize(("few", "hidden"), [(3, True), (37, True), (0, False), (20, False)])
def test_few_of_a_label_do_not_follow(empty_lake, build, few, hidden):
    """Nor from the same call without groups, which counts all labels together."""
    lake = score(empty_lake, build, [0.9] * few + [0.1] * (40 - few) + [0.9, 0.1] * 30)
    groups = pa.table({"image_id": pa.array(range(100), pa.int64()), "label": ["f"] * 40 + ["m"] * 60})
    rows = run(lake, groups=groups)
    assert [rows["model", 0.5, label]["suppressed"] for label in "fm"] == [hidden] * 2
    assert all((r[k] is None) == hidden for r in rows.values() for k in ("count", "n", "percent", "low", "high"))


def many(lake, rows, attributes=("hateful",)):
    """Scores of (image_id, one score an attribute)."""
    images = sorted({row[0] for row in rows})
    kind = pa.float32()
    named = [(row[0], a, score) for row in rows for a, score in zip(attributes, row[1:], strict=True)]
    lake.ingest({"images": pa.table({"image_id": images, "key": [str(i) for i in images]})})
    return pa.table(
        {
            "image_id": [i for i, _, _ in named],
            "attribute": [a for _, a, _ in named],
            "value": [a for _, a, _ in named],
            "score": pa.array([s for _, _, s in named], kind),
            "annotator": ["model"] * len(named),
        }
    )


def test_captions_of_one_image_are_as_good_as_one(empty_lake):
    labels = many(empty_lake, [(i, 0.9 if i < 30 else 0.1) for i in range(100) for _ in range(4)])
    row = run(empty_lake, labels=labels)["model", 0.5, "all"]
    assert (row["count"], row["n"], row["images"], row["percent"]) == (120, 400, 100, 30.0)
    low, high = proportion_confint(30, 100, method="wilson")
    assert row["high"] - row["low"] == pytest.approx(100 * (high - low), rel=0.03)


def test_few_images_are_few_however_many_captions_each_has(empty_lake):
    labels = many(empty_lake, [(i, 0.9 if i < 5 else 0.1) for i in range(100) for _ in range(4)])
    shown, hidden = (run(empty_lake, labels=labels, **more)["model", 0.5, "all"] for more in ({"min_count": 0}, {}))
    assert (shown["count"], shown["smallest"]) == (20, 5)
    assert hidden["count"] is hidden["n"] is hidden["percent"] is hidden["smallest"] is None


def test_the_three_scores_at_several_thresholds(empty_lake):
    """As the recipe laion400m makes labels of hate_scores: each score an attribute."""
    scores = [(i, i / 100, 1 - i / 100, i % 2 * 0.9) for i in range(100)]
    aspects = ("hateful", "targeted", "aggressive")
    labels = many(empty_lake, scores, aspects)
    for place, aspect in enumerate(aspects, start=1):
        rows = run(empty_lake, attribute=aspect, labels=labels, tau=[0.3, 0.5, 0.7])
        for tau in (0.3, 0.5, 0.7):
            over = sum(pa.scalar(s[place], pa.float32()).as_py() > pa.scalar(tau, pa.float32()).as_py() for s in scores)
            assert (rows["model", tau, "all"]["count"], rows["model", tau, "all"]["n"]) == (over, 100)
