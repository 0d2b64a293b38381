"""``export --to imagefolder``: an ingest of the folder gives an equal lake."""

from __future__ import annotations

import json

import pytest
from PIL import Image

import counterbalance as cb

SQL = (
    "SELECT i.key, i.image, c.captions, l.value AS scene FROM images i "
    "LEFT JOIN (SELECT image_id, list(text ORDER BY caption_id) AS captions FROM captions GROUP BY image_id) c USING (image_id) "
    "LEFT JOIN (SELECT image_id, value FROM labels WHERE attribute = 'scene') l USING (image_id)"
)
EQUAL = (
    "SELECT image_id, key, split, width, height, sha256 FROM images ORDER BY 1",
    "SELECT image_id, text, origin FROM captions ORDER BY ALL",
    "SELECT label_id, image_id, attribute, value, annotator FROM labels ORDER BY 1",
)


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "source"
    lines = [
        {"file_name": "train/cats/1.png", "text": ["a cat", "=a black cat"], "scene": "kitchen"},
        {"file_name": "train/2.JPEG", "text": ["zwei Hunde"], "scene": None},
        {"file_name": "val/3.png", "text": ["a bird"], "scene": "garden"},
    ]
    for i, line in enumerate(lines):
        path = folder / line["file_name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (9 + i, 7), (60 * i, 5, 5)).save(path)
    (folder / "metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    lake = cb.connect("memory://test-imagefolder")
    assert lake.ingest(str(folder), format="imagefolder", store_images=True).rejected == 0
    return lake


def test_it_is_ingested_again_as_it_was(lake, tmp_path):
    done = lake.export(SQL, tmp_path / "out", "imagefolder")
    assert (done.rows, done.shards) == (3, 1)
    again = cb.connect("memory://test-imagefolder-again")
    assert again.ingest(str(tmp_path / "out"), format="imagefolder", store_images=True).rejected == 0
    for sql in EQUAL:
        assert again.sql(sql).fetchall() == lake.sql(sql).fetchall()
    for path in ("train/cats/1.png", "train/2.JPEG", "val/3.png"):
        assert (tmp_path / "out" / path).read_bytes() == (tmp_path / "source" / path).read_bytes()


def test_shards_are_folders_with_metadata_of_their_own(lake, tmp_path):
    lake.export(SQL, tmp_path / "out", "imagefolder", shard_size=2)
    for name, count in (("shard-00000", 2), ("shard-00001", 1)):
        lines = [json.loads(x) for x in (tmp_path / "out" / name / "metadata.jsonl").read_text().splitlines()]
        assert len(lines) == count
        assert all((tmp_path / "out" / name / line["file_name"]).is_file() for line in lines)
