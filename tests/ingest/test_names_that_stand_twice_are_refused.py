"""A JSON object that holds a name twice does not say which value is meant: it is refused where it stands."""

from __future__ import annotations

import json

import orjson
import pytest
from archives import tar_bytes
from hypothesis import given
from hypothesis import strategies as st
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.errors import SourceError
from counterbalance.ingest.jsonlines import parsed
from counterbalance.ingest.jsonobjects import repeated

IMAGES = '{"id": 1, "file_name": "1.jpg"}, {"id": 2, "id": 3, "file_name": "2.jpg"}, {"id": 4, "file_name": "4.jpg"}'
CAPTIONS = '{"id": 1, "image_id": 1, "caption": "a: b"}, {"id": 2, "image_id": 4, "caption": "c", "caption": "d"}'
BOXES = (
    '{"id": 5, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "segmentation": {"size": [1, 1], "size": [2, 2]}}, '
    '{"id": 6, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}'
)


def refused(lake):
    return lake.sql("SELECT position, code, message FROM meta.errors ORDER BY 1, 2").fetchall()


@pytest.mark.parametrize(
    "odd", ["", '{"id": 9, "file_name": "9.jpg", "width": NaN}, ', '{"id": 8, "file_name": "\\u003a"}, ']
)
def test_objects_of_a_coco_file(tmp_path, disk_lake, odd):
    path = tmp_path / "instances.json"
    categories = '{"id": 1, "name": "cat"}, {"id": 2, "name": "dog", "name": "wolf"}'
    path.write_text(
        f'{{"images": [{odd}{IMAGES}], "annotations": [{CAPTIONS}, {BOXES}], "categories": [{categories}]}}'
    )
    disk_lake.ingest(str(path), format="coco")
    keys = [
        k for (k,) in disk_lake.sql("SELECT key FROM images WHERE key IN ('1', '2', '3', '4') ORDER BY 1").fetchall()
    ]
    assert keys == ["1", "4"]
    assert disk_lake.sql("SELECT text FROM captions").fetchall() == [("a: b",)]
    assert disk_lake.sql("SELECT category FROM detections").fetchall() == [("cat",)]
    at = 2 if odd else 1
    twice = [r for r in refused(disk_lake) if "twice" in r[2]]
    assert twice == [
        ("annotations[1]", "duplicate_name", "the name 'caption' stands in one object twice"),
        ("annotations[2]", "duplicate_name", "the name 'size' stands in one object twice"),
        ("categories[1]", "bad_category", "the name 'name' stands in one object twice"),
        (f"images[{at}]", "duplicate_name", "the name 'id' stands in one object twice"),
    ]


@pytest.mark.parametrize(
    "more", ['"info": {"year": 1, "year": 2}', '"licenses": [{"id": 1, "id": 2, "name": "CC BY"}]']
)
@pytest.mark.parametrize("first", [True, False])
def test_what_no_row_is_made_of_is_an_error(tmp_path, disk_lake, more, first):
    path = tmp_path / "captions.json"
    images = '"images": [{"id": 1, "file_name": "1.jpg", "license": 1}], "annotations": []'
    path.write_text("{" + ", ".join([more, images] if first else [images, more]) + "}")
    with pytest.raises(SourceError, match="twice") as caught:
        disk_lake.ingest(str(path), format="coco")
    assert caught.value.code == "E4021"


def test_json_lines(tmp_path, disk_lake):
    path = tmp_path / "rows.jsonl"
    lines = ['{"url": "a", "caption": "one"}', '{"url": "b", "caption": "two", "caption": "three"}']
    path.write_text("\n".join(lines) + "\n")
    disk_lake.ingest(str(path), format="laion")
    assert disk_lake.sql("SELECT text FROM captions").fetchall() == [("one",)]
    [(_, code, message)] = refused(disk_lake)
    assert code == "bad_json"
    assert message.startswith("the name 'caption' stands in one object twice")


def test_the_json_of_a_sample(tmp_path, disk_lake):
    picture = image_bytes(Image.new("RGB", (9, 9)))
    members = [("a.png", picture), ("a.json", b'{"caption": "one", "caption": "two"}')]
    (tmp_path / "0.tar").write_bytes(tar_bytes(members))
    disk_lake.ingest(str(tmp_path / "0.tar"), format="webdataset")
    assert disk_lake.sql("SELECT count(*) FROM captions").fetchall() == [(0,)]
    [(position, code, _)] = refused(disk_lake)
    assert (position, code) == ("0.tar:a.json", "bad_json")


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(':"\\{}, a', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(':"\\ ab', max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(_json, st.sampled_from([None, 1]))
def test_objects_without_are_never_refused(value, indent):
    text = json.dumps({"a": value, "b": "\\u003a"}, indent=indent).replace("\\\\u", "\\u").encode()
    assert repeated(text, orjson.loads(text)) is None
    assert parsed(text) == {"a": value, "b": ":"}


@given(_json, _json, st.booleans())
def test_objects_with_one_are_always_refused(first, second, deep):
    inner = f'{{"x":{json.dumps(first)}, "\\u0078" : {json.dumps(second)}, "y": "\\u003a\\u003A"}}'
    text = (f'{{"a": [{inner}]}}' if deep else inner).encode()
    assert repeated(text, orjson.loads(text)) == "x"
