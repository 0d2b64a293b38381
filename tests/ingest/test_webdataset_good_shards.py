"""Good shards give the samples that the webdataset package gives, picture bytes and texts alike."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path

import pytest
from archives import tar_bytes
from image_files import image_bytes
from PIL import Image
from reading import rejects_of, rows_of

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.images import sha256
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest import picture_rows
from counterbalance.ingest.hashing import hash63
from counterbalance.ingest.webdataset import read

DATA = Path(os.environ.get("COUNTERBALANCE_DATA") or Path(__file__).parents[3] / "shared" / "data")


def picture(n, kind="JPEG"):
    return image_bytes(Image.new("RGB", (40 + n, 30), (n, 1, 2)), kind)


def shard(path, members, mode="w"):
    path.write_bytes(tar_bytes(members, mode=mode))


def load(uri, **options):
    source = read(str(uri), ReadOptions(**options))
    chunks = list(source.chunks)
    if source.total_bytes is not None and "limit" not in options:
        assert sum(c.bytes_read for c in chunks) == source.total_bytes
    return rows_of(chunks), rejects_of(chunks), chunks


def package(paths):
    from webdataset.tariterators import group_by_keys, tar_file_iterator

    samples = []
    for path in paths:
        with path.open("rb") as file:
            members = [{**m, "__url__": str(path)} for m in tar_file_iterator(file)]
        samples += group_by_keys(members)
    return [{k: v for k, v in s.items() if k[:2] != "__" or k == "__key__"} for s in samples]


@pytest.fixture
def shards(tmp_path):
    for s in range(3):
        members = []
        for i in range(s * 10, s * 10 + 4):
            key = f"{s:05d}{i:04d}"
            fact = {"caption": f"caption {i}", "similarity": i / 100, "NSFW": "UNLIKELY", "license": "cc", "url": "u"}
            kind = ["JPEG", "PNG", "WEBP", "JPEG"][i % 4]
            members += [
                (f"{key}.{['jpg', 'png', 'webp', 'jpeg'][i % 4]}", picture(i, kind)),
                (f"{key}.txt", f"caption {i}\n".encode()),
                (f"{key}.json", json.dumps(fact).encode()),
                (f"{key}.cls", str(i % 2).encode()),
                (f"{key}.pyd", b"cos\nsystem\n(S'touch pwned'\ntR."),
            ]
        shard(tmp_path / f"{s:05d}.tar", members)
    return tmp_path


def test_equals_the_package(shards):
    tables, rejects, _ = load(shards)
    samples = package(sorted(shards.glob("*.tar")))
    assert not rejects
    assert [i["key"] for i in tables["images"]] == [s["__key__"] for s in samples]
    for row, sample in zip(tables["images"], samples, strict=True):
        (data,) = [v for k, v in sample.items() if k in {"jpg", "png", "webp", "jpeg"}]
        assert row["image"] == data
        assert row["sha256"] == sha256(data)
        with Image.open(io.BytesIO(data)) as opened:
            assert (row["width"], row["height"]) == opened.size
    texts = [s["txt"].decode().removesuffix("\n") for s in samples]
    assert [c["text"] for c in tables["captions"]] == texts
    assert [b["value"] for b in tables["labels"]] == [s["cls"].decode() for s in samples]


def test_columns(shards, hash_columns):
    tables, _, chunks = load(shards / "00000.tar", split="train", origin="generated", annotator="someone")
    key = "000000001"
    image = tables["images"][1]
    assert image.pop("image") == picture(1, "PNG")
    assert image == {
        "image_id": hash63(key),
        "key": key,
        "split": "train",
        "uri": f"{shards}/00000.tar#{key}.png",
        "width": 41,
        "height": 30,
        "license": "cc",
        "nsfw": "UNLIKELY",
        "source": f"{shards}/00000.tar",
        "sha256": sha256(picture(1, "PNG")),
    }
    caption = tables["captions"][1]
    assert caption.pop("similarity") == pytest.approx(0.01)
    ids = hash_columns([key], ["generated"]).to_pylist()
    assert caption == {"caption_id": ids[0], "image_id": hash63(key), "text": "caption 1", "origin": "generated"}
    label = tables["labels"][1]
    assert label == {
        "label_id": hash_columns([hash63(key)], [None], ["class"], ["someone"]).to_pylist()[0],
        "image_id": hash63(key),
        "attribute": "class",
        "value": "1",
        "annotator": "someone",
    }
    assert chunks[0].positions["images"][1] == f"00000.tar:{key}.png"


def test_without_storing_the_rows_are_the_same(shards):
    stored, _, _ = load(shards)
    tables, _, _ = load(shards, store_images=False)
    assert "image" not in tables["images"][0]
    assert tables["images"] == [{k: v for k, v in i.items() if k != "image"} for i in stored["images"]]


@pytest.mark.parametrize("glob", ["", "/*.tar", "/{00000..00002}.tar", "/0000[012].tar"])
def test_ways_to_name_shards(shards, glob):
    tables, _, _ = load(str(shards) + glob)
    assert len(tables["images"]) == 12


@pytest.mark.parametrize("limit", [1, 4, 5, 12, 99])
def test_limit(shards, limit):
    tables, _, chunks = load(shards, limit=limit)
    assert len(tables["images"]) == min(limit, 12)
    assert sum(c.rows_read for c in chunks) == min(limit, 12)


def test_chunks_are_cut_by_bytes(shards, monkeypatch):
    monkeypatch.setattr(picture_rows, "CHUNK_BYTES", 1500)
    whole, _, _ = load(shards)
    _, _, chunks = load(shards)
    assert max(sum(map(len, c.tables["images"]["image"].to_pylist())) for c in chunks if len(c.tables["images"])) < 3000
    assert len(chunks) > 3
    assert len(whole["images"]) == 12


def test_captions_may_come_from_json_alone(tmp_path):
    members = [("a.jpg", picture(1)), ("a.json", b'{"TEXT": "one", "alt": "two", "similarity": "0.5"}')]
    members += [("b.jpg", picture(2)), ("b.json", b'{"alt": ["x", "y"], "similarity": NaN}'.replace(b"NaN", b"null"))]
    shard(tmp_path / "val-0.tar", members)
    tables, rejects, _ = load(tmp_path / "val-0.tar")
    assert not rejects
    assert [(c["text"], c["similarity"]) for c in tables["captions"]] == [("one", 0.5), ("x", None), ("y", None)]
    assert len({c["caption_id"] for c in tables["captions"]}) == 3
    assert {i["split"] for i in tables["images"]} == {"val"}
    tables, _, _ = load(tmp_path / "val-0.tar", mapping={"caption": "alt"})
    assert [c["text"] for c in tables["captions"]] == ["two", "x", "y"]


def test_a_mapping_to_nothing_is_one_error(tmp_path):
    shard(tmp_path / "a.tar", [("a.jpg", picture(1)), ("a.json", b'{"alt": "x"}')])
    with pytest.raises(NotFoundError, match=r"no key 'alts'.*did you mean 'alt'"):
        load(tmp_path / "a.tar", mapping={"caption": "alts"})
    with pytest.raises(RequestError, match="no field 'captoin'"):
        read(str(tmp_path / "a.tar"), ReadOptions(mapping={"captoin": "alt"}))


def test_gzip_and_memory(shards):
    import fsspec

    packed = gzip.compress((shards / "00000.tar").read_bytes())
    fsspec.filesystem("memory").pipe("/wds-test/0.tar.gz", packed)
    tables, rejects, _ = load("memory://wds-test/0.tar.gz")
    assert not rejects
    assert len(tables["images"]) == 4
    assert tables["images"][0]["uri"].startswith("memory:///wds-test/0.tar.gz#")


def test_folders_are_part_of_the_key_and_endings_may_be_capitals(tmp_path):
    shard(
        tmp_path / "a.tar",
        [("./x/1.JPG", picture(1)), ("./x/1.TXT", b"c"), ("y/1.jpg", picture(2)), ("y/1.seg.png", b"mask")],
    )
    tables, rejects, _ = load(tmp_path / "a.tar")
    assert [i["key"] for i in tables["images"]] == ["x/1", "y/1"]
    assert [c["text"] for c in tables["captions"]] == ["c"]
    assert not rejects


def test_real_photographs(tmp_path):
    paths = sorted((DATA / "coco-mini").glob("val2017/*.jpg"))
    if not paths:
        pytest.skip(f"no real data at {DATA}; set COUNTERBALANCE_DATA")
    shard(tmp_path / "0.tar", [(p.name, p.read_bytes()) for p in paths])
    tables, rejects, _ = load(tmp_path / "0.tar")
    assert not rejects
    assert [i["image"] for i in tables["images"]] == [s["jpg"] for s in package([tmp_path / "0.tar"])]


def test_texts_go_with_the_picture_of_their_own_name(tmp_path):
    shard(tmp_path / "1.tar", [("a.v2.jpg", picture(1)), ("a.v2.txt", b"one"), ("a.v2.cls", b"7"), ("a.v3.txt", b"no"),
                               ("b.large.jpg", picture(2)), ("b.txt", b"two"), ("b.large.txt", b"too")])  # fmt: skip
    tables, rejects, _ = load(tmp_path / "1.tar")
    assert rejects == []
    assert [c["text"] for c in tables["captions"]] == ["one", "two", "too"]
    assert [x["value"] for x in tables["labels"]] == ["7"]


def test_members_that_are_not_read_are_told(tmp_path):
    members = [
        ("a.jpg", picture(1)),
        ("a.txt", b"x"),
        ("a.seg.png", picture(2, "PNG")),
        ("a.seg.txt", b"y"),
        ("a.npy", b"z"),
    ]
    shard(tmp_path / "a.tar", members)
    source = read(str(tmp_path / "a.tar"), ReadOptions(keep=["mood"]))
    list(source.chunks)
    assert source.notes == [
        "left out: members .seg.png of 1, .seg.txt of 1, .npy of 1 samples, beside what is read",
        "no sample has 'mood', which was asked for",
    ]
