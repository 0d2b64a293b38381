"""COCO files are read from any fsspec file system, several of one split as one source."""

from __future__ import annotations

import io
import json

import fsspec

from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.coco import read

IMAGE = {"id": 7, "file_name": "a.jpg", "width": 640, "height": 480}
BOX = {"id": 5, "image_id": 7, "category_id": 1, "bbox": [1, 2, 30, 40]}
CATEGORIES = [{"id": 1, "name": "person"}]
FILES = {
    "captions_val.json": {"images": [IMAGE], "annotations": [{"id": 1, "image_id": 7, "caption": "x"}]},
    "instances_val.json": {"images": [IMAGE], "annotations": [BOX], "categories": CATEGORIES},
    "person_keypoints_val.json": {
        "images": [IMAGE],
        "annotations": [{**BOX, "keypoints": [1, 2, 2]}],
        "categories": CATEGORIES,
    },
}


class OneWay(io.BytesIO):
    def seekable(self):
        return False

    def seek(self, *_):
        raise OSError(29, "Illegal seek")


def summary(source):
    return [
        (c.source.rsplit("/", 1)[1], {n: t.num_rows for n, t in c.tables.items()}, c.rows_read, list(c.rejects))
        for c in source.chunks
    ]


EXPECTED = [
    ("captions_val.json", {"images": 1, "captions": 1}, 2, []),
    ("instances_val.json", {"images": 1, "detections": 1}, 2, []),
    ("person_keypoints_val.json", {"images": 1, "detections": 1}, 2, []),
]


def test_memory():
    fs = fsspec.filesystem("memory")
    fs.pipe({f"/cocofs/annotations/{n}": json.dumps(d).encode() for n, d in FILES.items()})
    source = read("memory://cocofs", ReadOptions())
    assert source.files == [f"memory:///cocofs/annotations/{n}" for n in FILES]
    assert source.total_bytes == sum(len(json.dumps(d)) for d in FILES.values())
    assert summary(source) == EXPECTED
    assert summary(read("memory://cocofs/annotations/{captions,instances}_val.json", ReadOptions())) == EXPECTED[:2]


def test_local_lists_and_brace_ranges(tmp_path):
    for name, document in FILES.items():
        (tmp_path / name).write_text(json.dumps(document))
    parts = ",".join(str(tmp_path / n) for n in FILES)
    assert summary(read(parts, ReadOptions())) == EXPECTED
    assert summary(read(f"file://{tmp_path}/*_val.json", ReadOptions())) == EXPECTED
    for i in range(3):
        (tmp_path / f"part-{i:02d}.json").write_text(json.dumps(FILES["captions_val.json"]))
    assert len(summary(read(f"{tmp_path}/part-{{00..02}}.json", ReadOptions(split="val")))) == 3


def test_file_names_do_not_decide_what_is_in_a_file(tmp_path):
    (tmp_path / "captions_val.json").write_text(json.dumps(FILES["person_keypoints_val.json"]))
    ((_, tables, _, _),) = summary(read(str(tmp_path), ReadOptions()))
    assert tables == {"images": 1, "detections": 1}


def test_a_file_system_that_cannot_seek(tmp_path, monkeypatch):
    """A web server without ranges: no look at the end, the categories by a second reading."""
    from counterbalance.ingest.files import File

    plain = File.open

    def no_seek(self):
        return OneWay(plain(self).read())

    fs = fsspec.filesystem("memory")
    fs.pipe({f"/cocons/{n}": json.dumps(d).encode() for n, d in FILES.items()})
    monkeypatch.setattr(File, "open", no_seek)
    assert summary(read("memory://cocons/", ReadOptions())) == EXPECTED


def test_a_large_file_in_memory_is_read_twice_at_once():
    images = [{"id": i, "file_name": f"{i}.jpg"} for i in range(5000)]
    boxes = [{**BOX, "id": i, "image_id": i} for i in range(5000)]
    document = {"annotations": boxes, "categories": CATEGORIES, "images": images}
    fsspec.filesystem("memory").pipe({"/cocobig/x.json": json.dumps(document).encode()})
    (chunk,) = read("memory://cocobig/x.json", ReadOptions(), window=10_000).chunks
    assert chunk.tables["images"]["image_id"].to_pylist() == list(range(5000))
    assert chunk.tables["detections"]["detection_id"].to_pylist() == list(range(5000))
