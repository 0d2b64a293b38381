"""Masks as the column ``detections.mask`` holds them: what pycocotools writes and reads."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays
from pycocotools import mask as coco

from counterbalance.ingest.coco import read
from counterbalance.udfs.masks import decode, encode

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # pycocotools, numpy 2
DATA = Path(os.environ.get("COUNTERBALANCE_DATA", Path(__file__).parents[3] / "shared" / "data"))


def blob(height, width, seed):
    """A mask with long runs: run lengths of several characters, and longer and shorter ones after each other."""
    draw = np.random.default_rng(seed)
    mask = np.zeros((height, width), bool)
    for _ in range(6):
        top, left = draw.integers(0, height), draw.integers(0, width)
        mask[top : top + draw.integers(1, height), left : left + draw.integers(1, width)] ^= True
    return mask


@given(mask=arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=12)))
def test_small_masks(mask):
    check(mask)


@pytest.mark.parametrize("seed", range(5))
def test_large_masks(seed):
    check(blob(480, 640, seed))


@pytest.mark.parametrize("value", [False, True])
def test_empty_and_full(value):
    check(np.full((300, 200), value))


def check(mask):
    text = encode(mask)
    peer = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
    assert json.loads(text) == {"size": list(mask.shape), "counts": peer["counts"].decode()}
    assert (decode(text, *mask.shape) == mask).all()


def test_run_lengths_as_a_list():
    text = '{"size": [2, 3], "counts": [1, 2, 3]}'
    assert decode(text, 2, 3).astype(int).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_masks_of_the_small_sample():
    """Real ones of COCO: run lengths exactly, polygons to within their edge."""
    if not (DATA / "coco-mini").is_dir():
        pytest.skip(f"no real data at {DATA} (COUNTERBALANCE_DATA)")
    from counterbalance.engine.ingest_types import ReadOptions

    chunks = list(read(str(DATA / "coco-mini"), ReadOptions()).chunks)
    sizes = (
        {r["image_id"]: (r["height"], r["width"]) for c in chunks for r in c.tables.get("images", []).to_pylist()}
        if chunks
        else {}
    )
    shares, runs = [], 0
    for row in (r for c in chunks if "detections" in c.tables for r in c.tables["detections"].to_pylist()):
        if row.get("mask") is None or len(shares) > 300:
            continue
        value, (height, width) = json.loads(row["mask"]), sizes[row["image_id"]]
        found = decode(row["mask"], height, width)
        peer = coco.frPyObjects(value, height, width)
        wanted = coco.decode(coco.merge(peer) if isinstance(peer, list) else peer).astype(bool)
        if isinstance(value, dict):
            runs += 1
            assert (found == wanted).all()
        elif wanted.sum() > 2000:
            shares.append((found & wanted).sum() / (found | wanted).sum())
    assert runs
    assert min(shares) > 0.85
    assert np.mean(shares) > 0.96


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "7",
        '{"size": [2, 3]}',
        '{"size": [2, 3], "counts": "no"}',
        '{"size": [2, 3], "counts": [1, 2]}',
        '{"size": [2, 3], "counts": [8, -2]}',
        '{"size": [2, 3], "counts": [99999999999999999999]}',
        '{"size": [2, 3], "counts": [[1]]}',
        '{"size": [900000, 900000], "counts": [810000000000]}',
        '[["a", 1, 2, 3, 4, 5]]',
        "[[1, 2, 3, 4, 5, 6, 7]]",
        "[1, 2]",
    ],
)
def test_what_is_none_is_refused(text):
    with pytest.raises(ValueError, match="mask"):
        decode(text, 2, 3)
