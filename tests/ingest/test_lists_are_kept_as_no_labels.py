"""A column of lists or objects that is to be kept is no label, and is told, whether the file says so at its beginning or not."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest import captions, laion

ROWS = [{"url": f"http://a.org/{i}", "caption": "a", "tags": [i], "hue": "red"} for i in range(2)]


def taken(module, path, **options):
    source = module.read(str(path), ReadOptions(**options))
    found = [c.tables["labels"]["attribute"].to_pylist() for c in source.chunks if "labels" in c.tables]
    return sum(found, []), source.notes


@pytest.mark.parametrize("module", [laion, captions])
@pytest.mark.parametrize("keep", [[], ["tags"]])
@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_it_is_told_and_not_how_to_keep_it(tmp_path, module, keep, ending):
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        path.write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    assert taken(module, path, keep=keep) == (
        [],
        ["left out: hue; --keep hue stores it as labels", "left out: tags, of lists or objects"],
    )


def test_those_that_come_later_are_told_when_they_are_read(tmp_path):
    rows = [ROWS[0] | {"hue": hue, "tags": "x"} for hue in ("red", ["blue"])]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    assert taken(captions, tmp_path / "a.jsonl", keep=["hue", "tags"]) == (
        ["hue", "tags"],
        ["hue holds lists or objects in 1 row, which are no labels: line 2 of a.jsonl"],
    )
