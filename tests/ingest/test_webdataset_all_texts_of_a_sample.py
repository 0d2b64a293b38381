"""All texts of a sample are its captions, each once, unless one is asked for; what is not read of it is told."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from archives import tar_bytes
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.errors import NotFoundError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.webdataset import read

FACTS = {"caption": "a", "captions": ["b", "c ", "b"], "blip": "d", "title": "IMG_1", "url": "http://h", "tags": ["x"]}
TEXTS = {"alt.txt": b"e", "txt": b"a", "txt1": b"f", "txt10": b"h", "txt2": b"g", "text": b"i", "caption": b"c"}


@pytest.fixture
def taken(tmp_path):
    """Write one sample and return the texts of its captions, its labels and the notes."""

    def load(members, **options):
        sample = {"jpg": image_bytes(Image.new("RGB", (8, 6)), "JPEG"), **members}
        (tmp_path / "0.tar").write_bytes(tar_bytes((f"k.{ending}", data) for ending, data in sample.items()))
        source = read(str(tmp_path / "0.tar"), ReadOptions(**options))
        (chunk,) = source.chunks
        assert not chunk.rejects
        found = chunk.tables.get("captions"), chunk.tables.get("labels")
        texts, labels = (table.to_pylist() if table else [] for table in found)
        assert len({t["caption_id"] for t in texts}) == len(texts)
        return [t["text"] for t in texts], [(x["attribute"], x["value"]) for x in labels], source.notes

    return load


def sample(**facts):
    return {"json": json.dumps(facts).encode()}


def test_members_and_lists_are_captions_each_once(taken):
    texts, _, notes = taken(TEXTS | sample(**FACTS))
    assert texts == ["a", "i", "c", "f", "g", "h", "e", "b"]
    assert notes == [
        "left out: blip, title, url; --keep blip stores one as labels",
        "left out: tags, of lists or objects; --keep tags stores them as JSON",
    ]


def test_a_similarity_is_of_the_first(tmp_path, taken):
    taken({"txt": b"a"} | sample(caption="b", similarity=0.5))
    (chunk,) = read(str(tmp_path / "0.tar"), ReadOptions()).chunks
    assert chunk.tables["captions"]["similarity"].to_pylist() == [0.5, None]


def test_a_key_that_is_asked_for_is_the_only_one(taken):
    texts, _, notes = taken({"txt": b"a"} | sample(**FACTS), mapping={"caption": "blip"})
    assert texts == ["d"]
    assert notes[0] == "left out: members .txt of 1 samples, beside what is read"
    assert notes[1].startswith("left out: caption, title, url;")
    assert notes[2] == "left out: captions, tags, of lists or objects; --keep captions stores those of one as JSON"


def test_a_text_that_is_asked_for_is_the_only_one(taken):
    texts, _, notes = taken(TEXTS | sample(url="http://h"), mapping={"caption": ".alt.txt"})
    assert texts == ["e"]
    assert notes[0].startswith("left out: members .txt of 1, .txt1 of 1,")


def test_a_sidecar_says_no_other_than_what_is_asked_for(tmp_path, taken):
    pq.write_table(pa.table({"key": ["k"], "caption": ["of the sidecar"]}), tmp_path / "0.parquet")
    assert taken(sample(url="http://h"))[0] == ["of the sidecar"]
    assert taken(sample(blip="d"), mapping={"caption": "blip"})[0] == ["d"]
    assert taken(sample(blip=None), mapping={"caption": "blip"})[0] == []


def test_keys_that_are_kept_are_labels(taken):
    _, labels, notes = taken(
        {"cls": b"3"} | sample(Url="http://h", tags=["x"], width=9), keep=["url", "tags"], annotator="eve"
    )
    assert labels == [("Url", "http://h"), ("tags", '["x"]'), ("class", "3")]
    assert notes == []


def test_a_key_that_no_sample_has(taken):
    with pytest.raises(NotFoundError, match="no key 'hue' in the JSON of the first sample"):
        taken(sample(url="http://h"), keep="hue")
    assert taken({"txt": b"a"}, mapping={"caption": "blip"})[2][-1] == "no sample has 'blip', which was asked for"


@pytest.mark.parametrize(
    ("options", "split"), [({}, "hold out"), ({"split": "val"}, "val"), ({"mapping": {"split": "part"}}, "b")]
)
def test_the_json_says_the_split(tmp_path, taken, options, split):
    """As an export of a lake writes it; what is asked for goes before."""
    taken(sample(caption="a", split="hold out", part="b"))
    (chunk,) = read(str(tmp_path / "0.tar"), ReadOptions(**options)).chunks
    assert chunk.tables["images"]["split"].to_pylist() == [split]
