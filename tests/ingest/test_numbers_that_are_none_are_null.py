"""``NaN`` and ``Infinity``, which Python's ``json`` writes, are null in JSON lines and in the JSON of a sample."""

from __future__ import annotations

import json

import pytest
from archives import tar_bytes
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.ingest.jsonlines import parsed

ROWS = [
    {"image": "a.jpg", "caption": 'a "NaN" man', "score": float("nan"), "more": [float("-inf"), 1]},
    {"image": "b.jpg", "caption": "a woman", "score": 2},
]


@pytest.fixture
def lake():
    return cb.connect("memory://numbers-that-are-none")


def test_lines(lake, tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert lake.ingest(str(tmp_path / "a.jsonl"), keep=["score", "more"]).rejected == 0
    found = lake.sql("SELECT text, attribute, value FROM captions LEFT JOIN labels USING (image_id) ORDER BY ALL")
    assert found.fetchall() == [('a "NaN" man', "more", "[null,1]"), ("a woman", "score", "2")]


def test_samples(tmp_path):
    members = [
        ("k.jpg", image_bytes(Image.new("RGB", (8, 6)), "JPEG")),
        ("k.json", json.dumps({"caption": "a", "n": float("nan"), "m": 1}).encode()),
    ]
    (tmp_path / "0.tar").write_bytes(tar_bytes(members))
    lake = cb.connect("memory://numbers-of-samples")
    assert lake.ingest(str(tmp_path / "0.tar"), keep=["m"]).rejected == 0
    assert lake.sql("SELECT attribute, value FROM labels").fetchall() == [("m", "1")]


@pytest.mark.parametrize("text", [b'{"a": NaNs}', b'{"a": "NaN', b"{NaN: 1}", b'{"a": nan}'])
def test_what_is_no_json_is_refused(text):
    assert isinstance(parsed(text), str)
