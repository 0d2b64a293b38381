"""cluster_representation: share of a label in a cluster less its share among all, with an interval; small cells hidden."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binomtest, chi2_contingency
from statsmodels.stats.multitest import multipletests

CLUSTERS = "(SELECT image_id, caption_id // 10000 AS cluster FROM captions)"


@pytest.fixture
def ask(empty_lake, build):
    """Rows of the audit for counts of images by cluster and label, each image with one caption."""

    def asked(counts, given=""):
        labels = [(c, label) for (c, label), n in counts.items() for _ in range(n)]
        ids = list(range(len(labels)))
        empty_lake.ingest(
            {
                "images": build.images(image_id=ids, key=[str(i) for i in ids]),
                "captions": build.captions(
                    caption_id=[c * 10_000 + i for i, (c, _) in enumerate(labels)],
                    image_id=ids,
                    text=[{"male": "a man", "female": "a woman"}.get(label, "a dog") for _, label in labels],
                ),
            }
        )
        found = empty_lake.sql(f"SELECT * FROM cluster_representation({CLUSTERS}{given})").to_arrow().to_pylist()
        return {(r["cluster"], r["label"]): r for r in found}

    return asked


def wilson(count, n):
    found = binomtest(count, n).proportion_ci(method="wilson")
    return found.low, found.high


def test_difference_and_interval(ask):
    counts = {(1, "male"): 30, (1, "female"): 10, (2, "male"): 25, (2, "female"): 45, (2, "none"): 20, (3, "male"): 40, (3, "female"): 20}  # fmt: skip
    found = ask(counts)
    assert set(found) == {(c, label) for c in (1, 2, 3) for label in ("male", "female")}
    base = 95 / 170
    for cluster in (1, 2, 3):
        count = counts[cluster, "male"]
        n = count + counts[cluster, "female"]
        row, other = found[cluster, "male"], found[cluster, "female"]
        assert (row["count"], row["n"], row["base_n"], row["suppressed"]) == (count, n, 170, False)
        assert row["base_share"] == pytest.approx(base)
        assert row["difference"] == pytest.approx(count / n - base, rel=1e-12)
        assert (row["share_low"], row["share_high"]) == pytest.approx(wilson(count, n), rel=1e-9)
        # the squared distances to Wilson's ends, of both shares and of the part of the images outside
        p, q = count / n, (95 - count) / (170 - n)
        (low, high), (outer_low, outer_high) = wilson(count, n), wilson(95 - count, 170 - n)
        part = (170 - n) / 170
        part_ends = wilson(170 - n, 170)
        down, up = part_ends if p > q else part_ends[::-1]
        assert row["difference"] == pytest.approx(part * (p - q), rel=1e-9)
        assert row["low"] == pytest.approx(
            part * (p - q) - math.hypot(part * (p - low), part * (outer_high - q), (p - q) * (part - down)), rel=1e-9
        )
        assert row["high"] == pytest.approx(
            part * (p - q) + math.hypot(part * (high - p), part * (q - outer_low), (p - q) * (part - up)), rel=1e-9
        )
        assert [other[k] for k in ("difference", "low", "high")] == pytest.approx([-row[k] for k in ("difference", "high", "low")])  # fmt: skip


def test_p_is_that_of_g2_and_q_is_of_all_rows(ask):
    counts = {
        (1, "male"): 30,
        (1, "female"): 10,
        (2, "male"): 25,
        (2, "female"): 45,
        (3, "male"): 40,
        (3, "female"): 20,
    }
    found = ask(counts)
    for (cluster, label), row in found.items():
        own, n = counts[cluster, label], sum(counts[cluster, other] for other in ("male", "female"))
        whole = sum(v for (_, other), v in counts.items() if other == label)
        table = [[own, n - own], [whole - own, 170 - n - (whole - own)]]
        assert row["p"] == pytest.approx(
            chi2_contingency(table, correction=False, lambda_="log-likelihood").pvalue, rel=1e-6
        )
    q = multipletests([row["p"] for row in found.values()], method="fdr_bh")[1]
    assert [row["q"] for row in found.values()] == pytest.approx(list(q), rel=1e-9)


def test_a_cluster_of_everything_differs_by_nothing(ask):
    row = ask({(1, "male"): 30, (1, "female"): 20})[1, "male"]
    assert (row["difference"], row["low"], row["high"], row["suppressed"]) == (0.0, None, None, False)


def test_no_small_count_follows_from_the_others(ask):
    """3 women of cluster 1 are hidden, and with them its men, and both of cluster 3: of each label 10 in several clusters."""
    counts = {(1, "male"): 50, (1, "female"): 3, (2, "male"): 12, (3, "male"): 10, (3, "female"): 12, (4, "male"): 30, (4, "female"): 40}  # fmt: skip
    found = ask(counts)
    assert set(found) == {
        (c, label) for c in (1, 2, 3, 4) for label in ("male", "female")
    }  # cluster 2 without women, too
    assert {c for (c, _), r in found.items() if r["suppressed"]} == {1, 3}
    shown = ("count", "n", "share", "share_low", "share_high", "difference", "low", "high")
    assert all((r[k] is None) == r["suppressed"] for r in found.values() for k in shown)
    assert sum(r["count"] for (c, label), r in found.items() if label == "female" and c == 4) == 40


def test_min_count_is_a_parameter(ask):
    found = ask({(1, "male"): 50, (1, "female"): 3, (2, "male"): 30, (2, "female"): 40}, ", min_count := 2")
    assert not any(r["suppressed"] for r in found.values())


def test_an_image_counts_once_in_each_cluster_of_its_captions(empty_lake, build):
    ids = list(range(40))
    captions = [(i, i % 2) for i in ids] + [(i, 1) for i in ids[:20]]
    empty_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(
                caption_id=list(range(60)),
                image_id=[i for i, _ in captions],
                text=["a man" if i % 4 < 2 else "a woman" for i, _ in captions],
            ),
        }
    )
    clusters = "(SELECT image_id, CASE WHEN caption_id < 40 THEN caption_id % 2 ELSE 1 END AS cluster FROM captions)"
    rows = empty_lake.sql(f"SELECT * FROM cluster_representation({clusters}, min_count := 1)").to_arrow().to_pylist()
    wanted = {(c, i) for i, c in captions}
    for row in rows:
        own = {i for c, i in wanted if c == row["cluster"]}
        assert row["n"] == len(own)
        assert row["count"] == sum((i % 4 < 2) == (row["label"] == "male") for i in own)
