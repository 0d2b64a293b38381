"""Audits that count captions, or activations of features, hide what few images hold, however many each of them has."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.store import tables


@pytest.mark.parametrize(("images", "told"), [(1, False), (9, False), (12, True)])
@pytest.mark.parametrize("few", ["a woman", "a man", "a dog"])
def test_captions_of_one_kind(build, few, images, told):
    """36 captions of so many images say one thing, and those of 30 images each of the two others."""
    others = [text for text in ("a woman", "a man", "a dog") if text != few]
    texts = [(i % images, few) for i in range(36)] + [(100 + i, others[i % 2]) for i in range(60)]
    lake = cb.connect(f"memory://kinds-{os.getpid()}-{few.partition(' ')[2]}-{images}")
    lake.ingest(
        {
            "images": build.images(image_id=sorted({i for i, _ in texts})),
            "captions": build.captions(
                caption_id=list(range(96)), image_id=[i for i, _ in texts], text=[t for _, t in texts],
                origin=["generated"] * 96,
            ),
        }
    )  # fmt: skip
    ((value, male, female),) = lake.sql("SELECT value, male, female FROM ratio()").fetchall()
    wanted = {t: 36 if t == few else 30 for t in ("a man", "a woman")}
    assert (male, female) == ((wanted["a man"], wanted["a woman"]) if told else (None, None))
    assert (value is not None) == told


@pytest.fixture(scope="module")
def topics(build, tmp_path_factory):
    """Two labels of 50 images; 'rare' is active 15 times in one image of each, 'frequent' in all, 'usual' in nearly all."""
    ids = list(range(100))
    lake = cb.connect(str(tmp_path_factory.mktemp("topics") / "a.lake"))
    labels = ["female" if i < 50 else "male" for i in ids]
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 100, value=labels),
        }
    )
    active = [(0, 0)] * 15 + [(60, 0)] * 15 + [(i, 1) for i in ids] + [(i, 2) for i in ids if i not in {3, 70}]
    stored = {
        "features": {"image_id": [i for i, _ in active], "sae": [0] * len(active), "feature": [f for _, f in active]},
        "shares": {
            "step": [1] * 3,
            "sae": [0] * 3,
            "feature": [0, 1, 2],
            "cluster": ["a", "b", "c"],
            "share": [1.0] * 3,
        },
        "clusters": {"step": [1] * 3, "cluster": ["a", "b", "c"], "topic": ["rare", "frequent", "usual"]},
    }
    for name, columns in stored.items():
        tables.append(lake.location, name, pa.table(columns))
    return lake


def test_topics_need_a_purpose(topics):
    """A score divides by a sum over all features: one that is shown is an equation for a topic that is hidden."""
    with pytest.raises(SensitiveError) as caught:
        topics.sql("FROM topic_pmi(features, shares, clusters, image_labels('perceived_gender'))").fetchall()
    assert caught.value.code == "E3329"


def test_with_a_purpose_all_topics_are_told(topics):
    with topics.session(sensitive="a test of the wall") as session:
        call = "topic_pmi(features, shares, clusters, image_labels('perceived_gender'), min_count := 0)"
        rows = session.sql(f"SELECT DISTINCT topic, count FROM {call}").fetchall()
    assert sorted(rows) == [("frequent", 50.0), ("rare", 15.0), ("usual", 49.0)]
