"""A JSON list of objects is a table, as an object a line is; what is no object is refused by its number."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import VALUE

import counterbalance as cb
from counterbalance.engine.errors import SourceError
from counterbalance.ingest import tabular
from counterbalance.ingest.files import expand

ROWS = [{"image": f"{i}.jpg", "caption": f"a man, {i}", "tags": ["x"]} for i in range(3)]


@pytest.fixture
def lake(tmp_path):
    return cb.connect(tmp_path / "a.lake")


def texts(lake):
    return lake.sql("SELECT key, text FROM captions JOIN images USING (image_id) ORDER BY key").fetchall()


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.txt"])
def test_a_list_of_captions(lake, tmp_path, name):
    data = b"\xef\xbb\xbf \n" + json.dumps(ROWS, indent=1).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    report = lake.ingest(tmp_path / name)
    assert (report.format, report.rows_read, report.rejected) == ("captions", 3, 0)
    assert "left out: tags, of lists or objects; --keep tags stores them as JSON" in report.notes
    assert texts(lake) == [(str(i), f"a man, {i}") for i in range(3)]


def test_elements_that_are_no_objects(lake, tmp_path):
    more = '7, {"image": "x.jpg", "image": "y.jpg", "caption": "a"}, {"image": "z.jpg"}'
    (tmp_path / "a.json").write_text(json.dumps(ROWS)[:-1] + ", " + more + "]")
    assert lake.ingest(tmp_path / "a.json").rejected == 3
    refused = lake.sql("SELECT position, code FROM meta.errors ORDER BY position").fetchall()
    assert refused == [("item 4", "bad_json"), ("item 5", "bad_json"), ("item 6", "missing_caption")]
    assert len(texts(lake)) == 3


def test_a_list_that_is_cut_short_leaves_nothing(lake, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(ROWS)[:-1])
    with pytest.raises(SourceError, match="is cut short") as caught:
        lake.ingest(tmp_path / "a.json")
    assert caught.value.code == "E4021"
    assert not (tmp_path / "a.lake").exists()


@pytest.mark.parametrize("text", ["[1, 2]", "[]", '["a"]'])
def test_lists_of_other_things_are_no_tables(lake, tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(SourceError, match="a JSON list, and not of objects"):
        lake.ingest(tmp_path / "a.json", "captions")


@given(rows=st.lists(st.fixed_dictionaries({"a": VALUE, "b": VALUE}), min_size=1, max_size=6))
def test_the_same_values_as_of_an_object_a_line(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("rows")
    lines = "".join(json.dumps(r) + "\n" for r in rows)
    found = []
    for name, text in (("a.json", json.dumps(rows)), ("a.jsonl", lines)):
        (folder / name).write_text(text)
        layout = tabular.inspect(expand(str(folder / name), {})[0])
        tables = [part.table for part in tabular.read(layout, dict(zip(layout.names, range(2), strict=False)))]
        found.append([row for table in tables for row in table.to_pylist()])
    assert found[0] == found[1]
