"""A column of lists or objects that is to be kept is stored as JSON, whether the file says so at its beginning or not."""

from __future__ import annotations

import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest import captions, huggingface, laion

ROWS = [
    {"url": f"http://a.org/{i}", "caption": "a", "tags": [i, i + 1], "at": {"x": i}, "hue": "red"} for i in range(2)
]


def taken(module, source, **options):
    read = module.read(source if isinstance(source, datasets.Dataset) else str(source), ReadOptions(**options))
    found = [
        (row["attribute"], row["value"])
        for chunk in read.chunks
        for row in chunk.tables.get("labels", pa.table({})).to_pylist()
    ]
    return sorted(found), [note for note in read.notes if note.startswith("left out")]


@pytest.mark.parametrize("module", [laion, captions])
@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_of_tables(tmp_path, module, ending):
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        path.write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    assert taken(module, path) == (
        [],
        [
            "left out: hue; --keep hue stores it as labels",
            "left out: tags, at, of lists or objects; --keep tags stores those of one as JSON",
        ],
    )
    kept, notes = taken(module, path, keep=["tags", "at"])
    assert kept == [("at", '{"x":0}'), ("at", '{"x":1}'), ("tags", "[0,1]"), ("tags", "[1,2]")]
    assert notes == ["left out: hue; --keep hue stores it as labels"]


def test_of_rows_that_come_later(tmp_path):
    rows = [ROWS[0] | {"hue": hue, "tags": "x"} for hue in ("red", ["blue"])]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(r | {"url": str(i)}) + "\n" for i, r in enumerate(rows)))
    kept, _ = taken(laion, tmp_path / "a.jsonl", keep=["hue", "tags"])
    assert kept == [("hue", '["blue"]'), ("hue", "red"), ("tags", "x"), ("tags", "x")]


def test_of_datasets(tmp_path):
    picture = Image.new("RGB", (30, 30))
    features = {
        "image": datasets.Image(),
        "depth": datasets.Image(),
        "tags": datasets.Sequence(datasets.Value("string")),
    }
    rows = datasets.Dataset.from_list(
        [{"image": picture, "depth": picture, "tags": ["a", "b"]}], features=datasets.Features(features)
    )
    assert taken(huggingface, rows) == (
        [],
        [
            "left out: tags, of lists or objects; --keep tags stores them as JSON",
            "left out: depth, of pictures; --map image=depth reads it instead",
        ],
    )
    kept, notes = taken(huggingface, rows, keep=["tags", "depth"])
    assert kept == [("tags", '["a","b"]')]
    assert notes == ["left out: depth, of pictures; --map image=depth reads it instead"]
