"""sentiment and compare_sentiment: texts of one image are much alike, so variances are by image."""

from __future__ import annotations

import json
import os

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm
from scipy.stats import t
from statsmodels.stats.proportion import proportion_confint
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

SPLITS = int(os.environ.get("COUNTERBALANCE_SPLITS", "20"))
SAYINGS = ("a sad man", "a happy man", "a man", "an awful, terrible man", "a good man", "a nice day for a man")


@pytest.fixture
def several(empty_lake, build):
    """60 images of one to five captions, alike within an image."""
    draw = np.random.default_rng(3)
    rows = []
    for image in range(60):
        mood = draw.integers(0, 2)
        said = draw.choice([0, 3, 2] if mood else [1, 4, 5, 0], draw.integers(1, 6))
        rows += [(image, SAYINGS[place]) for place in said]
    image_id, text = zip(*rows, strict=True)
    images = build.images(image_id=list(range(60)), key=[str(i) for i in range(60)])
    captions = build.captions(caption_id=list(range(len(rows))), image_id=list(image_id), text=list(text))
    empty_lake.ingest({"images": images, "captions": captions})
    return empty_lake, rows


def scored(rows):
    analyzer = SentimentIntensityAnalyzer()
    scores = [(image, analyzer.polarity_scores(text)["compound"]) for image, text in rows]
    return np.array([(image, score) for image, score in scores if score]).T


def by_clusters(values, images):
    """Mean with its standard error by clusters, by statsmodels' sandwich, and how many clusters there are."""
    fit = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": images, "use_correction": False}
    )
    clusters = len(set(images))
    return fit.params[0], fit.bse[0] * np.sqrt(clusters / (clusters - 1)), clusters


def of_one_size(images):
    """Return how many clusters of one size tell as much of rows that are all alike."""
    sizes = np.unique(images, return_counts=True)[1]
    return np.floor(sizes.sum() ** 2 / (sizes**2).sum())


def test_the_mean(several):
    lake, rows = several
    (row,) = lake.audit("sentiment", groups=groups(60, "m")).to_arrow().to_pylist()
    images, scores = scored(rows)
    mean, error, clusters = by_clusters(scores, images)
    assert (row["n"], row["images"]) == (len(scores), 60)
    assert clusters < 60  # some images have neutral texts only, which tell nothing of the mean
    half = t.ppf(0.975, of_one_size(images) - 1) * error
    assert (row["mean_low"], row["mean_high"]) == pytest.approx((mean - half, mean + half), rel=1e-7)


def test_the_share(several):
    lake, rows = several
    (row,) = lake.audit("sentiment", groups=groups(60, "m")).to_arrow().to_pylist()
    images, scores = scored(rows)
    share, error, _ = by_clusters((scores < 0).astype(float), images)
    _, place, sizes = np.unique(images, return_inverse=True, return_counts=True)
    negative = np.bincount(place, scores < 0)
    seen = min(some.sum() ** 2 / (some**2).sum() for some in (negative, sizes - negative))
    alike = share * (1 - share) * (sizes**2).sum() / len(scores) ** 2
    variance = error**2 + max(alike - error**2, 0) / (1 + seen)
    few = t.ppf(0.975, len(scores) - 1) / t.ppf(0.975, of_one_size(images) - 1)
    effective = share * (1 - share) / variance * few**2
    assert effective < 0.8 * len(scores)
    interval = proportion_confint(share * effective, effective, method="wilson")
    assert (row["negative_low"], row["negative_high"]) == pytest.approx(interval, rel=1e-6)
    plain = proportion_confint(round(share * len(scores)), len(scores), method="wilson")
    assert row["negative_low"] < plain[0] < plain[1] < row["negative_high"]


def test_all_texts_alike(empty_lake, build):
    """Of 20 images with five texts each, all negative, as much is known as of 20 texts."""
    ids = list(range(100))
    captions = build.captions(caption_id=ids, image_id=[i // 5 for i in ids], text=["a sad man"] * 100)
    empty_lake.ingest({"images": build.images(image_id=list(range(20))), "captions": captions})
    (row,) = empty_lake.audit("sentiment", groups=groups(20, "m")).to_arrow().to_pylist()
    assert (row["negative_low"], row["negative_high"]) == pytest.approx(proportion_confint(20, 20, method="wilson"))
    assert (row["mean_low"], row["mean_high"]) == pytest.approx((row["mean"],) * 2)


@pytest.mark.thorough
@pytest.mark.slow
def test_random_halves_of_coco_differ_by_chance(data_dir, empty_lake, build):
    """p < .05 in about 5 % of splits of val2017's images into halves, of which there are five captions each."""
    path = data_dir / "coco" / "captions_val2017.json"
    found = json.loads(path.read_text(encoding="utf-8"))["annotations"]
    images = sorted({c["image_id"] for c in found})
    captions = build.captions(
        caption_id=[c["id"] for c in found],
        image_id=[c["image_id"] for c in found],
        text=[c["caption"] for c in found],
    )
    empty_lake.ingest({"images": build.images(image_id=images, key=[str(i) for i in images]), "captions": captions})
    empty_lake.sql("ALTER TABLE captions ADD COLUMN mood AS (vader(text))")
    empty_lake.refresh(executor="inline")
    labels, draw, found = (
        empty_lake.sql("SELECT image_id, label FROM caption_gender").to_arrow(),
        np.random.default_rng(11),
        [],
    )
    for _ in range(SPLITS):
        half = pa.array(draw.permutation(images)[::2])
        one = labels.filter(pa.compute.is_in(labels["image_id"], half))
        other = labels.filter(pa.compute.invert(pa.compute.is_in(labels["image_id"], half)))
        rows = empty_lake.audit("compare_sentiment", groups=one, others=other, other_texts="captions").to_arrow()
        found += [p for p in rows["p"].to_pylist() if p is not None]
    assert len(found) == 2 * SPLITS
    assert np.mean(np.array(found) < 0.05) <= 0.09
    assert np.mean(np.array(found) < 0.5) == pytest.approx(0.5, abs=0.15)


def groups(count, label):
    return pa.table({"image_id": pa.array(range(count), pa.int64()), "label": [label] * count})
