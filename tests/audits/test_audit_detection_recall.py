"""detection_recall: matching box by box in plain Python, and pycocotools; Wilson; small groups hidden."""

from __future__ import annotations

import itertools
import math
import os
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import counterbalance as cb

SIDES = ["x", "y", "width", "height"]
CUTS = [c / 100 for c in range(50, 100, 5)]
_names = itertools.count()


def table(rows, *more):
    """``rows``: (image_id, category, x, y, width, height, *more)."""
    columns = dict(zip(["image_id", "category", *SIDES, *more], zip(*rows, strict=True), strict=True)) if rows else {}
    types = {"image_id": pa.int64(), "category": pa.string(), "score": pa.float32(), "is_crowd": pa.bool_()}
    names = ["image_id", "category", *SIDES, *more]
    return pa.table({n: pa.array(columns.get(n, []), types.get(n, pa.float32())) for n in names})


def run(truth, predicted, groups=None, images=200, **options):
    lake = cb.connect(f"memory://recall-{os.getpid()}-{next(_names)}")
    lake.ingest({"images": pa.table({"image_id": list(range(images))})})
    given = {} if groups is None else {"groups": groups}
    found = lake.audit("detection_recall", predicted=predicted, truth=truth, **given, **options)
    return {(r["label"], r["metric"]): r for r in found.to_arrow().to_pylist()}


def overlap(a, b):
    across = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    down = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    if across <= 0 or down <= 0:
        return 0.0
    return across * down / (a[2] * a[3] + b[2] * b[3] - across * down)


def matched(truth, predicted):
    """How many of the ten overlaps each true box is found at, and at which: COCO's matching, box by box."""
    found = [set() for _ in truth]
    for cut in CUTS:
        taken = set()
        for image, category, *box, _ in sorted(predicted, key=lambda r: -r[-1]):
            best, at = cut, None
            for i, (own, kind, *other, crowd) in enumerate(truth):
                if (own, kind) == (image, category) and not crowd and i not in taken:
                    near = overlap(other, box)
                    if near >= best and (at is None or near > best):
                        best, at = near, i
            if at is not None:
                taken.add(at)
                found[at].add(cut)
    return found


def scene(seed, images=12, boxes=9):
    """True boxes that overlap each other, and guesses near them; scores and sides in float32, all different."""
    draw = np.random.default_rng(seed)
    truth, predicted = [], []
    for image in range(images):
        for _ in range(draw.integers(1, boxes)):
            own = np.float32([*draw.uniform(0, 60, 2), *draw.uniform(10, 60, 2)]).tolist()
            kind = str(draw.choice(["person", "dog"], p=[0.8, 0.2]))
            truth.append((image, kind, *own, bool(draw.random() < 0.1)))
            for _ in range(draw.integers(0, 4)):
                near = np.float32(np.array(own) + draw.normal(0, 4, 4)).tolist()
                predicted.append((image, kind, near[0], near[1], abs(near[2]) + 1, abs(near[3]) + 1))
    scores = np.float32(draw.permutation(len(predicted)) / len(predicted)).tolist()
    return truth, [(*p, s) for p, s in zip(predicted, scores, strict=True)]


def test_a_case_by_hand():
    """Ten images alike. a overlaps both true boxes, the second more, and takes it; b is left the first; c is nowhere."""
    truth, predicted = [], []
    for image in range(10):
        truth += [(image, "person", 0, 0, 100, 100, False), (image, "person", 20, 0, 100, 100, False)]
        truth += [(image, "person", 0, 0, 100, 100, True), (image, "dog", 0, 0, 100, 100, False)]
        predicted += [
            (image, "person", 18, 0, 100, 100, 0.9),  # overlaps of 0.695 and 0.961
            (image, "person", 12, 0, 100, 100, 0.8),  # overlaps of 0.786 and 0.852
            (image, "person", 300, 0, 100, 100, 0.7),
        ]
    rows = run(table(truth, "is_crowd"), table(predicted, "score"))
    got = {metric: (r["count"], r["n"]) for (_, metric), r in rows.items()}
    assert got == {"recall_50": (20, 30), "recall_75": (20, 30), "recall_90": (10, 30), "mean_recall": (160, 30)}
    # the second box at 0.5 … 0.95, the first at 0.5 … 0.75: a takes the second at all, so b never has the choice
    assert rows["all", "mean_recall"]["value"] == pytest.approx((10 * 1.0 + 10 * 0.6) / 30)


def test_a_better_score_goes_first_though_it_overlaps_less():
    truth = [(i, "person", 0, 0, 100, 100, False) for i in range(20)]
    guesses = [(i, "person", 0, 0, 100, 80, 0.9) for i in range(20)] + [
        (i, "person", 0, 0, 100, 100, 0.1) for i in range(20)
    ]
    rows = run(table(truth, "is_crowd"), table(guesses, "score"))
    assert rows["all", "recall_75"]["count"] == 20
    assert rows["all", "recall_90"]["count"] == 20  # the first one overlaps by 0.8 only
    assert rows["all", "mean_recall"]["value"] == 1.0


def test_an_overlap_that_is_exactly_the_threshold_counts():
    truth = [(i, "person", 0, 0, 100, 100, False) for i in range(10)]
    truth += [(0, "person", 5, 5, 0, 9, False), (0, "person", 5, 5, 9, 0, False)]  # boxes without an area do not count
    rows = run(table(truth, "is_crowd"), table([(i, "person", 0, 0, 100, 75, 0.9) for i in range(10)], "score"))
    got = [(rows["all", m]["count"], rows["all", m]["n"]) for m in ("recall_50", "recall_75", "recall_90")]
    assert got == [(10, 10), (10, 10), (0, 10)]
    assert rows["all", "mean_recall"]["value"] == pytest.approx(0.6)


def of_mean(values, images):
    """The standard error of the mean of values of boxes that are alike within images, and the point of Student's t for it."""
    each, place, sizes = np.unique(images, return_inverse=True, return_counts=True)
    residuals = np.bincount(place, values - np.mean(values))
    error = math.sqrt((residuals**2).sum() * len(each) / (len(each) - 1)) / len(images)
    return error, stats.t.ppf(0.975, max(math.floor(len(images) ** 2 / (sizes**2).sum()) - 1, 1))


def of_share(hits, images):
    """Wilson's interval of as many independent boxes as would tell as much (docs/decisions/029); hits are 0 or 1."""
    hits, n = np.array(hits, float), len(images)
    error, point = of_mean(hits, images)
    _, place, sizes = np.unique(images, return_inverse=True, return_counts=True)
    own = np.bincount(place, hits)
    sides = [some.sum() ** 2 / (some**2).sum() if some.any() else 0 for some in (own, sizes - own)]
    share = hits.mean()
    alike = share * (1 - share) * (sizes**2).sum() / n**2
    variance = error**2 + max(alike - error**2, 0) / (1 + min(sides))
    few = stats.t.ppf(0.975, n - 1) / point
    is_mixed = 0 < share < 1
    effective = min(share * (1 - share) / variance * few**2, n) if is_mixed else n**2 / (sizes**2).sum()
    return proportion_confint(share * effective, effective, method="wilson")


@pytest.mark.parametrize("seed", range(6))
def test_against_matching_box_by_box(seed):
    truth, predicted = scene(seed)
    rows = run(table(truth, "is_crowd"), table(predicted, "score"), min_count=1)
    found = [f for f, t in zip(matched(truth, predicted), truth, strict=True) if not t[-1]]
    images = np.array([t[0] for t in truth if not t[-1]])
    for metric, cut in [("recall_50", 0.5), ("recall_75", 0.75), ("recall_90", 0.9)]:
        row, count = rows["all", metric], sum(cut in f for f in found)
        assert (row["count"], row["n"], row["value"]) == (count, len(found), count / len(found))
        assert (row["low"], row["high"]) == pytest.approx(of_share([cut in f for f in found], images), rel=1e-4)
    looks = [cut in f for f in found for cut in CUTS]
    row = rows["all", "mean_recall"]
    assert (row["value"], row["n"], row["images"]) == (
        pytest.approx(np.mean(looks), rel=1e-12),
        len(found),
        len({*images}),
    )
    assert (row["low"], row["high"]) == pytest.approx(of_share(looks, np.repeat(images, len(CUTS))), rel=1e-4)


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "5")))
@given(data=st.data())
def test_crowded_boxes_on_a_grid(data):
    """Whole numbers, so that many overlaps are equal: each true box at most once, no guess twice, as many as box by box."""
    side = st.integers(1, 6)
    sides = st.tuples(st.integers(0, 4), st.integers(0, 4), side, side)
    truth = [
        (0, "person", *map(float, b), False) for b in data.draw(st.lists(sides, min_size=1, max_size=6, unique=True))
    ]
    truth.sort()
    guesses = data.draw(st.lists(sides, max_size=8))
    predicted = [(0, "person", *map(float, b), 1 - i / 16) for i, b in enumerate(guesses)]
    rows = run(table(truth, "is_crowd"), table(predicted, "score"), min_count=1, images=1)
    found = matched(truth, predicted)
    assert rows["all", "recall_50"]["count"] == sum(0.5 in f for f in found) <= len(guesses)
    assert rows["all", "mean_recall"]["value"] == pytest.approx(sum(map(len, found)) / len(truth) / 10)


def test_against_pycocotools():
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth, predicted = scene(11, images=30)
    kinds = {"person": 1, "dog": 2}
    document = {
        "images": [{"id": i} for i in range(30)],
        "categories": [{"id": 1}, {"id": 2}],
        "annotations": [
            {
                "id": n + 1,
                "image_id": i,
                "category_id": kinds[k],
                "bbox": box,
                "area": box[2] * box[3],
                "iscrowd": int(crowd),
            }
            for n, (i, k, *box, crowd) in enumerate(truth)
        ],
    }
    peer = COCO()
    peer.dataset = document
    peer.createIndex()
    own = [{"image_id": i, "category_id": kinds[k], "bbox": box, "score": s} for i, k, *box, s in predicted]
    evaluated = COCOeval(peer, peer.loadRes(own), "bbox")
    evaluated.params.areaRng, evaluated.params.areaRngLbl = [[0, 1e10]], ["all"]
    evaluated.evaluate()
    evaluated.accumulate()
    counts = defaultdict(int)
    for part in filter(None, evaluated.evalImgs):
        real = part["gtIgnore"] == 0
        for at, cut in enumerate(CUTS):
            counts[cut] += int((part["gtMatches"][at][real] > 0).sum())
    rows = run(table(truth, "is_crowd"), table(predicted, "score"), min_count=1)
    n = rows["all", "recall_50"]["n"]
    assert n == sum(not t[-1] for t in truth)
    assert [rows["all", f"recall_{c}"]["count"] for c in (50, 75, 90)] == [counts[0.5], counts[0.75], counts[0.9]]
    assert rows["all", "mean_recall"]["value"] == pytest.approx(sum(counts.values()) / n / 10)


def test_groups():
    truth, predicted = scene(7, images=40)
    labels = {i: "female" if i % 3 else "male" for i in range(40)} | {39: "unclear", 38: None}
    groups = pa.table({"image_id": list(labels), "label": list(labels.values())})
    rows = run(table(truth, "is_crowd"), table(predicted, "score"), groups=groups, min_count=1)
    assert {label for label, _ in rows} == {"all", "female", "male"}
    for label in ("female", "male"):
        mine = [t for t in truth if labels[t[0]] == label]
        found = [f for f, t in zip(matched(mine, predicted), mine, strict=True) if not t[-1]]
        row = rows[label, "recall_75"]
        assert (row["count"], row["n"]) == (sum(0.75 in f for f in found), len(found))


def test_small_groups_are_hidden_and_all_with_them():
    truth = [(i, "person", 0, 0, 9, 9, False) for i in range(60)]
    groups = pa.table({"image_id": list(range(60)), "label": ["female"] * 30 + ["male"] * 26 + ["other"] * 4})
    found = table([(*t[:6], 0.5) for t in truth[::2]], "score")
    rows = run(table(truth, "is_crowd"), found, groups=groups)
    hidden = {label for (label, _), r in rows.items() if r["suppressed"]}
    assert hidden == {"other", "male"}  # 4 boxes of other would follow from all, less those of female and male
    assert {rows["other", "recall_50"][k] for k in ("count", "n", "value", "low", "high")} == {None}
    assert rows["female", "recall_50"]["value"] == 0.5


def test_by_default_true_boxes_are_those_without_a_score():
    lake = cb.connect(f"memory://recall-{os.getpid()}-{next(_names)}")
    boxes = {"category": ["person"] * 40, **{s: pa.array([9.0] * 40, pa.float32()) for s in SIDES}}
    rows = {"detection_id": list(range(40)), "image_id": [i % 20 for i in range(40)], **boxes}
    rows["score"] = pa.array([None] * 20 + [0.5] * 20, pa.float32())
    lake.ingest({"images": pa.table({"image_id": list(range(20))}), "detections": pa.table(rows)})
    result = lake.sql("SELECT * FROM detection_recall((SELECT * FROM detections WHERE score IS NOT NULL))").to_arrow()
    assert {(r["metric"], r["n"], r["value"]) for r in result.to_pylist()} == {
        (m, 20, 1.0) for m in ("recall_50", "recall_75", "recall_90", "mean_recall")
    }


def test_the_small_sample(data_dir):
    """Real boxes of COCO, moved by a tenth of their size: found at 0.5 nearly all, at 0.9 nearly none."""
    lake = cb.connect(f"memory://recall-{os.getpid()}-{next(_names)}")
    lake.ingest(str(data_dir / "coco-mini"), "coco")
    moved = "(SELECT image_id, category, x + 0.1 * width AS x, y, width, height, 0.5 AS score FROM detections)"
    rows = {r["metric"]: r for r in lake.sql(f"SELECT * FROM detection_recall({moved})").to_arrow().to_pylist()}
    n = lake.sql("SELECT count(*) FROM detections WHERE NOT is_crowd").fetchall()[0][0]
    assert {r["n"] for r in rows.values()} == {n}
    assert rows["recall_50"]["value"] > 0.95
    assert rows["recall_75"]["value"] > 0.9  # 0.9 / 1.1 = 0.818
    assert rows["recall_90"]["value"] < 0.05


def test_images_with_two_clear_labels_are_of_no_group():
    truth = [(i, "person", 0, 0, 9, 9, False) for i in range(40)]
    labels = [(i, "f") for i in range(30)] + [(i, "m") for i in range(20, 40)]
    groups = pa.table({"image_id": [i for i, _ in labels], "label": [g for _, g in labels]})
    rows = run(table(truth, "is_crowd"), table([(*t[:6], 0.5) for t in truth], "score"), groups=groups)
    assert {label: rows[label, "recall_50"]["n"] for label in ("all", "f", "m")} == {"all": 40, "f": 20, "m": 10}


@pytest.mark.parametrize("few", [3, 27])
def test_few_boxes_that_are_found_or_missed_do_not_follow(few):
    truth = [(i, "person", 0, 0, 9, 9, False) for i in range(90)]
    groups = pa.table({"image_id": list(range(90)), "label": ["f"] * 30 + ["m"] * 30 + ["x"] * 30})
    found = [*range(few), *range(30, 45), *range(60, 75)]
    rows = run(table(truth, "is_crowd"), table([(*truth[i][:6], 0.5) for i in found], "score"), groups=groups)
    hidden = {label for (label, metric), r in rows.items() if metric == "recall_50" and r["count"] is None}
    assert hidden >= {"f", "m"}
    assert rows["x", "recall_50"]["count"] == 15
    assert {rows["f", "recall_50"][k] for k in ("n", "value", "low", "high")} == {None}
