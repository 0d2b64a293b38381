"""edit_quality tells no count of few images in any metric, and no value of one edit."""

from __future__ import annotations

import pyarrow as pa
import pytest
from repeats import again

import counterbalance as cb
from counterbalance.engine.store import tables

LABELS = ["female", "male"] * 40
OPEN = {"accepted": [True] * 80, "predicted": LABELS, "background": [0] * 80}


def asked(build, store_closed, uri, facts, image_id=range(80), places=(1,) * 80):
    """Rows by metric, k and label, over closed edits, and open rankings with their places."""
    ids = list(range(len(LABELS)))
    lake = cb.connect(uri)
    labels = {"label_id": ids, "image_id": ids, "attribute": ["perceived_gender"] * 80, "value": LABELS}
    lake.ingest({"images": build.images(image_id=ids), "labels": build.labels(**labels)})
    edits = OPEN | facts | {"edit_id": ids, "image_id": list(image_id), "template": ["t"] * 80, "label": LABELS}
    ranked = [(q, 80 + 20 * q + p if p < places[q] else q, p) for q in ids for p in range(1, places[q] + 1)]
    q, i, place = zip(*ranked, strict=True)
    hits = {"query_id": q, "item_id": i, "rank": pa.array(place, pa.int32()), "score": [1.0 / p for p in place]}
    tables.append(lake.location, "hits", pa.table(hits))
    store_closed(lake, "edits", edits, "edit_id")
    rows = lake.sql("FROM edit_quality(edits, hits := hits) WHERE template = 'all'").to_arrow().to_pylist()
    return {(r["metric"], r["k"], r["label"]): r for r in rows}


GOOD = {"accepted": (True, False), "predicted": (None, "nobody"), "background": (0, 7)}


CASES = {(3, True): GOOD, (37, True): ["predicted"], (12, False): ["background"]}
"""Metrics of which the same few are shown or hidden by default: each is once, and all of these numbers."""


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("metric", "few", "hidden"),
    [
        *((metric, *case) for case, kept in CASES.items() for metric in kept),
        *again(*((metric, *case) for case, kept in CASES.items() for metric in GOOD if metric not in kept)),
    ],
)
def test_few_with_or_without(build, store_closed, tmp_path, metric, few, hidden):
    """So many women's edits are not as they should be, and twenty men's."""
    good, bad = GOOD[metric]
    bads = {2 * i for i in range(few)} | {2 * i + 1 for i in range(20)}
    values = [bad if i in bads else LABELS[i] if metric == "predicted" else good for i in range(80)]
    found = asked(build, store_closed, str(tmp_path / "a.lake"), {metric: values})
    name = "accuracy" if metric == "predicted" else metric
    told = [
        [found[name, None, label][c] for c in ("count", "value", "low", "high", "n_right", "n_wrong")]
        for label in ("all", "female", "male")
    ]
    assert None in told[1] if hidden else None not in sum(told, [])
    assert not hidden or sum(set(row) == {None} for row in told) >= 2  # none follows from the two others


def test_few_images_however_many_edits_each_has(build, store_closed, tmp_path):
    """Twelve edits of three images were refused."""
    images = [i % 2 + 2 * (i // 8) if i < 24 else i for i in range(80)]
    accepted = [(i % 2 == 1 and i > 40) or (i % 2 == 0 and i > 22) for i in range(80)]
    found = asked(build, store_closed, str(tmp_path / "a.lake"), {"accepted": accepted}, image_id=images)
    assert found["accepted", None, "female"]["value"] is None


def test_the_largest_change_is_not_told(build, store_closed, tmp_path):
    """One edit has it, and anybody can read which."""
    found = asked(build, store_closed, str(tmp_path / "a.lake"), {"background": [i * 37 % 101 for i in range(80)]})
    assert not [row for row in found.values() if row["value"] is not None and row["value"] > 1]


@pytest.mark.parametrize(("few", "hidden"), [(3, True), (0, False), (12, False)])
def test_few_that_a_later_cut_off_finds(build, store_closed, tmp_path, few, hidden):
    """The first 15 of either label are found at 1; so many women's and 15 men's at 3; others not among ten."""
    later = {"female": range(30, 30 + 2 * few, 2), "male": range(31, 61, 2)}
    places = [1 if i < 30 else 3 if i in later[LABELS[i]] else 11 for i in range(80)]
    found = asked(build, store_closed, str(tmp_path / "a.lake"), {}, places=places)
    counts = {(k, label): found["recall", k, label]["count"] for k in (1, 5, 10) for label in ("all", "female", "male")}
    assert [counts[1, label] for label in ("all", "female", "male")] == [30, 15, 15]
    for k in (5, 10):
        told = [counts[k, label] for label in ("all", "female", "male")]
        assert (None in told) == hidden
        assert not hidden or (told[1] is None and told.count(None) >= 2)
        assert [found["recall", k, "female"][c] is None for c in ("value", "low", "high")] == [hidden] * 3


def test_edits_that_are_all_as_they_should_be(build, store_closed, tmp_path):
    found = asked(build, store_closed, str(tmp_path / "a.lake"), {})
    assert {r["value"] for r in found.values()} == {1}
