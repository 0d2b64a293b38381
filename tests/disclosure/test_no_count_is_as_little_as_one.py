"""Of one image nothing is told by audits of two labels, neither that none has a label nor that one does."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pytest
from repeats import again

import counterbalance as cb
from counterbalance.engine.store import tables

G = "image_labels('perceived_gender')"
PAIR = "label := 'female', against := 'male'"
CALLS = {
    "leakage": f"leakage(data := label_concepts('scene', annotator := 'z'), groups := {G}, {PAIR}, seeds := 1)",
    "lic": f"lic(human := captions, generated := told, groups := {G}, {PAIR}, seeds := 1)",
    "spurious_probe": f"spurious_probe(groups := {G}, texts := told, vectors := vectors, {PAIR}, seeds := 1)",
    "ieat": f"ieat(vectors, {G}, {G}, 'female', 'male', 'female', 'male', permutations := 5)",
    "association": f"association(vectors, prompts, {G}, {PAIR})",
    "similarity_bias": f"similarity_bias(vectors, prompts, {G}, {PAIR})",
    "sentiment": f"sentiment({G}, told)",
    "compare_sentiment": f"compare_sentiment(groups := {G}, texts := told, others := caption_gender, other_texts := captions)",
}
"""Each is about one or two images alone, by tables and views that anybody may read."""
WHO = ((1,), (81,), (1, 41), (1, 2), (41,), (1, 81))
"""Whom all is about: one or two images of one label, of another, or that are unclear."""


def made(build, folder, who):
    """40 images of each of two labels, and 10 that are unclear; two images have vectors, a text and a scene."""
    ids = list(range(90))
    values = ["female"] * 40 + ["male"] * 40 + ["unclear"] * 10
    lake = cb.connect(str(folder / f"{'-'.join(map(str, who))}.lake"))
    count, few = len(ids), len(who)
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=["a day"] * count),
            "labels": build.labels(
                label_id=list(range(count + few)), image_id=ids + who,
                attribute=["perceived_gender"] * count + ["scene"] * few, value=values + ["sea"] * few,
                annotator=["m"] * count + ["z"] * few,
            ),
        }
    )  # fmt: skip
    draw, kind = np.random.default_rng(0), pa.list_(pa.float32())
    stored = {
        "told": {"caption_id": list(range(few)), "image_id": who, "text": ["an awful day"] * few},
        "vectors": {"image_id": who, "embedding": pa.array(draw.normal(size=(few, 3)).tolist(), kind)},
        "prompts": {"category": ["x", "y"], "embedding": pa.array(draw.normal(size=(2, 3)).tolist(), kind)},
    }
    for name, columns in stored.items():
        tables.append(lake.location, name, pa.table(columns))
    return lake


@pytest.fixture(scope="module")
def lakes(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    return functools.cache(lambda *who: made(build, folder, [*who]))


@pytest.mark.parametrize("audit", CALLS)
@pytest.mark.parametrize("some", [WHO[:4], *again((WHO,))], ids=len)
def test_whoever_it_is(lakes, audit, some):
    query = f"SELECT * EXCLUDE (params) FROM {CALLS[audit]}"
    answers = {str(lakes(*who).sql(query).fetchall()) for who in some}
    assert len(answers) == 1
