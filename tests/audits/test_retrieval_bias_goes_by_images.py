"""retrieval_bias: queries of one image are much alike, so intervals are by the queries' images."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm
from scipy.stats import t
from statsmodels.stats.proportion import proportion_confint

IMAGES, ITEMS, TOP = 40, 60, 10


@pytest.fixture(scope="module")
def given():
    """Hits of one to five queries an image, most of which prefer what the image's first one does."""
    draw = np.random.default_rng(7)
    rows, of_image = [], []
    for image in range(IMAGES):
        liked = draw.permutation(ITEMS)
        for _ in range(draw.integers(1, 6)):
            query = len(of_image)
            of_image.append(image)
            ranked = liked if draw.random() < 0.7 else draw.permutation(ITEMS)
            rows += [(query, int(item), rank) for rank, item in enumerate(ranked[:TOP], 1)]
    query, item, rank = zip(*rows, strict=True)
    hits = pa.table(
        {"query_id": query, "item_id": item, "rank": pa.array(rank, pa.int32()), "score": [1.0 / r for r in rank]}
    )
    labels = pa.table({"item_id": range(ITEMS), "label": ["male" if i % 3 else "female" for i in range(ITEMS)]})
    relevant = pa.table({"query_id": range(len(of_image)), "item_id": [i % 20 for i in of_image]})
    images = pa.table({"query_id": range(len(of_image)), "image_id": of_image})
    return {"hits": hits, "labelled_hits": hits, "item_groups": labels, "relevant": relevant, "query_images": images}


def audit(session, given, **more):
    given = given | more
    calls = {"k": [TOP], "skew_k": [TOP], "min_count": 1}
    rows = session.audit("retrieval_bias", **given, **calls).to_arrow().to_pylist()
    own = {k: v for k, v in given.items() if k != "query_images"}
    values = session.audit("retrieval_bias_queries", **own, k=[TOP], skew_k=[TOP]).to_arrow().to_pylist()
    by_metric = {}
    for row in values:
        if row["value"] is not None:
            by_metric.setdefault(row["metric"], {})[row["query_id"]] = row["value"]
    return {row["metric"]: row for row in rows}, by_metric


def sandwich(values, images):
    """Standard error of the mean by clusters, and the degrees of freedom of clusters of one size."""
    fit = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": images, "use_correction": False}
    )
    sizes = np.unique(images, return_counts=True)[1]
    clusters = len(sizes)
    df = np.floor(sizes.sum() ** 2 / (sizes**2).sum()) - 1
    return fit.bse[0] * np.sqrt(clusters / (clusters - 1)), df


@pytest.mark.parametrize("metric", ["bias", "maxskew", "ndkl"])
def test_means(session, given, metric):
    rows, values = audit(session, given)
    of_image = given["query_images"]["image_id"].to_numpy()
    images = of_image[list(values[metric])]
    own = np.array(list(values[metric].values()))
    error, df = sandwich(own, images)
    row = rows[metric]
    assert (row["n"], row["query_images"]) == (len(own), len(set(images)))
    half = t.ppf(0.975, df) * error
    assert (row["low"], row["high"]) == pytest.approx((own.mean() - half, own.mean() + half), rel=1e-7)


def test_recall_is_wider_than_of_independent_queries(session, given):
    rows, values = audit(session, given)
    found = sum(values["recall"].values())
    plain = proportion_confint(found, len(values["recall"]), method="wilson")
    assert rows["recall"]["low"] < plain[0] < plain[1] < rows["recall"]["high"]


def test_queries_without_an_image_are_of_their_own(session, given):
    rows, values = audit(session, given, query_images=given["query_images"].slice(0, 0))
    own = np.array(list(values["bias"].values()))
    half = t.ppf(0.975, len(own) - 1) * own.std(ddof=1) / np.sqrt(len(own))
    row = rows["bias"]
    assert row["query_images"] == row["n"] == len(own)
    assert (row["low"], row["high"]) == pytest.approx((own.mean() - half, own.mean() + half), rel=1e-7)
    found = sum(values["recall"].values())
    wilson = proportion_confint(found, len(values["recall"]), method="wilson")
    assert (rows["recall"]["low"], rows["recall"]["high"]) == pytest.approx(wilson, rel=1e-7)
