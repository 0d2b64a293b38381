"""A vector that cannot be compared is an error, whether its image has a label or not: an error of some only would tell whose."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.store import tables

G = "image_labels('perceived_gender')"
CALLS = {
    "association": f"association(vectors, prompts, {G}, label := 'female', against := 'male')",
    "casc": f"casc(vectors, prompts, {G})",
    "ieat": f"ieat(vectors, {G}, {G}, 'female', 'male', 'female', 'male', permutations := 5)",
    "markedness": f"markedness(vectors, prompts, {G}, unmarked := 'x')",
    "self_similarity": f"self_similarity(vectors, {G})",
    "so_b_it": f"so_b_it(vectors, prompts, {G})",
    "spurious_probe": f"spurious_probe({G}, vectors := vectors, seeds := 1)",
}


def made(build, folder, odd, what):
    """40 images of each of two labels, 10 that are unclear and 10 without any; the vector of one is odd."""
    ids = list(range(100))
    values = [("female", "male")[i % 2] if i < 80 else "unclear" for i in ids[:90]]
    lake = cb.connect(str(folder / f"{odd}.lake"))
    labels = build.labels(label_id=ids[:90], image_id=ids[:90], attribute=["perceived_gender"] * 90, value=values)
    captions = build.captions(caption_id=ids, image_id=ids, text=["a dog"] * 100)
    lake.ingest({"images": build.images(image_id=ids), "captions": captions, "labels": labels})
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(100, 3)).tolist()
    vectors[odd] = {"nan": [float("nan")] * 3, "zeros": [0.0] * 3, "longer": [1.0] * 4}[what]
    kind = pa.list_(pa.float32())
    tables.append(lake.location, "vectors", pa.table({"image_id": ids, "embedding": pa.array(vectors, kind)}))
    prompts = pa.array(draw.normal(size=(2, 3)).tolist(), kind)
    tables.append(lake.location, "prompts", pa.table({"category": ["x", "y"], "embedding": prompts}))
    return lake


def said(lake, call):
    try:
        lake.sql(f"FROM {call}").fetchall()
    except CounterbalanceError as error:
        return error.code, error.message
    return None


@pytest.mark.cases(2)
@pytest.mark.parametrize("what", ["nan", "zeros", "longer"])
def test_it_is_the_same_error_whoever_has_it(build, tmp_path, what):
    female, unclear, none = (made(build, tmp_path, odd, what) for odd in (5, 85, 95))
    for audit, call in CALLS.items():
        first = said(female, call)
        assert first is not None, audit
        assert said(unclear, call) == said(none, call) == first, audit
    assert said(female, CALLS["ieat"])[0] == "E3327"
