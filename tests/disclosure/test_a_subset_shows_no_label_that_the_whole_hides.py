"""A balanced subset shows no label that is hidden in all images: its count would give the small one beside it away."""

from __future__ import annotations

import os

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

G = "image_labels('perceived_gender')"


@pytest.fixture(scope="module")
def lake(build):
    """100 images of one label, 12 of another and 5 of a third, with a caption each."""
    values = ["female"] * 100 + ["male"] * 12 + ["nonbinary"] * 5
    ids = list(range(len(values)))
    lake = cb.connect(f"memory://subset-{os.getpid()}")
    labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values)
    captions = build.captions(caption_id=ids, image_id=ids, text=["a dog in a park"] * len(ids))
    lake.ingest({"images": build.images(image_id=ids), "captions": captions, "labels": labels})
    return lake


@pytest.mark.parametrize("audit", ["cooccurrence", "keyword_profile", "concept_ratio", "demographics", "balance"])
@pytest.mark.parametrize("method", ["under", "over"])
def test_it_is_refused(lake, audit, method):
    concepts = ", concepts := word_concepts" if audit not in {"demographics", "balance"} else ""
    with pytest.raises(SensitiveError) as caught:
        lake.sql(f"FROM {audit}(groups := balanced_subset({G}, method := '{method}'){concepts})").fetchall()
    assert caught.value.code == "E3321"
    whole = lake.sql(f"FROM {audit}(groups := {G}{concepts})").to_arrow().to_pylist()
    assert not [row for row in whole if row.get("label") == "male" and row.get("count") == 12]


def test_a_note_does_not_say_which_label_is_the_small_one(lake):
    notes = set()
    for label in ("male", "nonbinary", "nobody"):
        result = lake.sql(f"FROM concept_ratio({G}, word_concepts, label := '{label}', min_count := 10)")
        result.fetchall()
        notes.add(tuple(result.notes))
    assert len(notes) == 1
