"""img2dataset's folders: the sidecar fills in what the shard leaves open, and is held against it."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from archives import tar_bytes
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest import sidecar
from counterbalance.ingest.webdataset import read


def picture():
    return image_bytes(Image.new("RGB", (40, 30)), "JPEG")


@pytest.fixture
def folder(tmp_path):
    """Five downloads, of which one failed; the shard holds what succeeded."""
    keys = [f"00000000{i}" for i in range(5)]
    status = ["success", "failed_to_download", "success", "success", "success"]
    table = {
        "url": [f"http://h/{k}" for k in keys],
        "caption": [f"from the sidecar {k}" for k in keys],
        "key": keys,
        "status": status,
        "error_message": [None] * 5,
        "width": [1] * 5,
        "height": [1] * 5,
        "similarity": [0.1, 0.2, float("nan"), 0.4, 0.5],
        "NSFW": ["NSFW"] * 5,
    }
    pq.write_table(pa.table(table), tmp_path / "00000.parquet")
    (tmp_path / "00000_stats.json").write_text(json.dumps({"count": 5, "successes": 4}))

    def write(members):
        (tmp_path / "00000.tar").write_bytes(tar_bytes(members))
        return tmp_path

    return write


def load(folder, **options):
    chunks = list(read(str(folder), ReadOptions(**options)).chunks)
    (chunk,) = [c for c in chunks if c.rows_read]
    return chunk


def shots(*numbers):
    return [(f"00000000{i}.jpg", picture()) for i in numbers]


def test_the_sidecar_gives_captions_similarity_and_label(folder):
    chunk = load(folder(shots(0, 2, 3, 4)))
    assert not chunk.rejects
    assert chunk.rows_read == 4
    images = chunk.tables["images"].to_pylist()
    assert [(i["key"], i["width"], i["nsfw"]) for i in images] == [(f"00000000{k}", 40, "NSFW") for k in (0, 2, 3, 4)]
    captions = chunk.tables["captions"].to_pylist()
    assert [c["text"] for c in captions] == [f"from the sidecar 00000000{k}" for k in (0, 2, 3, 4)]
    assert [c["similarity"] for c in captions] == [pytest.approx(0.1), None, pytest.approx(0.4), 0.5]


def test_what_the_sample_says_itself_comes_first(folder):
    own = [("000000000.txt", b"own text"), ("000000000.json", b'{"similarity": 0.9}')]
    chunk = load(folder(shots(0) + own + shots(2, 3, 4)))
    caption = chunk.tables["captions"].to_pylist()[0]
    assert caption["text"] == "own text"
    assert caption["similarity"] == pytest.approx(0.9)


def test_a_success_that_the_shard_lacks_is_refused(folder):
    chunk = load(folder(shots(0, 4)))
    assert [(r.position, r.code) for r in chunk.rejects] == [
        ("00000.tar:000000002", "missing_sample"),
        ("00000.tar:000000003", "missing_sample"),
    ]
    assert not load(folder(shots(0, 4)), limit=1).rejects


def test_mapping_reaches_the_sidecar(folder):
    chunk = load(folder(shots(0, 2, 3, 4)), mapping={"caption": "url"})
    assert chunk.tables["captions"]["text"][0].as_py() == "http://h/000000000"


def test_the_count_alone_is_held_against_the_shard(folder):
    path = folder(shots(0, 2, 3))
    (path / "00000.parquet").unlink()
    chunk = load(path)
    assert [(r.position, r.code) for r in chunk.rejects] == [("00000.tar:00000_stats.json", "count_mismatch")]
    assert "captions" not in chunk.tables
    assert not load(folder(shots(0, 2, 3, 4))).rejects


@pytest.mark.parametrize("damage", ["truncated", "html", "no key"])
def test_a_broken_sidecar_is_refused_and_the_shard_is_read(folder, damage):
    path = folder(shots(0, 2, 3, 4))
    beside = path / "00000.parquet"
    if damage == "truncated":
        beside.write_bytes(beside.read_bytes()[:-100])
    elif damage == "html":
        beside.write_bytes(b"<html>")
    else:
        pq.write_table(pa.table({"caption": ["x"]}), beside)
    chunk = load(path)
    assert [(r.position, r.code) for r in chunk.rejects] == [("00000.tar:00000.parquet", "bad_sidecar")]
    assert len(chunk.tables["images"]) == 4


def test_counts_that_are_no_json_are_refused(folder):
    path = folder(shots(0))
    (path / "00000.parquet").unlink()
    (path / "00000_stats.json").write_text("{nope")
    assert [r.code for r in load(path).rejects] == ["bad_sidecar"]


def test_a_sidecar_of_too_much_text_is_refused(folder, monkeypatch):
    monkeypatch.setattr(sidecar, "_LARGEST", 50)
    assert "bad_sidecar" in [r.code for r in load(folder(shots(0, 2, 3, 4))).rejects]
