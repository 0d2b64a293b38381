"""How many rows were left out, or how many generations are unclear, tells no closed label of few images."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest

import counterbalance as cb

G = "groups := image_labels('perceived_gender')"


def lake(build, name, first):
    ids = list(range(1, 91))
    values = [first, *["man"] * 29, *["woman"] * 30, *["other"] * 30]
    made = cb.connect(f"memory://left-out-{os.getpid()}-{name}-{first}")
    labels = {"label_id": ids, "image_id": ids, "attribute": ["perceived_gender"] * 90, "value": values}
    texts = [("a tie", "a hat", "a")[i % 3] + (" zebra" if i < 3 else "") for i in ids]
    made.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
            "labels": build.labels(**labels, annotator=["a"] * 90),
        }
    )
    return made


@pytest.mark.parametrize(
    "call",
    [
        f"concept_ratio({G}, label := 'woman', against := 'man', min_count := 10)",
        f"concept_ratio({G}, label := 'woman', against := 'other', min_count := 10)",
        f"cooccurrence({G}, word_concepts)",
        f"keyword_profile({G})",
        f"spurious_correlations({G}, min_count := 10)",
    ],
)
def test_how_many_rows_were_left_out(build, call):
    rows = lake(build, "rows", "man").sql(f"FROM {call}").to_arrow()
    assert len(rows) > 0
    assert rows["n_suppressed"].null_count == len(rows)


def test_open_labels_are_told_how_many(build):
    rows = lake(build, "open", "man").sql("FROM keyword_profile(groups := (SELECT image_id, CASE WHEN image_id > 45 THEN 'a' ELSE 'b' END AS label FROM images))").to_arrow()  # fmt: skip
    assert set(rows["n_suppressed"].to_pylist()) == {1}


@pytest.mark.parametrize("unclear", [2, 9])
def test_how_many_generations_are_unclear(build, unclear):
    made = lake(build, "unclear", "unclear")
    values = pa.table({"image_id": list(range(1, 91)), "category": ["c"] * 90, "place": list(range(90))})
    with made.session() as session:
        labels = pa.table(
            {"image_id": list(range(1, 91)), "label": ["unclear"] * unclear + ["f", "m"] * 20 + ["f"] * (50 - unclear)}
        )
        (row,) = session.audit("generated_ratio", generations=values, groups=labels, label="f").to_arrow().to_pylist()
    assert {row[name] for name in ("n", "count", "value", "unclear")} == {
        None
    }  # n, taken from all generations, tells it
    assert "used" not in row
