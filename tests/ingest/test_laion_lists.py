"""LAION's lists become images and captions, in every layout they are published in."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import tables_of

from counterbalance.engine.errors import NotFoundError, SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.ingest.hashing import hash63, key_id
from counterbalance.ingest.laion import read

HEAD = "SAMPLE_ID,URL,TEXT,HEIGHT,WIDTH,LICENSE,NSFW,similarity\n"


def load(uri, **options):
    source = read(str(uri), ReadOptions(**options))
    chunks = list(source.chunks)
    if source.total_bytes is not None and "limit" not in options:
        assert sum(c.bytes_read for c in chunks) == source.total_bytes
    tables = tables_of(chunks)
    for name, table in tables.items():
        assert table[BASE_TABLES[name].key].null_count == 0
        table.validate(full=True)
    return tables["images"].to_pylist(), tables["captions"].to_pylist(), chunks


def test_csv_with_keys_of_its_own(tmp_path, hash_columns):
    path = tmp_path / "part-00001.csv"
    path.write_text(
        HEAD + '12,http://h/a.jpg,"A cat, asleep",480,640,?,UNLIKELY,0.31\nk7,http://h/b.jpg,B,1,2,cc,NSFW,\n'
    )
    images, captions, (chunk,) = load(path)
    assert images == [
        {"image_id": 12, "key": "12", "uri": "http://h/a.jpg", "width": 640, "height": 480, "license": "?"}
        | {"nsfw": "UNLIKELY", "source": str(path)},
        {"image_id": hash63("k7"), "key": "k7", "uri": "http://h/b.jpg", "width": 2, "height": 1, "license": "cc"}
        | {"nsfw": "NSFW", "source": str(path)},
    ]
    ids = hash_columns(["12", "k7"], ["alt_text"] * 2).to_pylist()
    assert [c["caption_id"] for c in captions] == ids
    assert [(c["image_id"], c["text"], c["origin"]) for c in captions] == [
        (12, "A cat, asleep", "alt_text"),
        (hash63("k7"), "B", "alt_text"),
    ]
    assert captions[0]["similarity"] == pytest.approx(0.31)
    assert captions[1]["similarity"] is None
    assert list(chunk.positions["captions"]) == ["line 2", "line 3"]
    assert chunk.rows_read == 2
    assert not chunk.rejects


def test_parquet_keyed_by_url_keeps_every_caption_of_a_url(tmp_path, hash_columns):
    path = tmp_path / "a.parquet"
    url = ["http://h/1", "http://h/2", "http://h/1", "http://h/1"]
    pq.write_table(pa.table({"url": url, "top_caption": ["a", "b", "c", "a"]}), path)
    images, captions, (chunk,) = load(path)
    assert [i["uri"] for i in images] == ["http://h/1", "http://h/2"]
    assert [i["image_id"] for i in images] == [key_id(u) for u in url[:2]]
    assert [c["text"] for c in captions] == ["a", "b", "c"]
    assert [c["caption_id"] for c in captions] == hash_columns(url[:3], ["alt_text"] * 3, ["a", "b", "c"]).to_pylist()
    assert list(chunk.positions["captions"]) == ["row 1", "row 2", "row 3"]
    assert chunk.rows_read == 4
    assert not chunk.rejects


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string(), pa.binary(), pa.large_string(), pa.int32()])
def test_a_key_is_the_same_in_any_type(tmp_path, kind):
    keys = pa.array([7, 8]).cast(kind) if not pa.types.is_binary(kind) else pa.array([b"7", b"8"])
    pq.write_table(pa.table({"key": keys, "caption": ["a", "b"]}), tmp_path / "a.parquet")
    images, _, _ = load(tmp_path / "a.parquet")
    assert [(i["image_id"], i["key"]) for i in images] == [(7, "7"), (8, "8")]


def test_a_hash_below_zero_is_a_text(tmp_path):
    pq.write_table(pa.table({"hash": [-5], "caption": ["a"], "url": ["u"]}), tmp_path / "a.parquet")
    images, _, _ = load(tmp_path / "a.parquet")
    assert images[0]["image_id"] == hash63("-5")


def test_options(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("url,alt,text,split\nu1,right,wrong,\nu2,also,wrong,test\n")
    images, captions, _ = load(path, mapping={"caption": "alt"}, origin="generated", split="dev", limit=1)
    assert [c["text"] for c in captions] == ["right"]
    assert captions[0]["origin"] == "generated"
    assert images[0]["split"] == "dev"
    images, _, _ = load(path)
    assert [i["split"] for i in images] == [None, "test"]


def test_the_split_is_told_by_the_file_name(tmp_path):
    for name in ("cc12m-train-0001.csv", "val.csv"):
        (tmp_path / name).write_text(f"url,caption\nhttp://h/{name},c\n")
    images, _, chunks = load(tmp_path)
    assert [i["split"] for i in images] == ["train", "val"]
    assert {i["source"] for i in images} == {str(tmp_path)}
    assert [c.source for c in chunks] == [str(tmp_path / "cc12m-train-0001.csv"), str(tmp_path / "val.csv")]


@pytest.mark.parametrize(
    ("head", "said"),
    [("url,width\n", "no caption column"), ("caption,width\n", "no url column"), ("a\tb\n", "no caption column")],
)
def test_a_file_without_its_columns_is_one_error(tmp_path, head, said):
    (tmp_path / "good.csv").write_text("url,caption\nu,c\n")
    (tmp_path / "late.csv").write_text(head + "1,2\n")
    with pytest.raises(SourceError, match=said):  # before the first row of the good file
        read(str(tmp_path), ReadOptions())


def test_an_unknown_column_in_the_mapping_is_one_error(tmp_path):
    (tmp_path / "a.csv").write_text("url,caption\nu,c\n")
    with pytest.raises(NotFoundError, match="did you mean 'caption'"):
        read(str(tmp_path / "a.csv"), ReadOptions(mapping={"caption": "captions"}))


def test_a_list_in_memory():
    import fsspec

    fsspec.filesystem("memory").pipe("/laion-test/a.jsonl", b'{"url": "u", "caption": "c", "width": 3}\n')
    images, captions, _ = load("memory://laion-test/*.jsonl")
    assert images[0]["width"] == 3
    assert captions[0]["text"] == "c"
