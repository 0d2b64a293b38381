"""Audits of models, retrieval and edits give the same rows, whichever and however few images carry the rarest perceived label."""

from __future__ import annotations

import functools
import os

import numpy as np
import pyarrow as pa
import pytest
from repeats import chosen

import counterbalance as cb
from counterbalance.engine.store import tables

pytestmark = pytest.mark.slow

IMAGES = 100
GROUPS = "groups := image_labels('perceived_gender')"
OF_TWO = [
    f"{audit}, label := '{label}')"
    for label in ("rare", "female")
    for audit in (
        f"association(vectors, prompts, {GROUPS}",
        f"similarity_bias(vectors, prompts, {GROUPS}",
        f"leakage({GROUPS}, data := label_concepts('thing'), seeds := 1",
        f"lic({GROUPS}, seeds := 1",
        f"spurious_probe({GROUPS}, vectors := vectors, seeds := 1",
    )
]
CALLS = [
    *OF_TWO,
    f"casc(vectors, prompts, {GROUPS})",
    f"casc(vectors, prompts, {GROUPS}, others := 'all')",
    f"self_similarity(vectors, {GROUPS})",
    "ieat(vectors, image_labels('scene'), image_labels('perceived_gender'), 'sea', 'city', x := 'rare', y := 'male')",
    "ieat(vectors, image_labels('scene'), image_labels('perceived_gender'), 'sea', 'city', x := 'female', y := 'male')",
    f"harmful_zero_shot(seen, {GROUPS})",
    f"artifact_shift(edits, vectors, {GROUPS}, seeds := 1)",
    f"retrieval_bias({GROUPS}, positive := 'rare', negative := 'male')",
    f"retrieval_bias({GROUPS}, positive := 'male', negative := 'female')",
    f"retrieval_bias_models(['embedding'], asked, ranked, {GROUPS}, positive := 'rare', negative := 'male')",
]


ASKED = [call for call in CALLS if not (call in OF_TWO[6:] or "'male', negative" in call or "x := 'female'" in call)]
"""One of each kind: what is not told of the label of few is told of the label beside it neither, as the first of ``OF_TWO`` shows."""


def filled(build, location, rare):
    """A lake in which the images ``rare`` carry a label of their own, and every second of the others female."""
    draw = np.random.default_rng(0)
    ids = list(range(IMAGES))
    labels = ["rare" if i in rare else ("male", "female")[i % 5 % 2] for i in ids]
    values = labels + [("sea", "city")[i % 3 % 2] for i in ids] + [("tie", "scarf", "dog")[i % 3] for i in ids]
    attributes = [a for a in ("perceived_gender", "scene", "thing") for _ in ids]
    texts = [
        f"a {draw.choice(['dog', 'cat', 'red car'])} by a {draw.choice(['tree', 'lake', 'house'])}" for _ in ids * 2
    ]
    lake = cb.connect(location)
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(
                caption_id=list(range(2 * IMAGES)), image_id=ids * 2, text=texts, origin=["human"] * IMAGES + ["generated"] * IMAGES
            ),
            "labels": build.labels(
                label_id=list(range(3 * IMAGES)), image_id=ids * 3, attribute=attributes, value=values, annotator=["m"] * 3 * IMAGES
            ),
        }
    )  # fmt: skip
    flat = draw.normal(size=(IMAGES, 4)).astype(np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat.reshape(-1)), 4)
    tables.append(lake.location, "vectors", pa.table({"image_id": ids, "embedding": vectors}))
    tables.append(lake.location, "prompts", pa.table({"category": ["x", "y"], "embedding": vectors.slice(0, 2)}))
    for key, name in (("query_id", "asked"), ("item_id", "ranked")):
        tables.append(lake.location, name, pa.table({key: ids, "image_id": ids, "embedding": vectors}))
    edited = pa.table({"image_id": ids, "label": ["female", "male"] * (IMAGES // 2), "embedding": vectors})
    tables.append(lake.location, "edits", edited)
    seen = pa.table({"image_id": ids, "predicted": [("thief", "animal", "a man")[i % 3] for i in ids]})
    tables.append(lake.location, "seen", seen)
    return lake


@pytest.fixture(scope="module")
def lakes(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"rare-{os.getpid()}")
    return [filled(build, folder / f"{len(rare)}.lake", rare) for rare in ({1, 3, 6}, {8, 11, 13, 16, 18})]


@pytest.fixture(scope="module")
def rows(lakes):
    """Rows of a call over one of the lakes."""
    return functools.cache(lambda place, call: lakes[place].sql(f"FROM {call}").to_arrow().to_pylist())


@pytest.mark.cases(5)
@pytest.mark.parametrize("call", chosen(CALLS, *ASKED))
def test_the_same_rows(rows, call):
    one, other = ([{k: v for k, v in row.items() if k != "reason"} for row in rows(place, call)] for place in range(2))
    assert one or call.startswith(("association", "harmful_zero_shot", "similarity_bias"))  # all of it is hidden
    assert one == other


@pytest.mark.parametrize("call", chosen(OF_TWO, *OF_TWO[:6]))
def test_nothing_is_shown_of_two_labels_that_would_tell(rows, call):
    for row in rows(0, call):
        keys = {"category", "metric", "features", "definition", "side", "suppressed", "reason", "params"}
        assert not {k for k, v in row.items() if v is not None} - keys
        assert row["reason"] == "confidential"
