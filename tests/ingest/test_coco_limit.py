"""--limit takes the first images of a source and what belongs to them, over all its files."""

from __future__ import annotations

import json

import pytest

from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.coco import read


def write(path, ids, captions=True):
    images = [{"id": i, "file_name": f"{i}.jpg"} for i in ids]
    notes = [{"id": 10 * n + k, "image_id": i, "caption": "x"} for n, i in enumerate(reversed(ids)) for k in range(2)]
    path.write_text(json.dumps({"images": images, "annotations": notes if captions else []}))


def load(uri, limit, window=1 << 20):
    images, captions = [], []
    for chunk in read(str(uri), ReadOptions(limit=limit), window=window).chunks:
        images += chunk.tables["images"]["image_id"].to_pylist() if "images" in chunk.tables else []
        captions += chunk.tables["captions"]["image_id"].to_pylist() if "captions" in chunk.tables else []
        assert not chunk.rejects
    return images, captions


@pytest.mark.parametrize("window", [1, 100, 1 << 20])
@pytest.mark.parametrize("limit", [0, 1, 3, 7, 8])
def test_one_file(tmp_path, limit, window):
    write(tmp_path / "a.json", [5, "b", 9, 2, "é", 1, 3])
    images, captions = load(tmp_path / "a.json", limit, window)
    all_images, all_captions = load(tmp_path / "a.json", None)
    assert images == all_images[:limit]
    assert captions == [i for i in all_captions if i in images]
    assert len(captions) == 2 * min(limit, 7)


def test_several_files_share_the_limit(tmp_path):
    write(tmp_path / "captions_val.json", [5, 7, 9, 2], captions=False)
    write(tmp_path / "more_val.json", [2, 9, 7, 5, 1])
    images, captions = load(tmp_path, 2)
    assert images == [5, 7, 7, 5]
    assert set(captions) == {5, 7}
    images, captions = load(tmp_path, 5)
    assert images == [5, 7, 9, 2, 2, 9, 7, 5, 1]
    assert set(captions) == {5, 7, 9, 2, 1}


def test_rejected_items_beyond_the_limit_are_not_reported(tmp_path):
    images = [{"id": 1}, {"id": 2}, {"id": True}, {"id": 3, "width": -1}]
    notes = [
        {"id": 1, "image_id": 1, "caption": "x"},
        {"id": 2, "image_id": 9, "caption": 5},
        {"id": 3, "image_id": []},
    ]
    (tmp_path / "a.json").write_text(json.dumps({"images": images, "annotations": notes}))
    (chunk,) = read(str(tmp_path / "a.json"), ReadOptions(limit=2)).chunks
    assert not chunk.rejects
    assert chunk.rows_read == 3
