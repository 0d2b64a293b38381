"""sentiment: negative ratio and mean of VADER's scores by label, equal to the package's."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import t
from statsmodels.stats.proportion import proportion_confint
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from counterbalance.udfs.gender import gender_label


def expected(texts, labels, label):
    analyzer = SentimentIntensityAnalyzer()
    pairs = [(t, g) for t, g in zip(texts, labels, strict=True) if t is not None]
    scores = [Decimal(str(analyzer.polarity_scores(t)["compound"])) for t, g in pairs if g == label]
    return [s for s in scores if s], len(scores)


def check(row, scores, texts):
    negative = sum(s < 0 for s in scores)
    assert (row["n"], row["negative"], row["texts"]) == (len(scores), negative, texts)
    assert row["negative_ratio"] == negative / len(scores)
    interval = proportion_confint(negative, len(scores), method="wilson")
    assert (row["negative_low"], row["negative_high"]) == pytest.approx(interval, rel=1e-12)
    mean = float(sum(scores) / len(scores))
    assert row["mean"] == pytest.approx(mean, rel=1e-12)
    spread = t.ppf(0.975, len(scores) - 1) * np.std([float(s) for s in scores], ddof=1) / np.sqrt(len(scores))
    assert row["mean_high"] - row["mean_low"] == pytest.approx(2 * spread, rel=1e-5 if len(scores) > 30 else 2e-3)
    assert row["mean_high"] + row["mean_low"] == pytest.approx(2 * mean, rel=1e-9)


def test_small_lake(empty_lake, build):
    texts = [
        "a happy man",
        "a sad man",
        "an awful, terrible man",
        "a man",
        None,
        "a happy woman",
        "a good woman",
        "sad",
    ]
    labels = ["m", "m", "m", "m", "m", "f", "f", "unclear"]
    ids = list(range(len(texts)))
    empty_lake.ingest(
        {"images": build.images(image_id=ids), "captions": build.captions(caption_id=ids, image_id=ids, text=texts)}
    )
    groups = pa.table({"image_id": pa.array(ids, pa.int64()), "label": labels})
    rows = empty_lake.audit("sentiment", groups=groups, min_count=1).to_arrow().to_pylist()
    assert [r["label"] for r in rows] == ["f", "m"]
    for row in rows:
        check(row, *expected(texts, labels, row["label"]))


def test_small_labels_are_hidden(empty_lake, build):
    """Those of f, and with them m's, which the sum of all texts would tell them from."""
    ids = list(range(110))
    texts = ["a happy day"] * 5 + ["a day"] * 10 + ["a sad day"] * 5
    texts += ["a happy day", "a day", "a sad day"] * 12 + ["a happy day", "a sad day", "a sad day"] * 18
    empty_lake.ingest(
        {"images": build.images(image_id=ids), "captions": build.captions(caption_id=ids, image_id=ids, text=texts)}
    )
    groups = pa.table({"image_id": pa.array(ids, pa.int64()), "label": ["f"] * 20 + ["m"] * 36 + ["x"] * 54})
    rows = {r["label"]: r for r in empty_lake.audit("sentiment", groups=groups, min_count=11).to_arrow().to_pylist()}
    assert (rows["x"]["n"], rows["x"]["suppressed"]) == (54, False)
    assert {g: rows[g]["reason"] for g in "fm"} == {"f": "small", "m": "complementary"}
    for row in (rows["f"], rows["m"]):
        assert {v for k, v in row.items() if k not in {"label", "suppressed", "reason", "params"}} == {None}


def test_one_text_has_no_interval_of_the_mean(empty_lake, build):
    empty_lake.ingest(
        {"images": build.images(image_id=[1]), "captions": build.captions(caption_id=[1], image_id=[1], text=["good"])}
    )
    groups = pa.table({"image_id": pa.array([1], pa.int64()), "label": ["f"]})
    (row,) = empty_lake.audit("sentiment", groups=groups, min_count=1).to_arrow().to_pylist()
    assert (row["mean"], row["mean_low"], row["negative_ratio"]) == (0.4404, None, 0.0)


def test_coco_captions(data_dir, empty_lake, build):
    path = data_dir / "coco" / "captions_val2017.json"
    captions = json.loads(path.read_text(encoding="utf-8"))["annotations"][:3_000]
    texts, ids = [c["caption"] for c in captions], list(range(len(captions)))
    empty_lake.ingest(
        {"images": build.images(image_id=ids), "captions": build.captions(caption_id=ids, image_id=ids, text=texts)}
    )
    labels = gender_label(pa.array(texts), "words").to_pylist()
    rows = empty_lake.audit("sentiment").to_arrow().to_pylist()
    assert [r["label"] for r in rows] == ["female", "male"]
    for row in rows:
        check(row, *expected(texts, labels, row["label"]))


def test_rules_of_nltk(lake, build):
    lake.ingest({"captions": build.captions(caption_id=[50], image_id=[3], text=["a man waits at the bus stop"])})
    groups = pa.table({"image_id": pa.array([3], pa.int64()), "label": ["m"]})
    counts = [
        lake.audit("sentiment", groups=groups, rules=r, min_count=0).to_arrow().to_pylist()[0]
        for r in ("vader", "nltk")
    ]
    assert counts[0]["n"] != counts[1]["n"]


def test_images_with_two_clear_labels_are_left_out(empty_lake, build):
    ids = list(range(40))
    empty_lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=["a bad day"] * 40),
        }
    )
    labels = [(i, "f") for i in range(30)] + [(i, "m") for i in range(20, 40)]
    groups = pa.table({"image_id": pa.array([i for i, _ in labels], pa.int64()), "label": [g for _, g in labels]})
    rows = empty_lake.audit("sentiment", groups=groups).to_arrow().to_pylist()
    assert {r["label"]: r["texts"] for r in rows} == {"f": 20, "m": 10}
