"""Where each image has one of some concepts, which open tables tell, a label has no hidden count that is its images less those shown."""

from __future__ import annotations

import random

import pytest

import counterbalance as cb
from counterbalance.engine.disclosure import protection

NAMES = {
    "category": ("cat", "dog", "car", "tree"),
    "word": ("murderer", "kidnapper", "vandalism", "forgery"),
    "class": ("general", "persons", "property", "financial"),
    "country": ("France", "Brazil", "Japan", "Germany"),
}
GROUPS = "image_labels('perceived_gender')"
CALLS = {
    "cluster_representation": (f"cluster_representation(clusters, {GROUPS})", "cluster", "base_count", "category"),
    "concept_ratio": (f"concept_ratio({GROUPS}, category_concepts, label := 'a', against := 'b', min_count := 10)", "concept", "n_label", "category"),
    "cooccurrence": (f"cooccurrence({GROUPS})", "concept", "n_label", "category"),
    "crime_words": (f"crime_words({GROUPS}) WHERE level = 'term'", "term", "base_count", "word"),
    "crime_words of a class": (f"crime_words({GROUPS}) WHERE level = 'class'", "class", "base_count", "class"),
    "compare_crime_words": (
        f"(SELECT class, label, count_a AS count, base_count_a AS n FROM compare_crime_words({GROUPS}, caption_gender, "
        "other_texts := captions) WHERE class IS NOT NULL)", "class", "n", "class",
    ),
    "geography": (f"geography({GROUPS}) WHERE level = 'label'", "country", "base_count", "country"),
    "keyword_profile": (f"keyword_profile({GROUPS}, concepts := category_concepts, top := 1000)", "keyword", "n", "category"),
    "spurious_correlations": (f"spurious_correlations(groups := {GROUPS}, top := 1000) WHERE kind = 'object'", "attribute", "n_label", "category"),
}  # fmt: skip
"""Calls, the column of their concepts, that of all images of a label, and which names are the concepts."""


@pytest.fixture(scope="module", params=range(3))
def lake(request, build, tmp_path_factory):
    """300 images, each with one thing, crime and country; few of label a have the fourth, and some of the others."""
    draw = random.Random(request.param)
    ids = list(range(300))
    values = [draw.choice("aabbc") for _ in ids]
    which = [draw.randrange(3) for _ in ids]
    for label, few in {"a": draw.randint(1, 9), "b": draw.randint(11, 20), "c": draw.randint(11, 20)}.items():
        for image in draw.sample([i for i in ids if values[i] == label], few):
            which[image] = 3
    lake = cb.connect(str(tmp_path_factory.mktemp("parts") / "a.lake"))
    texts = [f"a {NAMES['word'][k]} in {NAMES['country'][k]}" for k in which]
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts, origin=["human"] * 300),
            "detections": build.detections(
                detection_id=ids, image_id=ids, category=[NAMES["category"][k] for k in which]
            ),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 300, value=values),
        }
    )
    lake.create_materialized_view("clusters", "SELECT image_id, category AS cluster FROM detections", "image_id")
    lake.refresh(executor="inline")
    return lake


@pytest.mark.parametrize("audit", CALLS)
def test_no_count_is_what_is_left(lake, audit):
    call, column, base, kind = CALLS[audit]
    rows = lake.sql(f"FROM {call}").to_arrow().to_pylist()
    shown = {}
    for row in rows:
        if row["count"] is not None:
            shown.setdefault(row.get("label", "a"), {})[str(row[column])] = (row["count"], row[base])
    for label, counts in shown.items():
        missing = set(NAMES[kind]) - counts.keys()
        left = max(whole for _, whole in counts.values()) - sum(count for count, _ in counts.values())
        assert len(missing) != 1 or not 0 < left < 10, (label, counts)


def test_audits_that_count_alike_hide_alike(lake):
    """Counts that one of them shows are no help with those of another."""
    shown = {}
    for audit in ("cooccurrence", "spurious_correlations", "keyword_profile"):
        call, column, base, _ = CALLS[audit]
        for row in lake.sql(f"FROM {call}").to_arrow().to_pylist():
            if row["count"] is not None:
                shown.setdefault(row["label"], {})[str(row[column])] = (row["count"], row[base])
    for label, counts in shown.items():
        left = max(whole for _, whole in counts.values()) - sum(count for count, _ in counts.values())
        assert len(counts) < 3 or not 0 < left < 10, (label, counts)


def test_some_numbers_are_shown(lake):
    """Words that most have are counted: no more is hidden than must be."""
    counted = {r[0] for r in lake.sql(f"SELECT concept FROM cooccurrence({GROUPS})").fetchall()}
    assert counted < set(NAMES["category"])
    assert counted


@pytest.mark.parametrize("audit", ["geography"])
def test_it_is_left_where_nothing_is_hidden_along_concepts(lake, audit, monkeypatch):
    monkeypatch.setattr(protection, "along_concepts", lambda cell: None)
    with pytest.raises(AssertionError):
        test_no_count_is_what_is_left(lake, audit)
