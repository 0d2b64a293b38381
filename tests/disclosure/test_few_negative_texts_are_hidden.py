"""sentiment looks at negative texts, at others and at those without a score, not at their sum alone."""

from __future__ import annotations

import pyarrow as pa
import pytest

SHOWN = ("texts", "n", "negative", "negative_ratio", "negative_low", "negative_high", "mean", "mean_low", "mean_high")


@pytest.mark.parametrize(
    ("sad", "happy", "plain", "is_hidden"),
    [(2, 20, 10, True), (20, 2, 10, True), (20, 20, 2, True), (20, 20, 10, False), (0, 20, 10, False)],
)
def test_negative_texts(empty_lake, build, sad, happy, plain, is_hidden):
    texts = (
        ["a sad day"] * sad + ["a happy day"] * happy + ["a day"] * plain + ["a sad day"] * 15 + ["a happy day"] * 15
    )
    ids = list(range(len(texts)))
    empty_lake.ingest(
        {"images": build.images(image_id=ids), "captions": build.captions(caption_id=ids, image_id=ids, text=texts)}
    )
    groups = pa.table({"image_id": pa.array(ids, pa.int64()), "label": ["f"] * (len(ids) - 30) + ["m"] * 30})
    rows = {r["label"]: r for r in empty_lake.audit("sentiment", groups=groups).to_arrow().to_pylist()}
    assert (rows["f"]["suppressed"], rows["f"]["reason"]) == (is_hidden, "small" if is_hidden else None)
    assert rows["m"]["reason"] == ("complementary" if is_hidden else None)
    if is_hidden:
        assert {row[c] for row in rows.values() for c in SHOWN} == {None}
    else:
        assert (rows["m"]["negative"], rows["m"]["n"], rows["m"]["texts"]) == (15, 30, 30)
        assert rows["f"]["negative"] == sad
