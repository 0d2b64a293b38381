"""Published pairs of captions become images and captions of their own, and pairs again by caption_pairs; twice changes nothing."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from reading import rejects_of

from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.counterfactuals import read
from counterbalance.ingest.hashing import key_id

DATA = Path(os.environ.get("COUNTERBALANCE_DATA", Path(__file__).parents[3] / "shared" / "data"))
ROWS = [
    {
        "coco-counterfactual-index": "7_0",
        "original_caption": "A man rides.",
        "counterfactual_caption": "A woman rides.",
    },
    {"coco-counterfactual-index": "7_2", "original_caption": "Two cats", "counterfactual_caption": "Two dogs"},
    {"coco-counterfactual-index": "own", "original_caption": "a b", "counterfactual_caption": "a c"},
]
LONG = {"coco-counterfactual-index": f"{10**19}_{10**10}", "original_caption": "a b", "counterfactual_caption": "a c"}
PAIRS = "SELECT pair, source_id, number, original, counterfactual FROM caption_pairs ORDER BY pair"


def lines(path, rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return str(path)


def test_pairs_are_images_with_a_caption_each(empty_lake, build, tmp_path):
    lake = empty_lake
    lake.ingest(
        {
            "images": build.images(image_id=[7], key=["7"]),
            "captions": build.captions(caption_id=[1], image_id=[7], text=["A man rides."], origin=["human"]),
        }
    )
    source = lines(tmp_path / "pairs.jsonl", ROWS)
    first = lake.ingest(source, "counterfactuals", split="test")
    assert {name: t.written for name, t in first.by_table.items()} == {"images": 6, "captions": 6}
    assert lake.sql(PAIRS).fetchall() == [
        ("7_0", 7, 0, "A man rides.", "A woman rides."),
        ("7_2", 7, 2, "Two cats", "Two dogs"),
        ("own", None, None, "a b", "a c"),
    ]
    ids = lake.sql("SELECT pair, original_id, counterfactual_id FROM caption_pairs ORDER BY pair").fetchall()
    assert ids == [(p, key_id(f"{p}/original"), key_id(f"{p}/counterfactual")) for p in ("7_0", "7_2", "own")]
    told = lake.sql(
        "SELECT i.key, i.split, c.origin FROM captions c JOIN images i USING (image_id) WHERE c.text LIKE 'Two%' ORDER BY 1"
    ).fetchall()
    assert told == [("7_2/counterfactual", "test", "counterfactual"), ("7_2/original", "test", "human")]
    assert lake.sql("SELECT label FROM caption_gender WHERE image_id = 7").fetchall() == [("male",)]
    contrasts = lake.sql(
        "SELECT image_id, label, text FROM caption_contrasts() WHERE image_id = 7 ORDER BY 3"
    ).fetchall()
    assert contrasts == [
        (7, "original", "A man rides."), (7, "counterfactual", "A woman rides."),
        (7, "original", "Two cats"), (7, "counterfactual", "Two dogs"),
    ]  # fmt: skip
    half = build.captions(caption_id=[2], image_id=[8], text=["half a pair"], origin=["human"])
    lake.ingest({"images": build.images(image_id=[8], key=["8_0/original"]), "captions": half})
    assert {pair for pair, *_ in lake.sql(PAIRS).fetchall()} == {"7_0", "7_2", "own"}
    again = lake.ingest(source, "counterfactuals", split="test")
    assert {name: (t.written, t.updated) for name, t in again.by_table.items()} == {
        "images": (0, 0),
        "captions": (0, 0),
    }


def test_rows_that_are_no_pairs(tmp_path):
    odd = [
        *ROWS[:1],
        {**ROWS[1], "original_caption": " "},
        {**ROWS[2], "coco-counterfactual-index": None},
        *ROWS[:1],
        ROWS[2],
    ]
    chunks = list(read(lines(tmp_path / "odd.jsonl", odd), ReadOptions()).chunks)
    assert rejects_of(chunks) == [
        ("line 3", "missing_key"), ("line 2", "missing_caption"), ("line 4", "duplicate_key")
    ]  # fmt: skip
    kept = chunks[0].tables["captions"]["text"].to_pylist()
    assert kept == ["A man rides.", "a b", "A woman rides.", "a c"]
    assert list(chunks[0].positions["captions"]) == ["line 1", "line 5"] * 2
    with pytest.raises(SourceError, match="has no original column"):
        read(lines(tmp_path / "no.jsonl", [{"id": "1", "caption": "a"}]), ReadOptions())


@pytest.mark.skipif(
    not (DATA / "coco-counterfactuals").is_dir(), reason=f"no real data at {DATA} (COUNTERBALANCE_DATA)"
)
def test_the_published_pairs(disk_lake):
    """17,410 pairs, 34,820 images with a caption each, every one from a caption of COCO val2017 and changed in one word."""
    lake, source = disk_lake, str(DATA / "coco-counterfactuals" / "captions.jsonl")
    lake.ingest(str(DATA / "coco" / "captions_val2017.json"), "coco")
    report = lake.ingest(source, "counterfactuals")
    assert {n: (t.written, t.rejected) for n, t in report.by_table.items()} == {
        "images": (34_820, 0),
        "captions": (34_820, 0),
    }
    assert {n: (t.written, t.updated) for n, t in lake.ingest(source, "counterfactuals").by_table.items()} == {
        "images": (0, 0),
        "captions": (0, 0),
    }
    document = [json.loads(line) for line in Path(source).read_text().splitlines()]
    wanted = sorted(
        (d["coco-counterfactual-index"], d["original_caption"], d["counterfactual_caption"]) for d in document
    )
    found = lake.sql("SELECT pair, original, counterfactual FROM caption_pairs").fetchall()
    assert sorted(found) == wanted
    counts = "count(*), count(DISTINCT source_id), count(DISTINCT original_id), min(number), max(number)"
    assert lake.sql(f"SELECT {counts} FROM caption_pairs").fetchall() == [(17_410, 4_925, 17_410, 0, 6)]
    assert lake.sql("SELECT count(*), count(DISTINCT edit_id) FROM caption_contrasts()").fetchall() == [
        (34_820, 34_820)
    ]

    joined = lake.sql(
        """
        SELECT count(DISTINCT p.pair), count(DISTINCT p.pair) FILTER (c.text = p.original),
          count(DISTINCT p.pair) FILTER (trim(c.text, E' \\n') = trim(p.original, E' \\n'))
        FROM caption_pairs AS p JOIN captions AS c ON c.image_id = p.source_id
        """
    ).fetchall()
    assert joined == [(17_410, 17_353, 17_409)]
    assert lake.sql("SELECT count(*) FROM captions WHERE origin = 'human' AND image_id < 1000000").fetchall() == [
        (25_014,)
    ]
    different = Counter(
        len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True))
        for a, b in ((o.split(), c.split()) for _, o, c in wanted)
    )
    assert different == {1: 17_348, 3: 2, False: 60}


def test_an_index_of_too_many_digits_is_no_image_of_coco(empty_lake, tmp_path):
    empty_lake.ingest(lines(tmp_path / "pairs.jsonl", [LONG]), "counterfactuals")
    assert empty_lake.sql(PAIRS).fetchall() == [(f"{10**19}_{10**10}", None, None, "a b", "a c")]
